package tenon

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSplitWords(t *testing.T) {
	t.Parallel()
	tests := []struct {
		line    string
		want    []string // nil: an error
		windows []string // where it is another
	}{
		{line: "", want: []string{}},
		{line: " \t\r\n", want: []string{}},
		{line: "a", want: []string{"a"}},
		{line: "  npx -y\tpkg\n", want: []string{"npx", "-y", "pkg"}},
		{line: `a '' ""`, want: []string{"a", "", ""}},
		{line: `'two words' "three more words"`, want: []string{"two words", "three more words"}},
		{line: `a"b"'c'd`, want: []string{"abcd"}},
		{line: `"it's" '"'`, want: []string{"it's", `"`}},
		{line: `--x="1 2"`, want: []string{"--x=1 2"}},
		{line: `$HOME *.go | # ; &`, want: []string{"$HOME", "*.go", "|", "#", ";", "&"}},
		{line: "é 日本", want: []string{"é", "日本"}},
		{line: `a\ b \"c`, want: []string{"a b", `"c`}, windows: []string{}},
		{line: `"a\"b\n" 'c\d'`, want: []string{`a"b\n`, `c\d`}, windows: []string{}},
		{line: `C:\x\y.exe -v`, want: []string{"C:xy.exe", "-v"}, windows: []string{`C:\x\y.exe`, "-v"}},
		{line: `"a`},
		{line: `'a`},
		{line: `"`},
		{line: `a\`, windows: []string{`a\`}},
	}
	for _, tt := range tests {
		got, err := splitWords(tt.line, true)
		if tt.want == nil {
			if err == nil {
				t.Errorf("%s: got %q, want an error", tt.line, got)
			}
		} else if diff := cmp.Diff(tt.want, append([]string{}, got...)); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", tt.line, err, diff)
		}
		if len(tt.windows) == 0 {
			continue
		}
		if got, err := splitWords(tt.line, false); err != nil || !cmp.Equal(tt.windows, got) {
			t.Errorf("windows %s: got %q, %v, want %q", tt.line, got, err, tt.windows)
		}
	}
}

func TestSplitScheme(t *testing.T) {
	t.Parallel()
	for target, want := range map[string]string{
		"http://x": "http", "HTTPS://x": "https", "stdio:a b": "stdio", "stdio://a": "stdio", "c:\\x.exe": "c",
		"npx mcp-remote https://x": "", "./a": "", "": "", "--url=http://x": "",
	} {
		if got, _ := splitScheme(target); got != want {
			t.Errorf("%q: got %q, want %q", target, got, want)
		}
	}
}

func TestHTTPAddr(t *testing.T) {
	t.Parallel()
	tests := []struct {
		args          []string
		env           string
		want, wantErr string
	}{
		{},
		{env: ":1", want: ":1"},
		{args: []string{"-http", ":2"}, env: ":1", want: ":2"},
		{args: []string{"x", "--http=:2", "-http", ":3"}, want: ":2"},
		{args: []string{"--", "-http", ":2"}, env: ":1", want: ":1"},
		{args: []string{"-httpx", ":2", "-x-http=3"}},
		{args: []string{"-http"}, wantErr: "tenon: -http needs an address, such as 127.0.0.1:8080"},
		{args: []string{"--http", "--other"}, wantErr: "tenon: --http needs an address, such as 127.0.0.1:8080"},
	}
	for _, tt := range tests {
		got, err := httpAddr(tt.args, tt.env)
		if got != tt.want || (err == nil) != (tt.wantErr == "") || err != nil && err.Error() != tt.wantErr {
			t.Errorf("%q, %q: got %q, %v", tt.args, tt.env, got, err)
		}
	}
}
