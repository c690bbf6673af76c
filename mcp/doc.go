// Package mcp is the vocabulary of the Model Context Protocol: the words of
// every revision, 2024-11-05 to 2026-07-28, and no behaviour. It does no I/O,
// starts no goroutine and knows no context.
//
// One Go type stands for a message in all revisions. What a revision does not
// have is left out by [Downgrade] before a value is sent to a peer of that
// revision; what differs as data is in three tables: [Revisions], [MethodByName]
// and the rows of compat.go.
//
// # How the schema became Go
//
//   - Optional objects are pointers, optional lists and maps are nil when
//     absent. An optional string or boolean whose empty value means the same as
//     its absence is a plain field.
//   - JSON that belongs to the user (arguments, schemas, structured content,
//     settings) stays text: [jsontext.Value], nil when absent, null when null.
//   - Members that no revision defines are kept in Extra and written back, so a
//     proxy loses nothing.
//   - Values are decoded strictly: exact case, no duplicate names, valid UTF-8.
//
// Values are plain data. They may be read from several goroutines, and are not
// to be changed once they were handed over.
package mcp
