//go:build unix

package stdio

import (
	"errors"
	"os"
	"os/exec"
	"syscall"
)

// prepare makes the child the leader of a process group of its own, which
// also keeps the terminal's Ctrl-C from it: ending it is our part.
func prepare(cmd *exec.Cmd) error {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return nil
}

// group is a process group. Its number stays taken while it has a member, so
// a signal can go astray only to a group that is asked for after it was found
// empty, which never happens here.
type group struct{ id int }

func newGroup(p *os.Process) group { return group{p.Pid} }

func (g group) terminate() { _ = syscall.Kill(-g.id, syscall.SIGTERM) }
func (g group) kill()      { _ = syscall.Kill(-g.id, syscall.SIGKILL) }
func (g group) close()     {}

// empty reports whether no member is left. (Where only zombies are, some
// systems say ESRCH and some EPERM.)
func (g group) empty() bool { return syscall.Kill(-g.id, 0) != nil }

func brokenPipe(err error) bool {
	return errors.Is(err, syscall.EPIPE) || errors.Is(err, os.ErrClosed)
}
