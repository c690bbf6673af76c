package stdio //nolint:testpackage // the writer is not exported

import (
	"os"
	"syscall"
	"testing"

	"github.com/tenon-mcp/tenon/rpc"
)

// A pipe that turns out to be small gets more room, where the system has some.
func TestUnwaitingWidens(t *testing.T) {
	t.Parallel()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	try := unwaiting(w).(rpc.TryWriter)
	if n, err := try.TryWrite([]byte("small")); n != len("small") || err != nil || pipeSize(t, w) != pipeBytes {
		t.Errorf("wrote %d, %v to a pipe that has room for %d now", n, err, pipeSize(t, w))
	}
	n, err := try.TryWrite(make([]byte, 2*pipeBytes))
	if err != nil {
		t.Fatal(err)
	}
	switch size := pipeSize(t, w); {
	case size == pipeBytes:
		t.Log("the system gives no more room: its users have pipes enough")
	case n != 2*pipeBytes || size != widePipe:
		t.Errorf("wrote %d to a pipe that has room for %d now", n, size)
	}
}

func pipeSize(t *testing.T, f *os.File) (size int) {
	t.Helper()
	raw, err := f.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	const getPipeSize = 1032 // F_GETPIPE_SZ
	err = raw.Control(func(fd uintptr) {
		n, _, _ := syscall.Syscall(syscall.SYS_FCNTL, fd, getPipeSize, 0)
		size = int(n)
	})
	if err != nil {
		t.Fatal(err)
	}
	return size
}
