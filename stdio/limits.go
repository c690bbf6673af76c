package stdio

import (
	"time"

	"github.com/tenon-mcp/tenon/rpc"
)

// Limits bound what the other process can make us keep or wait for. The zero
// value of a field is its default; a negative value means no limit (and, for a
// wait, no wait).
type Limits struct {
	// RPC bounds the messages: bytes of a line, nesting, requests in flight.
	RPC rpc.Limits

	// CloseWait is how long a server may take to exit after its stdin was
	// closed, before it is told to terminate.
	CloseWait time.Duration
	// TermWait is how long it may take to exit after SIGTERM, before SIGKILL.
	TermWait time.Duration
	// KillWait is how long we wait for the operating system to take a killed
	// process away, and for output that descendants still hold open.
	KillWait time.Duration
	// ExitWait is how long a server that has closed its stdout may take to
	// exit before it is stopped, and so how long a call that failed because
	// of it may wait for the exit status.
	ExitWait time.Duration
	// StderrTail is how many bytes of the end of stderr are kept for
	// [ExitError].
	StderrTail int
	// StderrLine is how many bytes of one line of stderr are logged as one
	// line. A longer line is logged in pieces.
	StderrLine int

	// Drain is how long [Serve] lets requests in flight finish after the end
	// of stdin.
	Drain time.Duration
}

const (
	// Two seconds each are what the reference client gives a server (close
	// stdin, wait, terminate, wait, kill), so Close takes six at the worst.
	defaultCloseWait = 2 * time.Second
	defaultTermWait  = 2 * time.Second
	defaultKillWait  = 2 * time.Second
	// A crash closes stdout and exits within milliseconds.
	defaultExitWait = 500 * time.Millisecond
	// A stack trace with some context fits in 16 KiB.
	defaultStderrTail = 16 << 10
	// A pipe of the operating system holds 64 KiB; a longer line is no text.
	defaultStderrLine = 64 << 10
	// A client that closes stdin waits for seconds, then terminates: answers
	// that take longer reach nobody.
	defaultDrain = 5 * time.Second

	// stderrChunk is what is read from stderr at once.
	stderrChunk = 8 << 10
	// groupPoll is how often a process group is asked whether it is empty;
	// no operating system tells it by itself.
	groupPoll = 10 * time.Millisecond
	// reapWait is how long a killed group may take to be empty. What is in it
	// after that are zombies whose parent is another process.
	reapWait = 100 * time.Millisecond
)

func (l Limits) withDefaults() Limits {
	l.CloseWait = or(l.CloseWait, defaultCloseWait)
	l.TermWait = or(l.TermWait, defaultTermWait)
	l.KillWait = or(l.KillWait, defaultKillWait)
	l.ExitWait = or(l.ExitWait, defaultExitWait)
	l.StderrTail = or(l.StderrTail, defaultStderrTail)
	l.StderrLine = or(l.StderrLine, defaultStderrLine)
	l.Drain = or(l.Drain, defaultDrain)
	return l
}

func or[T time.Duration | int](v, byDefault T) T {
	if v == 0 {
		return byDefault
	}
	return v
}
