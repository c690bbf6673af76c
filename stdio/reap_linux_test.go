package stdio_test

import (
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon/stdio"
)

const asInit = "TENON_STDIO_TEST_INIT"

// B010: where this process is the first of a container, what a server left
// behind becomes a child of ours, and no zombie.
func TestStopReapsOrphans(t *testing.T) {
	t.Parallel()
	if os.Getenv(asInit) == "" {
		cmd := exec.Command(os.Args[0], "-test.run=^TestStopReapsOrphans$")
		cmd.Env = append(os.Environ(), asInit+"=1", noExitSleep)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
		return
	}
	const setChildSubreaper = 36
	if _, _, errno := syscall.Syscall(syscall.SYS_PRCTL, setChildSubreaper, 1, 0); errno != 0 {
		t.Skip("orphans go elsewhere:", errno)
	}
	for _, mode := range []string{"serve", "stubborn"} {
		c := self(mode)
		c.Limits = stdio.Limits{CloseWait: 100 * time.Millisecond, TermWait: 100 * time.Millisecond}
		conn := dial(t, c)
		pid := call[int](t, conn, "grandchild", nil)
		if err := conn.Close(); err != nil {
			t.Error(err)
		}
		if err := syscall.Kill(pid, 0); err == nil {
			t.Errorf("%s: the orphan is still a process, or a zombie", mode)
		}
	}
}
