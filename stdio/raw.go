package stdio

import (
	"context"
	"errors"
	"fmt"
)

// A Process is a server whose streams are bytes: for what stands between a
// client and a server and passes on what both say, as it is. Read reads its
// stdout, Write writes to its stdin; Command.Tap is not used. One goroutine may
// read while another writes.
type Process struct{ p *process }

// Start starts the process and says nothing to it. Its error matches
// [exec.ErrNotFound] when there is no such program.
func (c *Command) Start(ctx context.Context) (*Process, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if c.Path == "" {
		return nil, errors.New("stdio: no command to start; set Command.Path")
	}
	p, err := c.start()
	if err != nil {
		return nil, fmt.Errorf("stdio: %w", err)
	}
	return &Process{p}, nil
}

// Read reads what the server writes. Its end, io.EOF, comes when it is known
// how the process ended, see [Process.Err].
func (p *Process) Read(b []byte) (int, error) { return p.p.Read(b) }

// Write writes to the server. It waits where the server does not read, until
// Close.
func (p *Process) Write(b []byte) (int, error) { return p.p.stdin.Write(b) }

// CloseInput tells the server that there is no more. It should finish and
// exit; Close sees to it that it does.
func (p *Process) CloseInput() error { return p.p.stdin.Close() }

// Close stops the process and all it has started, in the steps of
// [Command.Limits], and waits until they are gone.
func (p *Process) Close() error { return p.p.Close() }

// Err returns how the process ended, once Read has returned io.EOF: nil where
// it exited with 0 or was closed, else an [*ExitError].
func (p *Process) Err() error {
	if p.p.stopped() {
		return nil
	}
	e := p.p.exit()
	if e.State != nil && e.State.Success() {
		return nil
	}
	return e
}
