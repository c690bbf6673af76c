package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// asProgram makes the test binary one of the programs.
const asProgram = "TENON_TEST_PROGRAM"

// quickExit keeps the race detector from waiting for a second at each exit.
const quickExit = "GORACE=atexit_sleep_ms=0"

func TestMain(m *testing.M) {
	programs := map[string]func(){"tenon": main, "hostile": hostile, "waiter": waiter, "asker": asker}
	if program := programs[os.Getenv(asProgram)]; program != nil {
		program()
		return
	}
	testscript.Main(m, programs)
}

// program returns the test binary as a program, with a state of its own.
func program(t *testing.T, name string, args ...string) *exec.Cmd {
	t.Helper()
	c := exec.CommandContext(t.Context(), os.Args[0], args...)
	c.Env = append(os.Environ(), asProgram+"="+name, quickExit, "XDG_STATE_HOME="+t.TempDir())
	return c
}

// exitCode returns how a program ended.
func exitCode(t *testing.T, err error) int {
	t.Helper()
	if err == nil {
		return 0
	}
	exit, ok := errors.AsType[*exec.ExitError](err)
	if !ok {
		t.Fatal(err)
	}
	return exit.ExitCode()
}

// TestScripts runs testdata/script: what each command prints, and its exit code.
func TestScripts(t *testing.T) {
	t.Parallel()
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(env *testscript.Env) error {
			env.Setenv("XDG_STATE_HOME", filepath.Join(env.WorkDir, "state"))
			key, value, _ := strings.Cut(quickExit, "=")
			env.Setenv(key, value)
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"exits": exits},
	})
}

// exits runs a program that is to end with an exit code: exits CODE PROGRAM ARGS…
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits code program args…")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		exit, ok := errors.AsType[*exec.ExitError](err)
		if !ok {
			ts.Fatalf("%v", err)
		}
		got = exit.ExitCode()
	}
	if got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
}
