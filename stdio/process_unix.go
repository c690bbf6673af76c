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

// empty reports whether no member is left. The leader must have been waited
// for. Orphans of the group become children of this process where it is the
// first one of a container: nobody else would take them away.
func (g group) empty() bool {
	for {
		if pid, err := syscall.Wait4(-g.id, nil, syscall.WNOHANG, nil); pid <= 0 && !errors.Is(err, syscall.EINTR) {
			break
		}
	}
	return syscall.Kill(-g.id, 0) != nil // EPERM is of some systems where only zombies are
}

func brokenPipe(err error) bool {
	return errors.Is(err, syscall.EPIPE) || errors.Is(err, os.ErrClosed)
}
