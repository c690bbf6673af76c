package stdio

import "testing"

// B015: batch files, which many launchers are on Windows, get what is safe.
func TestCheckBatch(t *testing.T) {
	t.Parallel()
	tests := []struct {
		path, arg string
		ok        bool
	}{
		{`C:\node\npx.cmd`, "@scope/server-x", true},
		{`C:\node\npx.cmd`, `--root=C:\my files\`, true},
		{`C:\node\npx.CMD`, "a&calc", false},
		{`start.bat`, `say "hi"`, false},
		{`start.bat`, "%PATH%", false},
		{`start.bat`, "a\r\nb", false},
		{`npx.exe`, `a&b "%PATH%"`, true},
		{`/bin/server`, "a|b", true},
	}
	for _, tt := range tests {
		if err := checkBatch(tt.path, []string{"-y", tt.arg}); (err == nil) != tt.ok {
			t.Errorf("%s %q: got %v, want ok %v", tt.path, tt.arg, err, tt.ok)
		}
	}
}
