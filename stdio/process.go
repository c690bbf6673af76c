package stdio

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tenon-mcp/tenon/rpc"
)

// process is a running child. It has three goroutines of its own: one waits
// for the exit, one drains stderr, one (supervise) ends the process and is
// ended by it. All are over when done is closed, and that is bounded: it
// happens after the exit, or after the longest wait of a stop.
//
// The goroutine that reads stdout is that of the connection.
type process struct {
	name   string
	cmd    *exec.Cmd
	group  group
	limits Limits
	log    *slog.Logger

	stdin, stdout, stderr *os.File // our ends
	tail                  tail
	stray                 stray
	crash                 atomic.Pointer[string] // the last line of stderr that says so

	exited, outEOF, errEOF chan struct{} // closed when it is so
	outOnce, stopOnce      sync.Once
	stopping               chan struct{} // closed by stop
	decided                chan struct{} // closed when it is known how it ended
	hungUp                 bool          // it closed stdout and ran on; set before decided is closed
	done                   chan struct{} // closed by supervise, last
}

// pipes makes the three pipes and returns the child's ends. They are pipes of
// ours rather than those of exec.Cmd, whose Wait closes them under the reader.
func (p *process) pipes() (theirs []*os.File, err error) {
	var inR, outW, errW *os.File
	defer func() {
		if err != nil {
			closeAll(inR, outW, errW, p.stdin, p.stdout, p.stderr)
		}
	}()
	if inR, p.stdin, err = os.Pipe(); err != nil {
		return nil, err
	}
	if p.stdout, outW, err = os.Pipe(); err != nil {
		return nil, err
	}
	if p.stderr, errW, err = os.Pipe(); err != nil {
		return nil, err
	}
	p.cmd.Stdin, p.cmd.Stdout, p.cmd.Stderr = inR, outW, errW
	return []*os.File{inR, outW, errW}, nil
}

// run starts the goroutines of a started process.
func (p *process) run(stderr io.Writer) {
	p.group = newGroup(p.cmd.Process)
	p.log.Debug("server started", "command", p.name, "pid", p.cmd.Process.Pid)
	go func() {
		defer close(p.errEOF)
		l := &lines{max: p.limits.StderrLine, emit: func(line []byte) {
			text := string(line)
			if isCrash(text) {
				p.crash.Store(&text)
			}
			p.log.Debug("server stderr", "command", p.name, "line", text)
		}}
		drain(p.stderr, &p.tail, l, stderr)
		l.flush()
	}()
	go func() {
		defer close(p.exited)
		_ = p.cmd.Wait() // the state is in p.cmd; an exit status is no error of ours
	}()
	go p.supervise()
}

// supervise waits for the end of the process, or brings it about, and leaves
// nothing behind.
func (p *process) supervise() {
	defer close(p.done)
	var draining sync.WaitGroup
	select {
	case <-p.exited:
		close(p.decided)
	case <-p.outEOF:
		p.hungUp = !within(p.exited, p.limits.ExitWait)
		close(p.decided)
	case <-p.stopping:
		close(p.decided)
		draining.Go(p.discard) // it may have to write before it can exit
	}
	p.end()
	// What is in the pipes is still to be read. Only a descendant that has
	// left the group can hold them open now.
	t := time.NewTimer(max(0, p.limits.KillWait))
	defer t.Stop()
	select {
	case <-p.outEOF:
	case <-p.stopping:
	case <-t.C:
	}
	within(p.errEOF, p.limits.KillWait)
	closeAll(p.stdout, p.stderr)
	draining.Wait()
	<-p.errEOF
	p.group.close()
	p.log.Debug("server ended", "command", p.name)
}

// discard reads stdout to its end.
func (p *process) discard() {
	_, _ = io.Copy(io.Discard, p.stdout) // how it ends is of no interest
	p.outOnce.Do(func() { close(p.outEOF) })
}

// end makes the process and what it has started exit: stdin is closed; then
// the group is told; then it is made to.
func (p *process) end() {
	p.stdin.Close()
	within(p.exited, p.limits.CloseWait)
	if p.gone(0) {
		return
	}
	p.log.Debug("server or what it started runs on after its stdin was closed; terminating it", "command", p.name)
	p.group.terminate()
	if p.gone(p.limits.TermWait) {
		return
	}
	if !within(p.exited, 0) {
		p.log.Warn("server did not exit when told to; killing it", "command", p.name)
	}
	p.group.kill()
	within(p.exited, p.limits.KillWait)
	p.gone(reapWait)
}

// gone reports whether the process and its descendants are gone, which it
// waits for.
func (p *process) gone(wait time.Duration) bool {
	end := time.Now().Add(wait)
	if !within(p.exited, wait) {
		return false
	}
	for !p.group.empty() {
		if !time.Now().Before(end) {
			return false
		}
		time.Sleep(groupPoll) //nolint:forbidigo // no event tells when a process group is empty
	}
	return true
}

func within(done <-chan struct{}, wait time.Duration) bool {
	if wait <= 0 {
		select {
		case <-done:
			return true
		default:
			return false
		}
	}
	t := time.NewTimer(wait)
	defer t.Stop()
	select {
	case <-done:
		return true
	case <-t.C:
		return false
	}
}

func (p *process) stop() { p.stopOnce.Do(func() { close(p.stopping) }) }

func (p *process) stopped() bool {
	select {
	case <-p.stopping:
		return true
	default:
		return false
	}
}

// Read reads stdout. At its end it waits until it is known how the process
// ended, so that the calls that fail for it can say so.
func (p *process) Read(b []byte) (int, error) {
	n, err := p.stdout.Read(b)
	if err != nil {
		p.outOnce.Do(func() { close(p.outEOF) })
		<-p.decided
		return 0, io.EOF
	}
	if p.stopped() {
		return 0, io.EOF
	}
	p.stray.note(b[:n])
	return n, nil
}

// Close stops the process and waits until it is gone.
func (p *process) Close() error {
	p.stop()
	<-p.done
	return nil
}

// exit describes why the connection ended by itself.
func (p *process) exit() *ExitError {
	<-p.decided
	e := &ExitError{Command: p.name}
	if !p.hungUp && within(p.exited, p.limits.ExitWait) {
		e.State = p.cmd.ProcessState
	}
	if e.State != nil {
		within(p.outEOF, p.limits.ExitWait)
		within(p.errEOF, p.limits.ExitWait)
	}
	e.Stderr, e.stray = p.tail.String(), p.stray.String()
	if crash := p.crash.Load(); crash != nil && e.State != nil && !e.State.Success() {
		e.crash = *crash
	}
	return e
}

// connect makes the connection over the pipes of a running process.
func (p *process) connect(ctx context.Context, h rpc.Handler, tap rpc.Tap) (rpc.Conn, error) {
	d := rpc.StreamDialer{
		Open: func(context.Context) (rpc.Stream, error) {
			return rpc.NewLineStream(p, unwaiting(p.stdin), p, p.limits.RPC), nil
		},
		Options: &rpc.DuplexOptions{Limits: p.limits.RPC, Logger: p.log, Tap: tap, SkipUnreadable: true},
	}
	c, err := d.Dial(ctx, h)
	if err != nil {
		_ = p.Close() // err says why
		return nil, err
	}
	ended, _ := c.(*rpc.Duplex)
	return &conn{Conn: c, ended: ended, p: p}, nil
}

// conn adds to a connection what only the process knows: why it ended.
type conn struct {
	rpc.Conn
	ended  *rpc.Duplex // Conn
	p      *process
	closed atomic.Bool // by our side
}

func (c *conn) Call(ctx context.Context, req *rpc.Request, result any) error {
	err := c.explain(c.Conn.Call(ctx, req, result))
	if err != nil && ctx.Err() != nil {
		if line := c.p.stray.String(); line != "" {
			return &strayError{c.p.name, line, err}
		}
	}
	return err
}

func (c *conn) Notify(ctx context.Context, req *rpc.Request) error {
	return c.explain(c.Conn.Notify(ctx, req))
}

func (c *conn) Close() error {
	c.closed.Store(true)
	return c.Conn.Close()
}

// Done is closed when the server hung up, or the connection was closed.
func (c *conn) Done() <-chan struct{} { return c.ended.Done() }

// Err returns an [*ExitError] when the server ended by itself.
func (c *conn) Err() error {
	select {
	case <-c.ended.Done():
	default:
		return nil
	}
	if c.closed.Load() {
		return nil
	}
	return c.p.exit()
}

func (c *conn) explain(err error) error {
	if !errors.Is(err, rpc.ErrClosed) || c.closed.Load() {
		return err
	}
	return c.p.exit()
}
