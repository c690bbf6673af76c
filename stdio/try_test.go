//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package stdio //nolint:testpackage // the writer is not exported

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/tenon-mcp/tenon/rpc"
)

func TestUnwaiting(t *testing.T) {
	t.Parallel()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	try, ok := unwaiting(w).(rpc.TryWriter)
	if !ok {
		t.Fatal("a pipe can be written without waiting")
	}
	var sent []byte
	chunk := bytes.Repeat([]byte("0123456789"), 5000)
	for {
		n, err := try.TryWrite(chunk)
		if err != nil {
			t.Fatal(err)
		}
		sent = append(sent, chunk[:n]...)
		if n < len(chunk) {
			break // the pipe is full
		}
	}
	if n, err := try.TryWrite(chunk); n > 0 || err != nil {
		t.Errorf("wrote %d, %v to a full pipe", n, err)
	}
	w.Close()
	if got, err := io.ReadAll(r); err != nil || !bytes.Equal(got, sent) {
		t.Errorf("%d bytes came of %d, %v", len(got), len(sent), err)
	}
	if _, err := try.TryWrite(chunk); err == nil {
		t.Error("a closed pipe can be written")
	}
}

func TestUnwaitingBrokenPipe(t *testing.T) {
	t.Parallel()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	r.Close()
	if _, err := unwaiting(w).(rpc.TryWriter).TryWrite([]byte("x")); !brokenPipe(err) {
		t.Errorf("got %v", err)
	}
}

func TestUnwaitingRegularFile(t *testing.T) {
	t.Parallel()
	f, err := os.Create(filepath.Join(t.TempDir(), "f"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if w := unwaiting(f); w != io.Writer(f) {
		t.Errorf("a file is a %T", w)
	}
}
