//go:build !unix && !windows

package stdio

import (
	"errors"
	"os"
	"os/exec"
)

// Where there are no groups, the process is ended and what it started is not.

func prepare(*exec.Cmd) error { return nil }

type group struct{ process *os.Process }

func newGroup(p *os.Process) group { return group{p} }

func (g group) terminate()  { g.process.Signal(os.Interrupt) }
func (g group) kill()       { g.process.Kill() }
func (g group) close()      {}
func (g group) empty() bool { return true }

func brokenPipe(err error) bool { return errors.Is(err, os.ErrClosed) }
