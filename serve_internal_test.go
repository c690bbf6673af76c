package tenon

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
)

func TestShutdownError(t *testing.T) {
	t.Parallel()
	late := fmt.Errorf("wait: %w", context.DeadlineExceeded)
	for _, errs := range [][]error{{late}, {late, late}, {nil, late}} {
		err := shutdownError(errs...)
		if !errors.Is(err, context.DeadlineExceeded) || strings.Count(err.Error(), "deadline") != 1 || strings.Contains(err.Error(), "\n") {
			t.Errorf("%v: got %q", errs, err)
		}
	}
	other := errors.New("other")
	if err := shutdownError(nil, other); !errors.Is(err, other) {
		t.Errorf("got %v, want %v", err, other)
	}
	if err := shutdownError(nil, nil); err != nil {
		t.Errorf("got %v, want nil", err)
	}
}

func TestHowTo(t *testing.T) {
	t.Parallel()
	for want, s := range map[string]serving{"-http 127": {}, AddrVariable + "=127": {noFlag: true}, "stops it": {forced: true}} {
		got := s.howTo()
		if !strings.Contains(got, want) || s.forced == strings.Contains(got, "8080") {
			t.Errorf("%+v: %q", s, got)
		}
	}
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	if isTerminal(null) {
		t.Error("the null device is taken for a terminal")
	}
}
