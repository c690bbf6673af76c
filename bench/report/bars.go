package main

// A bar is what a scenario of the harness must reach, and the gate that no
// change may pass. Ratios are the CPU of an operation to that of the contender
// limit in the same rounds; zero means none.
//
// A gate is about one and a half times what was measured when it was set: on a
// machine with other work a ratio moves by a quarter. It moves down with what
// becomes faster, and up with nothing.
type bar struct {
	scenario  string
	ratio     float64
	ratioGate float64
	// The scenarios with many streams have one for KiB of memory per stream, the
	// clients one for allocations per call.
	amount     float64
	amountGate float64
}

// bars are in the order of the table.
var bars = []bar{
	{scenario: "h.echo", ratio: 1.15, ratioGate: 2.7},
	{scenario: "h.call200", ratio: 1.15, ratioGate: 2.7},
	{scenario: "h.add", ratio: 1.2, ratioGate: 2.8},
	{scenario: "m.echo", ratio: 1.2, ratioGate: 2.8},
	{scenario: "m.call200", ratio: 1.2, ratioGate: 2.8},
	{scenario: "m.add", ratio: 1.25, ratioGate: 3},
	{scenario: "h.echo10k", ratio: 1.3, ratioGate: 4.1},
	{scenario: "m.echo10k", ratio: 1.3, ratioGate: 4.1},
	{scenario: "h.echo1m", ratio: 1.3, ratioGate: 6.6},
	{scenario: "m.echo1m", ratio: 1.3, ratioGate: 6},
	{scenario: "h.list200", ratio: 1.2, ratioGate: 2.1},
	{scenario: "m.list200", ratio: 1.2, ratioGate: 2.1},
	{scenario: "h.progress", ratio: 1, ratioGate: 4.3},
	{scenario: "m.progress", ratio: 1, ratioGate: 2.5},
	{scenario: "h.sessions", amount: 10, amountGate: 53},
	{scenario: "m.sessions", amount: 10, amountGate: 62},
	{scenario: "h.fanout", ratio: 1, ratioGate: 1.4},
	{scenario: "m.fanout", ratio: 1, ratioGate: 1.3},
	{scenario: "s.echo", ratio: 2.5, ratioGate: 7},
	{scenario: "sm.echo", ratio: 2.5, ratioGate: 6.5},
	{scenario: "s.add", ratio: 2.5, ratioGate: 7},
	{scenario: "sm.add", ratio: 2.5, ratioGate: 7},
	{scenario: "s.echo1", ratio: 1.5, ratioGate: 3.5},
	{scenario: "sm.echo1", ratio: 1.5, ratioGate: 3.5},
	{scenario: "s.echo10k", ratio: 1.5, ratioGate: 3.3},
	{scenario: "sm.echo10k", ratio: 1.5, ratioGate: 3.3},
	{scenario: "s.echo1m", ratio: 1.5, ratioGate: 3},
	{scenario: "sm.echo1m", ratio: 1.5, ratioGate: 3},
	{scenario: "s.list200", ratio: 1.5, ratioGate: 3},
	{scenario: "sm.list200", ratio: 1.5, ratioGate: 3},
	{scenario: "s.progress", ratio: 1.25, ratioGate: 2.2},
	{scenario: "sm.progress", ratio: 1.25, ratioGate: 2.2},
	{scenario: "c.http1", ratio: 1.15, ratioGate: 2.9, amount: 65, amountGate: 120},
	{scenario: "cm.http1", ratio: 1.15, ratioGate: 3, amount: 65, amountGate: 130},
	{scenario: "c.http64", ratio: 1.15, ratioGate: 2.9, amount: 65, amountGate: 120},
	{scenario: "cm.http64", ratio: 1.15, ratioGate: 3, amount: 65, amountGate: 130},
	{scenario: "c.stdio1", ratio: 1.15, ratioGate: 3, amount: 12, amountGate: 40},
	{scenario: "cm.stdio1", ratio: 1.15, ratioGate: 3.5, amount: 12, amountGate: 50},
	{scenario: "c.stdio64", ratio: 1.6, ratioGate: 6, amount: 12, amountGate: 40},
	{scenario: "cm.stdio64", ratio: 1.6, ratioGate: 7.5, amount: 12, amountGate: 50},
}
