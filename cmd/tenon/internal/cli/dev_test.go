package cli

import (
	"errors"
	"net"
	"testing"
)

func TestListen(t *testing.T) {
	t.Parallel()
	taken, err := listenOn(0)
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	port := taken.Addr().(*net.TCPAddr).Port

	next, err := listen(port, false)
	if err != nil {
		t.Fatalf("a taken port that nobody named: %v", err)
	}
	defer next.Close()
	addr := next.Addr().(*net.TCPAddr)
	if addr.Port == port || !addr.IP.IsLoopback() {
		t.Errorf("got %s", addr)
	}
	if l, err := listen(port, true); err == nil {
		l.Close()
		t.Error("a taken port that was named is not refused")
	} else if e, ok := errors.AsType[*codeError](err); !ok || e.code != exitUnexpected {
		t.Errorf("got %v", err)
	}
}
