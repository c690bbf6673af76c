//go:build unix

package stdio_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// A server takes its streams as they are given: pipes, files, closed ones, and one
// for both outputs.
func TestStandardStreams(t *testing.T) {
	t.Parallel()
	const requests = `{"jsonrpc":"2.0","id":1,"method":"nap"}` + "\n" + `{"jsonrpc":"2.0","id":2,"method":"echo","params":{}}` + "\n"
	for name, tt := range map[string]struct {
		mode, script string
		lost         bool // nobody can get the answers
	}{
		"pipes":                        {script: `printf %s "$IN" | "$SELF" | cat`},
		"files":                        {script: `printf %s "$IN" >in; "$SELF" <in >out; cat out`},
		"one output":                   {script: `printf %s "$IN" | "$SELF" 2>&1 | cat`},
		"one file":                     {script: `printf %s "$IN" | "$SELF" >out 2>&1; cat out`},
		"stderr closed":                {script: `printf %s "$IN" | "$SELF" 2>&- | cat`},
		"stderr closed by the program": {mode: "no-stderr", script: `printf %s "$IN" | "$SELF" | cat`},
		"nothing comes":                {script: `"$SELF" </dev/null`, lost: true},
		"stdin closed":                 {script: `"$SELF" <&-`, lost: true},
		"stdout closed":                {script: `printf %s "$IN" | "$SELF" >&-`, lost: true},
		"stdout is nowhere":            {script: `printf %s "$IN" | "$SELF" >/dev/null`, lost: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			mode := tt.mode
			if mode == "" {
				mode = "serve"
			}
			cmd := exec.Command("sh", "-c", tt.script+` || echo "it failed"`)
			cmd.Dir = t.TempDir()
			cmd.Env = append(os.Environ(), "IN="+requests, "SELF="+os.Args[0], childVariable+"="+mode, noExitSleep)
			out, err := cmd.CombinedOutput()
			if err != nil {
				t.Fatal(err)
			}
			if tt.lost {
				if len(out) > 0 {
					t.Errorf("got %s", out)
				}
				return
			}
			lines := strings.Split(strings.TrimSpace(string(out)), "\n")
			if len(lines) != 2 || !strings.Contains(string(out), `"id":1,"result":"rested"`) || !strings.Contains(string(out), `"id":2,"result":{}`) {
				t.Errorf("got %s", out)
			}
		})
	}
}
