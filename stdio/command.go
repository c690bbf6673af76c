package stdio

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"runtime"
	"strings"

	"github.com/tenon-mcp/tenon/rpc"
)

// A Command starts a server as a child process and speaks with it over its
// stdin and stdout (spec: transports, stdio). It implements [rpc.Dialer]; each
// Dial starts a process of its own. A Command must not be changed while it
// dials, and may be dialed from several goroutines.
//
// The process and everything it starts form one group, which is ended as a
// whole: closing the connection closes stdin, waits, asks the group to
// terminate, waits, and kills it. [Limits] has the waits.
type Command struct {
	// Path is the program, looked up in PATH when it has no separator.
	Path string
	// Args are its arguments, without the program itself. No shell sees them.
	Args []string

	// Env has "KEY=value" entries that are added to what is inherited, and
	// win over it. ${NAME} in a value is replaced by that variable of this
	// process; $${ stands for a plain ${.
	Env []string
	// InheritEnv passes the whole environment of this process on. False
	// passes on [BaseEnv] only, so that a server sees no secret that was not
	// meant for it.
	InheritEnv bool
	// Dir is the working directory; empty is that of this process.
	Dir string

	// Stderr, if not nil, gets what the server writes to stderr, in chunks of
	// at most 8 KiB from one goroutine. It must not block: the server would,
	// too. Stderr is read to its end in any case.
	Stderr io.Writer
	// Logger gets each line of stderr at level debug, and what happens to the
	// process. Nil discards.
	Logger *slog.Logger
	// Tap, if not nil, sees every message.
	Tap rpc.Tap
	// Limits; the zero value has the defaults.
	Limits Limits
}

// An ExitError says that a server ended, or closed its stdout, while its
// connection was in use. It matches [rpc.ErrClosed]: whether the server acted
// on the calls that were under way is not known.
type ExitError struct {
	// Command is the program, without its arguments, which may be secret.
	Command string
	// State tells how it ended. Nil: it closed its stdout but runs on.
	State *os.ProcessState
	// Stderr is the end of what it wrote there.
	Stderr string

	crash string // what a Go program said last when it crashed
	stray string // what it printed on stdout, quoted
}

func (e *ExitError) Error() string {
	what := "closed its output without exiting"
	if e.State != nil {
		what = "exited early: " + e.State.String()
	}
	msg := fmt.Sprintf("server %q %s", e.Command, what)
	if last := lastLines(cmp.Or(e.crash, e.Stderr)); last != "" {
		msg += ": " + last
	}
	if e.stray != "" {
		msg += "; it printed " + e.stray + " on stdout, where only messages may be: is it an MCP server?"
	}
	return msg
}

// Unwrap returns [rpc.ErrClosed].
func (e *ExitError) Unwrap() error { return rpc.ErrClosed }

// Dial starts the process. Its error matches [exec.ErrNotFound] when there is
// no such program. That the program is no server shows at the first call.
func (c *Command) Dial(ctx context.Context, h rpc.Handler) (rpc.Conn, error) {
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
	return p.connect(ctx, h, c.Tap)
}

func (c *Command) start() (*process, error) {
	env, err := c.environ()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(c.Path, c.Args...) //nolint:noctx // it ends in steps, with Close
	cmd.Env, cmd.Dir = env, c.Dir
	if cmd.Err != nil {
		return nil, startError(c.Path, cmd.Err)
	}
	if err := prepare(cmd); err != nil {
		return nil, err
	}
	p := &process{
		name:   c.Path,
		cmd:    cmd,
		limits: c.Limits.withDefaults(),
		log:    c.Logger,
		exited: make(chan struct{}), outEOF: make(chan struct{}), errEOF: make(chan struct{}),
		stopping: make(chan struct{}), decided: make(chan struct{}), done: make(chan struct{}),
	}
	if p.log == nil {
		p.log = slog.New(slog.DiscardHandler)
	}
	p.tail.max = p.limits.StderrTail
	theirs, err := p.pipes()
	if err != nil {
		return nil, err
	}
	err = cmd.Start()
	closeAll(theirs...)
	if err != nil {
		closeAll(p.stdin, p.stdout, p.stderr)
		return nil, startError(c.Path, err)
	}
	p.run(c.Stderr)
	return p, nil
}

// environ returns what the child sees.
func (c *Command) environ() ([]string, error) {
	env := BaseEnv()
	if c.InheritEnv {
		env = os.Environ()
	}
	return merge(env, c.Env, runtime.GOOS == "windows", os.LookupEnv)
}

func startError(path string, err error) error {
	switch {
	case errors.Is(err, exec.ErrNotFound) && !strings.ContainsAny(path, `/\`):
		return fmt.Errorf("start %q: not found in PATH; install it, or give its full path: %w", path, exec.ErrNotFound)
	case errors.Is(err, os.ErrNotExist), errors.Is(err, exec.ErrNotFound):
		return fmt.Errorf("start %q: there is no such file, or no such working directory: %w", path, err)
	case errors.Is(err, os.ErrPermission):
		return fmt.Errorf("start %q: may not be executed; is it a program? %w", path, err)
	}
	return fmt.Errorf("start %q: %w", path, err)
}

func closeAll(files ...*os.File) {
	for _, f := range files {
		if f != nil {
			f.Close()
		}
	}
}
