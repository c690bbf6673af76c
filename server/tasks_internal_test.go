package server

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenon-mcp/tenon/mcp"
)

func TestMemoryTasks(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx := t.Context()
		m := newMemoryTasks(Limits{Tasks: 3, TasksOfOne: 2})
		add := func(id, principal string, ttl time.Duration) error {
			return m.Create(ctx, &TaskRecord{ID: id, Principal: principal, Created: time.Now(), TTL: ttl})
		}
		if err := errors.Join(add("a", "ada", time.Minute), add("b", "ada", 0), add("c", "bob", time.Minute)); err != nil {
			t.Fatal(err)
		}
		for _, id := range []string{"d", "a"} {
			if err := add(id, "eve", 0); err == nil {
				t.Errorf("task %s was added", id)
			}
		}
		if err := add("e", "ada", 0); !errors.Is(err, ErrTooManyTasks) {
			t.Errorf("error %v, want ErrTooManyTasks", err)
		}
		fail := errors.New("no")
		if _, err := m.Update(ctx, "a", func(*TaskRecord) error { return fail }); !errors.Is(err, fail) {
			t.Errorf("error %v, want that of the change", err)
		}
		if list, err := m.List(ctx, "ada", "", 1); err != nil || len(list) != 1 || list[0].ID != "a" {
			t.Errorf("first page %v, %v", list, err)
		}
		if list, err := m.List(ctx, "ada", "a", -1); err != nil || len(list) != 1 || list[0].ID != "b" {
			t.Errorf("second page %v, %v", list, err)
		}

		// Whoever waits hears of a change, of the end of the time, and of its own.
		waited := make(chan error, 3)
		wait := func(ctx context.Context, id string) { go func() { waited <- m.Wait(ctx, id, 1) }() }
		wait(ctx, "b")
		synctest.Wait()
		if _, err := m.Update(ctx, "b", func(r *TaskRecord) error { r.Status = mcp.TaskCompleted; return nil }); err != nil {
			t.Fatal(err)
		}
		if err := <-waited; err != nil {
			t.Error(err)
		}
		if err := m.Wait(ctx, "b", 1); err != nil {
			t.Errorf("a change that was: %v", err)
		}
		over, cancel := context.WithCancel(ctx)
		wait(over, "c")
		synctest.Wait()
		cancel()
		if err := <-waited; !errors.Is(err, context.Canceled) {
			t.Errorf("error %v, want that of the context", err)
		}
		wait(ctx, "c")
		if err := <-waited; err != nil { // after a minute of the bubble
			t.Error(err)
		}
		if _, err := m.Get(ctx, "c"); !errors.Is(err, ErrNoTask) {
			t.Errorf("error %v, want ErrNoTask", err)
		}
		if err := add("f", "ada", 0); err != nil { // a has made room
			t.Error(err)
		}
		if _, err := m.Update(ctx, "a", func(*TaskRecord) error { return nil }); !errors.Is(err, ErrNoTask) {
			t.Errorf("error %v, want ErrNoTask", err)
		}
		if len(m.tasks) != 2 || len(m.counts) != 1 {
			t.Errorf("kept %v, counted %v", m.tasks, m.counts)
		}
	})
}

func TestTaskTTL(t *testing.T) {
	t.Parallel()
	long := int64(1) << 62
	short := int64(1000)
	tests := []struct {
		opts   TaskOptions
		wanted *mcp.TaskMetadata
		want   time.Duration
	}{
		{want: time.Hour},
		{wanted: &mcp.TaskMetadata{}, want: time.Hour},
		{wanted: &mcp.TaskMetadata{TTL: &short}, want: time.Second},
		{wanted: &mcp.TaskMetadata{TTL: &long}, want: 24 * time.Hour},
		{opts: TaskOptions{TTL: -1}, want: 24 * time.Hour},
		{opts: TaskOptions{TTL: -1, MaxTTL: -1}, want: 0},
		{opts: TaskOptions{MaxTTL: -1}, wanted: &mcp.TaskMetadata{TTL: &long}, want: maxTaskTTL},
	}
	for i, tt := range tests {
		s := New(mcp.Implementation{Name: "s"}, &Options{Tasks: &tt.opts})
		if got := s.tasks.ttl(tt.wanted); got != tt.want {
			t.Errorf("%d: %v, want %v", i, got, tt.want)
		}
	}
}
