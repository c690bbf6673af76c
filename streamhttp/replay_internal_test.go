package streamhttp

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"
)

func kept(m *memoryEvents, session string, stream, after uint64) (seqs []uint64) {
	for e := range m.After(context.Background(), session, stream, after) {
		seqs = append(seqs, e.Seq)
	}
	return seqs
}

func TestMemoryEvents(t *testing.T) {
	t.Parallel()
	m := newMemoryEvents(Limits{ReplayEvents: 3, ReplayBytes: 100, ReplayTotalBytes: 250}.withDefaults())
	add := func(session string, stream uint64, n int) {
		t.Helper()
		if _, err := m.Append(t.Context(), session, stream, []byte(strings.Repeat("x", n))); err != nil {
			t.Fatal(err)
		}
	}
	check := func(what, session string, stream, after uint64, want ...uint64) {
		t.Helper()
		if d := cmp.Diff(want, kept(m, session, stream, after)); d != "" {
			t.Errorf("%s: %s", what, d)
		}
	}
	add("a", 1, 10)
	add("a", 2, 10)
	add("a", 1, 10)
	check("one stream", "a", 1, 0, 1, 3)
	check("behind an event", "a", 1, 1, 3)
	check("the other stream", "a", 2, 0, 2)
	check("nobody", "b", 1, 0)
	add("a", 2, 10)
	check("events are bounded", "a", 1, 0, 3)
	add("a", listening, 10)
	check("the GET stream has a place of its own", "a", 2, 0, 2, 4)
	add("a", 2, 95)
	check("bytes are bounded", "a", 2, 0, 6)
	add("a", 2, 500)
	check("the newest event stays", "a", 2, 0, 7)
	add("b", 1, 90)
	check("all bytes are bounded: the one that was silent loses", "a", 2, 0)
	check("and the other keeps", "b", 1, 0, 1)
	add("a", 2, 10)
	check("numbers go on", "a", 2, 0, 8)
	_ = m.Drop(t.Context(), "a")
	check("dropped", "a", 2, 0)
	_ = m.Drop(t.Context(), "b")
	if m.total != 0 || m.idle.Len() != 0 || len(m.sessions) != 0 {
		t.Errorf("left: %d bytes, %d logs, %d sessions", m.total, m.idle.Len(), len(m.sessions))
	}
}

func TestMemoryEventsWithoutLimits(t *testing.T) {
	t.Parallel()
	m := newMemoryEvents(Limits{ReplayEvents: -1, ReplayBytes: -1, ReplayTotalBytes: -1}.withDefaults())
	for range 1000 {
		_, _ = m.Append(t.Context(), "a", 1, []byte("x"))
	}
	if n := len(kept(m, "a", 1, 0)); n != 1000 {
		t.Errorf("kept %d of 1000", n)
	}
}

func FuzzEventID(f *testing.F) {
	f.Add("0-0")
	f.Add("1-z")
	f.Add("-")
	f.Add("zzzzzzzzzzzzzzzzzz-1")
	f.Fuzz(func(t *testing.T, id string) {
		stream, seq, ok := parseEventID(id)
		if !ok {
			return
		}
		again := string(behind(stream, seq).append(nil))
		if s, n, ok := parseEventID(again); !ok || s != stream || n != seq {
			t.Errorf("%q becomes %q", id, again)
		}
	})
}

func TestEventText(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		e    event
		want string
	}{
		{event{data: []byte(`{"a":1}`)}, "data: {\"a\":1}\n\n"},
		{event{id: behind(1, 2), name: "message", retry: 1500e6, data: []byte("x")}, "event: message\nid: 1-2\nretry: 1500\ndata: x\n\n"},
		{event{id: behind(1, 0)}, "id: 1-0\ndata: \n\n"},
		{event{data: []byte("{\n\"a\":\r\n1}")}, "data: {\ndata: \"a\":\ndata: \ndata: 1}\n\n"},
	} {
		if d := cmp.Diff(tt.want, string(tt.e.append(nil))); d != "" {
			t.Error(d)
		}
	}
}

// A ring gives back what was put in, whatever the sizes, and its memory follows
// what it holds.
func TestRing(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var r ring
		var want []Event
		var seq uint64
		t.Repeat(map[string]func(*rapid.T){
			"push": func(t *rapid.T) {
				data := rapid.SliceOfN(rapid.Byte(), 0, rapid.SampledFrom([]int{0, 1, 100, 5000}).Draw(t, "most")).Draw(t, "data")
				seq++
				r.push(1, seq, data)
				want = append(want, Event{seq, append([]byte{}, data...)})
				if len(r.tape) > max(1<<10, 4*r.bytes) {
					t.Fatalf("%d bytes for %d", len(r.tape), r.bytes)
				}
			},
			"pop": func(t *rapid.T) {
				if len(want) == 0 {
					t.Skip()
				}
				if n := r.pop(); n != len(want[0].Data) {
					t.Fatalf("popped %d bytes, want %d", n, len(want[0].Data))
				}
				want = want[1:]
			},
			"": func(t *rapid.T) {
				if d := cmp.Diff(want, r.after(1, 0), cmpopts.EquateEmpty()); d != "" {
					t.Fatal(d)
				}
			},
		})
	})
}
