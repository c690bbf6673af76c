package streamhttp

import (
	"bytes"
	"errors"
	"io"
	"math"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tenon-mcp/tenon/rpc"
)

// readEvents reads all of r, and returns "name|data" of each event and what the
// reader remembers.
func readEvents(r *eventReader) (events []string, err error) {
	for {
		ev, err := r.next()
		if err != nil {
			return events, err
		}
		events = append(events, ev.name+"|"+string(ev.data))
	}
}

func TestEventReader(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 300_000)
	tests := []struct {
		name, in string
		want     []string
		lastID   string
		retry    time.Duration
	}{
		{name: "empty", retry: -1},
		{name: "lf", in: "data: a\n\n", want: []string{"message|a"}, retry: -1},
		{name: "cr", in: "data: a\r\rdata: b\r\r", want: []string{"message|a", "message|b"}, retry: -1},
		{name: "crlf", in: "data: a\r\n\r\ndata: b\r\n\r\n", want: []string{"message|a", "message|b"}, retry: -1},
		{name: "mixed ends", in: "data: a\r\n\ndata: b\n\rdata: c\r\r\n", want: []string{"message|a", "message|b", "message|c"}, retry: -1},
		{name: "byte order mark", in: "\xef\xbb\xbfdata: a\n\n", want: []string{"message|a"}, retry: -1},
		{name: "mark later is no mark", in: "data: a\n\n\xef\xbb\xbfdata: b\n\n", want: []string{"message|a"}, retry: -1},
		{name: "one space goes", in: "data:a\n\ndata:  b\n\n", want: []string{"message|a", "message| b"}, retry: -1},
		{name: "lines join", in: "data: {\"a\":1,\ndata: \"b\":2}\n\n", want: []string{"message|{\"a\":1,\n\"b\":2}"}, retry: -1},
		{name: "empty line inside", in: "data: a\ndata\ndata: b\n\n", want: []string{"message|a\n\nb"}, retry: -1},
		{
			name: "names", in: "event: message\ndata: a\n\nevent:\ndata: b\n\nevent: endpoint\ndata: c\n\nevent: ping\ndata: {}\n\n",
			want: []string{"message|a", "message|b", "endpoint|c", "other|{}"}, retry: -1,
		},
		{name: "name does not last", in: "event: ping\ndata: a\n\ndata: b\n\n", want: []string{"other|a", "message|b"}, retry: -1},
		{name: "name without data", in: "event: ping\n\ndata: b\n\n", want: []string{"message|b"}, retry: -1},
		{name: "comments and unknown fields", in: ": hi\n:\nfoo: bar\nfoo\ndata: a\n: more\n\n", want: []string{"message|a"}, retry: -1},
		{name: "priming", in: "id: s1-0\nretry: 500\ndata: \n\nid: s1-1\ndata: a\n\n", want: []string{"message|a"}, lastID: "s1-1", retry: 500 * time.Millisecond},
		{name: "priming without colon", in: "id: s1-0\ndata\n\n", lastID: "s1-0", retry: -1},
		{name: "id only", in: "id: 7\n\n", lastID: "7", retry: -1},
		{name: "id lasts", in: "id: 7\ndata: a\n\ndata: b\n\n", want: []string{"message|a", "message|b"}, lastID: "7", retry: -1},
		{name: "id can be emptied", in: "id: 7\ndata: a\n\nid\ndata: b\n\n", want: []string{"message|a", "message|b"}, retry: -1},
		{name: "bad ids leave the cursor", in: "id: 7\n\nid: a\x00b\n\nid: é\n\nid: " + strings.Repeat("9", 1025) + "\n\n", lastID: "7", retry: -1},
		{name: "spaces in ids", in: "id: cursor 42\n\n", lastID: "cursor 42", retry: -1},
		{name: "cut event drops its id", in: "id: 1\ndata: a\n\nid: 2\ndata: b\n", want: []string{"message|a"}, lastID: "1", retry: -1},
		{name: "cut line", in: "data: {\"jsonrpc\"", retry: -1},
		{name: "retry at once", in: "retry: 20\n", retry: 20 * time.Millisecond},
		{name: "bad retries", in: "retry: 10\nretry: -5000\nretry: abc\nretry: 1e6\nretry: 500ms\nretry:\nretry: 1.5\n", retry: 10 * time.Millisecond},
		{name: "retry of ages", in: "retry: 99999999999999999999999\n", retry: math.MaxInt64},
		{name: "long line", in: "data: " + long + "\n\n", want: []string{"message|" + long}, retry: -1},
		{name: "not UTF-8", in: "data: \xff\xfe\n\n", want: []string{"message|\xff\xfe"}, retry: -1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			for how, src := range map[string]io.Reader{
				"whole": strings.NewReader(tt.in), "byte by byte": iotest.OneByteReader(strings.NewReader(tt.in)),
				"end with data": iotest.DataErrReader(strings.NewReader(tt.in)),
			} {
				if how == "byte by byte" && len(tt.in) > 100_000 {
					continue
				}
				r := newEventReader(src, 1<<20)
				got, err := readEvents(r)
				if !errors.Is(err, io.EOF) {
					t.Errorf("%s: error %v, want EOF", how, err)
				}
				if d := cmp.Diff(tt.want, got); d != "" {
					t.Errorf("%s: events (-want +got):\n%s", how, d)
				}
				if r.lastID != tt.lastID || r.retry != tt.retry {
					t.Errorf("%s: last ID %q, retry %v; want %q, %v", how, r.lastID, r.retry, tt.lastID, tt.retry)
				}
			}
		})
	}
}

// An event must be there as soon as its blank line is, whatever comes behind.
func TestEventIsNotHeldBack(t *testing.T) {
	t.Parallel()
	for _, end := range []string{"\n", "\r", "\r\n"} {
		pr, pw := io.Pipe()
		go func() { _, _ = io.WriteString(pw, "data: a"+end+end) }()
		ev, err := newEventReader(pr, 100).next()
		if err != nil || string(ev.data) != "a" {
			t.Errorf("end %q: %q, %v", end, ev.data, err)
		}
		pr.Close()
	}
}

func TestEventReaderLimit(t *testing.T) {
	t.Parallel()
	for name, in := range map[string]string{
		"line without end": "data: " + strings.Repeat("x", 200),
		"line":             "data: " + strings.Repeat("x", 101) + "\n\n",
		"many lines":       strings.Repeat("data: xxxxxxxxx\n", 20) + "\n",
		"many empty lines": strings.Repeat("data\n", 200) + "\n",
		"comment":          ":" + strings.Repeat("x", 200),
	} {
		r := newEventReader(strings.NewReader(in), 100)
		if _, err := readEvents(r); !errors.Is(err, rpc.ErrTooLarge) {
			t.Errorf("%s: %v, want ErrTooLarge", name, err)
		}
		if _, err := r.next(); !errors.Is(err, rpc.ErrTooLarge) {
			t.Errorf("%s, again: %v, want ErrTooLarge", name, err)
		}
	}
	small := strings.Repeat("data: "+strings.Repeat("x", 100)+"\n\n", 50)
	if got, err := readEvents(newEventReader(strings.NewReader(small), 100)); !errors.Is(err, io.EOF) || len(got) != 50 {
		t.Errorf("many events at the limit: %d, %v", len(got), err)
	}
}

// The time for an event that never ends must grow with its length only.
func TestEventReaderIsLinear(t *testing.T) {
	t.Parallel()
	r := newEventReader(iotest.HalfReader(io.LimitReader(zeros{}, 16<<20)), 32<<20)
	began := time.Now()
	if _, err := r.next(); !errors.Is(err, io.EOF) {
		t.Fatal(err)
	}
	if d := time.Since(began); d > 5*time.Second {
		t.Errorf("took %v", d)
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

func TestEventReaderNoProgress(t *testing.T) {
	t.Parallel()
	if _, err := newEventReader(stuck{}, 10).next(); !errors.Is(err, io.ErrNoProgress) {
		t.Errorf("%v, want ErrNoProgress", err)
	}
}

type stuck struct{}

func (stuck) Read([]byte) (int, error) { return 0, nil }

// Cut anywhere, the stream gives a beginning of what it gives whole.
func TestEventReaderCutAnywhere(t *testing.T) {
	t.Parallel()
	in := "\xef\xbb\xbf: c\r\nid: 1\r\nretry: 5\r\ndata: \r\n\r\nid: 2\ndata: {\"a\":\ndata: 1}\n\nevent: endpoint\rdata: /x\r\rid: 3\ndata: z\n\n"
	whole, _ := readEvents(newEventReader(strings.NewReader(in), 1000))
	for cut := range len(in) {
		r := newEventReader(strings.NewReader(in[:cut]), 1000)
		got, err := readEvents(r)
		if !errors.Is(err, io.EOF) {
			t.Fatalf("cut at %d: %v", cut, err)
		}
		if len(got) > len(whole) || !slices.Equal(whole[:len(got)], got) {
			t.Fatalf("cut at %d: %q is no beginning of %q", cut, got, whole)
		}
		// In two reads, the second one beginning at the cut.
		two := io.MultiReader(strings.NewReader(in[:cut]), strings.NewReader(in[cut:]))
		if got, _ := readEvents(newEventReader(two, 1000)); cmp.Diff(whole, got) != "" {
			t.Fatalf("read in two at %d: %q", cut, got)
		}
	}
}

func FuzzEventReader(f *testing.F) {
	for _, s := range []string{
		"data: a\n\n", "id: 1\r\nretry: 10\r\ndata: \r\n\r\n", ":\r\r\n\ndata:x\rdata:y\n\r", "\xef\xbb\xbfdata\n\n", "event: endpoint\ndata: /m?x\n\n",
	} {
		f.Add([]byte(s), 3)
	}
	f.Fuzz(func(t *testing.T, in []byte, chunk int) {
		const most = 64
		a := newEventReader(bytes.NewReader(in), most)
		b := newEventReader(&chunks{in, max(1, chunk)}, most)
		whole, errA := readEvents(a)
		parts, errB := readEvents(b)
		if errA == nil || errB == nil {
			t.Fatal("no error at the end")
		}
		if errors.Is(errA, io.EOF) && errors.Is(errB, io.EOF) && cmp.Diff(whole, parts) != "" {
			t.Fatalf("whole %q, in parts %q", whole, parts)
		}
		if errors.Is(errA, io.EOF) && errors.Is(errB, io.EOF) && (a.lastID != b.lastID || a.retry != b.retry) {
			t.Fatalf("whole %q %v, in parts %q %v", a.lastID, a.retry, b.lastID, b.retry)
		}
		if !validEventID([]byte(a.lastID)) {
			t.Fatalf("ID %q", a.lastID)
		}
		for _, e := range whole {
			if len(e) > most+len("endpoint|") {
				t.Fatalf("event of %d bytes", len(e))
			}
		}
	})
}

type chunks struct {
	b []byte
	n int
}

func (c *chunks) Read(p []byte) (int, error) {
	if len(c.b) == 0 {
		return 0, io.EOF
	}
	n := copy(p[:min(len(p), c.n)], c.b)
	c.b = c.b[n:]
	return n, nil
}
