package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/rpc"
)

// A TaskRecord is what a [TaskStore] keeps of a task.
type TaskRecord struct {
	// ID cannot be guessed.
	ID string
	// Principal is whose task it is: see [Options.Principal].
	Principal string
	Status    mcp.TaskStatus
	// StatusMessage is for people; it may be empty.
	StatusMessage    string
	Created, Updated time.Time
	// TTL is how long the task is kept after Created. 0 = for ever.
	TTL time.Duration
	// Revision counts the changes. The store sets it.
	Revision int64

	// Questions are those that the client has not answered.
	Questions mcp.InputRequests
	// Answers are those that the handler has not taken, by the key of the
	// question. Refusals are errors of the client in place of an answer.
	Answers  map[string]jsontext.Value
	Refusals map[string]*rpc.Error

	// Result or Error is how the task ended.
	Result jsontext.Value
	Error  *rpc.Error
}

func (t *TaskRecord) clone() *TaskRecord {
	c := *t
	c.Questions, c.Answers, c.Refusals = maps.Clone(t.Questions), maps.Clone(t.Answers), maps.Clone(t.Refusals)
	return &c
}

func (t *TaskRecord) expired(now time.Time) bool { return t.TTL > 0 && now.Sub(t.Created) > t.TTL }

var (
	// ErrNoTask is returned by a [TaskStore] for an ID that it does not have,
	// or not any more.
	ErrNoTask = errors.New("server: there is no such task: it may have expired")
	// ErrTooManyTasks is returned by [TaskStore.Create] when it is full.
	ErrTooManyTasks = errors.New("server: too many tasks: wait until some have expired")
)

// A TaskStore keeps tasks. Its methods may be called from several goroutines at
// once. A task that is past its TTL is gone.
type TaskStore interface {
	// Create adds a task. When it returns, Get finds it, on every replica that
	// shares the store.
	Create(ctx context.Context, t *TaskRecord) error
	// Get returns a copy, or ErrNoTask.
	Get(ctx context.Context, id string) (*TaskRecord, error)
	// Update has change edit a copy, and puts that in the place of the task
	// unless somebody else did so meanwhile: then change is called again. An
	// error of change leaves the task as it was, and is returned.
	Update(ctx context.Context, id string, change func(t *TaskRecord) error) (*TaskRecord, error)
	// List returns copies of up to n tasks of a principal in the order of their
	// IDs, those behind the ID after.
	List(ctx context.Context, principal, after string, n int) ([]*TaskRecord, error)
	// Wait returns when the task has another revision, or is gone, or with the
	// error of ctx.
	Wait(ctx context.Context, id string, revision int64) error
}

// memoryTasks is the TaskStore of one process. Tasks that expired go when
// somebody comes by: there is no goroutine and no timer.
type memoryTasks struct {
	max, maxOfOne int

	mu     sync.Mutex
	tasks  map[string]*memoryTask
	counts map[string]int // by principal
	swept  time.Time
}

type memoryTask struct {
	record  *TaskRecord   // never changed, only replaced
	changed chan struct{} // closed by the next change; nil = nobody waits
}

// sweepEvery is how often all tasks are looked at for their TTL.
const sweepEvery = 10 * time.Second

func newMemoryTasks(l Limits) *memoryTasks {
	return &memoryTasks{max: l.Tasks, maxOfOne: l.TasksOfOne, tasks: map[string]*memoryTask{}, counts: map[string]int{}}
}

func (m *memoryTasks) Create(_ context.Context, t *TaskRecord) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := time.Now()
	full := over(len(m.tasks)+1, m.max) || over(m.counts[t.Principal]+1, m.maxOfOne)
	if full || now.Sub(m.swept) > sweepEvery {
		m.sweep(now)
	}
	switch {
	case m.tasks[t.ID] != nil:
		return fmt.Errorf("server: task %s is there already", t.ID)
	case over(len(m.tasks)+1, m.max), over(m.counts[t.Principal]+1, m.maxOfOne):
		return ErrTooManyTasks
	}
	c := t.clone()
	c.Revision = 1
	m.tasks[t.ID] = &memoryTask{record: c}
	m.counts[t.Principal]++
	return nil
}

// sweep takes out what has expired.
func (m *memoryTasks) sweep(now time.Time) {
	m.swept = now
	for id, t := range m.tasks {
		if t.record.expired(now) {
			m.remove(id, t)
		}
	}
}

func (m *memoryTasks) remove(id string, t *memoryTask) {
	delete(m.tasks, id)
	if m.counts[t.record.Principal]--; m.counts[t.record.Principal] == 0 {
		delete(m.counts, t.record.Principal)
	}
	t.wake()
}

func (t *memoryTask) wake() {
	if t.changed != nil {
		close(t.changed)
		t.changed = nil
	}
}

// find returns a task that has not expired.
func (m *memoryTasks) find(id string) (*memoryTask, error) {
	t := m.tasks[id]
	if t == nil {
		return nil, ErrNoTask
	}
	if t.record.expired(time.Now()) {
		m.remove(id, t)
		return nil, ErrNoTask
	}
	return t, nil
}

func (m *memoryTasks) Get(_ context.Context, id string) (*TaskRecord, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	t, err := m.find(id)
	if err != nil {
		return nil, err
	}
	return t.record.clone(), nil
}

func (m *memoryTasks) Update(_ context.Context, id string, change func(*TaskRecord) error) (*TaskRecord, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	t, err := m.find(id)
	if err != nil {
		return nil, err
	}
	next := t.record.clone()
	if err := change(next); err != nil {
		return nil, err
	}
	next.ID, next.Principal, next.Revision = t.record.ID, t.record.Principal, t.record.Revision+1
	t.record = next
	t.wake()
	return next.clone(), nil
}

func (m *memoryTasks) List(_ context.Context, principal, after string, n int) ([]*TaskRecord, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := time.Now()
	var list []*TaskRecord
	for _, t := range m.tasks {
		if r := t.record; r.Principal == principal && r.ID > after && !r.expired(now) {
			list = append(list, r)
		}
	}
	slices.SortFunc(list, func(a, b *TaskRecord) int { return cmp.Compare(a.ID, b.ID) })
	if n >= 0 && len(list) > n {
		list = list[:n]
	}
	for i, r := range list {
		list[i] = r.clone()
	}
	return list, nil
}

func (m *memoryTasks) Wait(ctx context.Context, id string, revision int64) error {
	m.mu.Lock()
	t, err := m.find(id)
	if err != nil || t.record.Revision != revision {
		m.mu.Unlock()
		return nil // gone is changed, too
	}
	if t.changed == nil {
		t.changed = make(chan struct{})
	}
	changed := t.changed
	var end <-chan time.Time
	if ttl := t.record.TTL; ttl > 0 {
		timer := time.NewTimer(time.Until(t.record.Created.Add(ttl)) + time.Millisecond)
		defer timer.Stop()
		end = timer.C
	}
	m.mu.Unlock()
	select {
	case <-changed:
		return nil
	case <-end:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
