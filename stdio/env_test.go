package stdio

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// B014: Windows has names of its own, and their case means nothing.
func TestPick(t *testing.T) {
	t.Parallel()
	environ := []string{
		"PATH=/bin", "HOME=/h", "SECRET=x", "SHELL=() { evil; }", "Path=/mixed", "LC_ALL=C", "=C:=C:\\",
		"ProgramFiles(x86)=pf", "ComSpec=cmd",
	}
	if diff := cmp.Diff([]string{"PATH=/bin", "HOME=/h", "LC_ALL=C"}, pick(environ, baseEnv, false)); diff != "" {
		t.Errorf("unix (-want +got):\n%s", diff)
	}
	windows := []string{"Path=/mixed", "PathExt=.COM", "ComSpec=cmd", "SECRET=x", "ProgramFiles(x86)=pf"}
	want := []string{"Path=/mixed", "PathExt=.COM", "ComSpec=cmd", "ProgramFiles(x86)=pf"}
	if diff := cmp.Diff(want, pick(windows, baseEnvWindows, true)); diff != "" {
		t.Errorf("windows (-want +got):\n%s", diff)
	}
}

// B013, B014: one entry a name, and no literal ${NAME}.
func TestMerge(t *testing.T) {
	t.Parallel()
	lookup := func(name string) (string, bool) {
		return map[string]string{"PATH": "/bin", "EMPTY": ""}[name], name == "PATH" || name == "EMPTY"
	}
	base := []string{"PATH=/bin", "HOME=/h"}
	tests := []struct {
		name    string
		add     []string
		fold    bool
		want    []string
		wantErr string
	}{
		{name: "nothing", want: base},
		{name: "added", add: []string{"API_KEY=k=v"}, want: []string{"PATH=/bin", "HOME=/h", "API_KEY=k=v"}},
		{name: "overridden", add: []string{"PATH=/x"}, want: []string{"HOME=/h", "PATH=/x"}},
		{name: "expanded", add: []string{"PATH=${PATH}:/opt/x${EMPTY}"}, want: []string{"HOME=/h", "PATH=/bin:/opt/x"}},
		{name: "escaped", add: []string{"A=$${PATH}", "B=$PATH"}, want: []string{"PATH=/bin", "HOME=/h", "A=${PATH}", "B=$PATH"}},
		{name: "folded", add: []string{"Path=/x"}, fold: true, want: []string{"HOME=/h", "Path=/x"}},
		{name: "unset", add: []string{"A=${NOPE}"}, wantErr: "${NOPE}, which is not set"},
		{name: "open", add: []string{"A=${NOPE"}, wantErr: "without }"},
		{name: "no value", add: []string{"A"}, wantErr: "not KEY=value"},
		{name: "nul", add: []string{"A=\x00"}, wantErr: "NUL"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := merge(base, tt.add, tt.fold, lookup)
			if tt.wantErr != "" {
				if err == nil || !strings.Contains(err.Error(), tt.wantErr) {
					t.Fatalf("got error %v, want one with %q", err, tt.wantErr)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
