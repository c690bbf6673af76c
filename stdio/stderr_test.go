package stdio

import (
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTail(t *testing.T) {
	t.Parallel()
	tl := &tail{max: 5}
	for _, s := range []string{"a", "bc", "", "defg", "h"} {
		io.WriteString(tl, s)
	}
	if got := tl.String(); got != "defgh" {
		t.Errorf("got %q, want defgh", got)
	}
	io.WriteString(tl, "0123456789é")
	if got := tl.String(); got != "789é" {
		t.Errorf("got %q, want 789é", got)
	}
	io.WriteString(tl, "\xff")
	if got := tl.String(); got != "89é\uFFFD" {
		t.Errorf("got %q", got)
	}
}

func TestLines(t *testing.T) {
	t.Parallel()
	var got []string
	l := &lines{max: 4, emit: func(b []byte) { got = append(got, string(b)) }}
	for _, s := range []string{"a", "b\r\n\nc", "d\nlonger", "\nend"} {
		io.WriteString(l, s)
	}
	l.flush()
	l.flush()
	if diff := cmp.Diff([]string{"ab", "cd", "longer", "end"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

type failing struct{ writes int }

func (f *failing) Write([]byte) (int, error) { f.writes++; return 0, errors.New("full") }

func TestDrainGoesOn(t *testing.T) {
	t.Parallel()
	bad, tl := &failing{}, &tail{max: 3}
	drain(strings.NewReader(strings.Repeat("x", 100_000)+"end"), bad, nil, tl)
	if tl.String() != "end" || bad.writes != 1 {
		t.Errorf("tail %q after %d failed writes, want all of it drained and one write", tl, bad.writes)
	}
}

func TestLastLines(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"":                                 "",
		"\n\n":                             "",
		"one\ntwo\nthree\nfour\n\n":        "two | three | four",
		"\x1b[31mred\x1b[0m\a\u202eevil":   "[31mred[0mevil",
		strings.Repeat("é", 300) + "\nend": "…" + strings.Repeat("é", 197) + " | end",
	} {
		if got := lastLines(in); got != want {
			t.Errorf("lastLines(%q) = %q, want %q", in, got, want)
		}
	}
}
