package server

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/rpc"
)

// TaskOptions let tools run as tasks: in the core of 2025-11-25, where the
// client asks for it, and in the extension io.modelcontextprotocol/tasks
// (SEP-2663), where the server decides. A tool takes part whose definition has
// Execution.TaskSupport "optional" or "required"; its handler is the same.
type TaskOptions struct {
	// Store keeps the tasks. Nil = in the memory of this process.
	Store TaskStore
	// After is how long a tool may run before the server makes a task of its
	// call; a tool that is quicker, or asks the client meanwhile, answers as
	// ever. 0 = 100 ms, negative = no time at all. Where the client asks for a
	// task it gets one at once.
	After time.Duration
	// TTL is how long a task is kept after it was created, running or not. 0 =
	// one hour, negative = for ever. A client may ask for another time, up to
	// MaxTTL; 0 = one day, negative = no limit.
	TTL, MaxTTL time.Duration
	// PollInterval is how often clients are told to ask. 0 = one second.
	PollInterval time.Duration
}

// tasks are what a server with TaskOptions has.
type tasks struct {
	server  *Server
	store   TaskStore
	opts    TaskOptions
	running gate

	telling sync.Mutex // so that what is told last is what is so

	mu     sync.Mutex
	runs   map[string]*taskRun // those of this process
	asking map[string]*asker   // of questions, by task and key
}

// An asker is a tasks/result that asks a question of a task.
type asker struct{ cancel context.CancelCauseFunc }

func newTasks(s *Server) *tasks {
	o := *s.opts.Tasks
	for _, d := range []struct {
		field *time.Duration
		value time.Duration
	}{{&o.After, defaultTaskAfter}, {&o.TTL, defaultTaskTTL}, {&o.MaxTTL, defaultTaskMaxTTL}, {&o.PollInterval, defaultTaskPoll}} {
		if *d.field == 0 {
			*d.field = d.value
		}
	}
	if o.PollInterval < 0 {
		panic("server: TaskOptions.PollInterval must not be negative") //nolint:forbidigo // a mistake of the program
	}
	if o.Store == nil {
		o.Store = newMemoryTasks(s.opts.Limits)
	}
	return &tasks{server: s, store: o.Store, opts: o, runs: map[string]*taskRun{}, asking: map[string]*asker{}}
}

// declare says in the capabilities of a server that it has tasks.
func (ts *tasks) declare(c *mcp.ServerCapabilities) {
	c.Tasks = &mcp.ServerTasksCapability{
		Cancel:   &mcp.Support{},
		Requests: &mcp.ServerTaskRequests{Tools: &mcp.ToolTasks{Call: &mcp.Support{}}},
	}
	// A list would show everybody's tasks where nobody is told apart.
	if ts.server.opts.Principal != nil {
		c.Tasks.List = &mcp.Support{}
	}
	c.Extensions = maps.Clone(c.Extensions)
	if c.Extensions == nil {
		c.Extensions = map[string]jsontext.Value{}
	}
	c.Extensions[mcp.ExtensionTasks] = jsontext.Value("{}")
}

// taskKind is one of the two forms that tasks have: that of the core of
// 2025-11-25, and the extension.
type taskKind interface {
	// allowed says whether the client may use tasks at all.
	allowed(c *Call) error
	// wants says whether a call of the tool is to be a task.
	wants(c *Call, t *tool, p *mcp.CallToolParams) (bool, error)
	// atOnce says whether the client waits for the task and not for a result.
	atOnce() bool
	// created is the result of the request that became a task.
	created(ts *tasks, t *TaskRecord) any
	// state is the result of tasks/get.
	state(ts *tasks, t *TaskRecord) any
	// cancelled is the result of tasks/cancel. final: it had ended before.
	cancelled(ts *tasks, t *TaskRecord, final bool) (any, error)
	// canAsk says whether the client can be asked, and question what it is
	// asked for a task.
	canAsk(c *Call, qs []Question) error
	question(task string, q Question) any
	// ended completes a result and says what it is for the task.
	ended(res *mcp.CallToolResult) mcp.TaskStatus
	// tell tells who asked for the task that it changed.
	tell(ts *tasks, c *Call, t *TaskRecord)
}

// call answers tools/call for a tool that may become a task.
func (ts *tasks) call(ctx context.Context, c *Call, t *tool, p *mcp.CallToolParams) (any, error) {
	kind := c.era.tasks()
	if !ts.running.enter() {
		return nil, errStopping
	}
	r, run, err := ts.newRun(ctx, c, kind)
	if err != nil {
		ts.running.leave()
		return nil, err
	}
	r.ttl = ts.ttl(p.Task)
	answer := func(ctx context.Context, own *Call) (any, error) {
		p, _ := own.Params.(*mcp.CallToolParams)
		if err := ts.server.normalize(p); err != nil {
			return nil, err
		}
		return own.runTool(ctx, t, p)
	}
	if kind.atOnce() || ts.opts.After < 0 {
		rec, err := r.become(ctx)
		if err == nil && rec == nil {
			err = errStopping
		}
		if err != nil {
			ts.running.leave()
			return nil, taskError(err)
		}
		r.start(run, answer)
		return r.created(ctx, rec)
	}
	r.start(run, answer)
	return r.callOrTask(ctx)
}

// created answers the request with the task, unless nobody waits for the
// answer: nobody else would ever know of the task.
func (r *taskRun) created(ctx context.Context, rec *TaskRecord) (any, error) {
	if ctx.Err() != nil {
		r.cancel(context.Cause(ctx))
		return nil, context.Cause(ctx)
	}
	return r.kind.created(r.tasks, rec), nil
}

// callOrTask answers with what the tool returns, if that is soon, and else with
// a task.
func (r *taskRun) callOrTask(ctx context.Context) (any, error) {
	stop := context.AfterFunc(ctx, func() {
		if r.task() == "" {
			r.cancel(context.Cause(ctx))
		}
	})
	defer stop()
	timer := time.NewTimer(r.tasks.opts.After)
	defer timer.Stop()
	select {
	case <-r.done:
		return r.inline()
	case <-ctx.Done():
		return r.inline()
	case <-r.wanted:
	case <-timer.C:
	}
	rec, err := r.become(ctx)
	switch {
	case err != nil:
		return nil, taskError(err)
	case rec == nil:
		return r.inline()
	}
	return r.created(ctx, rec)
}

// ttl is how long a task is kept.
func (ts *tasks) ttl(wanted *mcp.TaskMetadata) time.Duration {
	ttl := ts.opts.TTL
	if wanted != nil && wanted.TTL != nil && *wanted.TTL > 0 {
		ttl = time.Duration(min(*wanted.TTL, int64(maxTaskTTL/time.Millisecond))) * time.Millisecond
	}
	if ts.opts.MaxTTL > 0 && (ttl <= 0 || ttl > ts.opts.MaxTTL) {
		ttl = ts.opts.MaxTTL
	}
	return max(ttl, 0)
}

// taskError is what a client is told of an error of the store.
func taskError(err error) error {
	if errors.Is(err, ErrTooManyTasks) {
		return rpc.Errorf(rpc.CodeInternalError, "the server has too many tasks: try again later: %w", err)
	}
	return err
}

func (ts *tasks) principal(ctx context.Context, c *Call) string {
	if f := ts.server.opts.Principal; f != nil {
		return f(ctx, c.req)
	}
	return ""
}

// track and untrack keep the runs of this process for tasks/cancel and Shutdown,
// after which there are no more of them.
func (ts *tasks) track(id string, r *taskRun) bool {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	if ts.running.shut.Load() {
		return false
	}
	ts.runs[id] = r
	return true
}

func (ts *tasks) untrack(id string) {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	delete(ts.runs, id)
}

func (ts *tasks) runOf(id string) *taskRun {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	return ts.runs[id]
}

// stop ends all handlers and waits for them.
func (ts *tasks) stop(ctx context.Context) error {
	ts.running.close()
	ts.mu.Lock()
	for _, r := range ts.runs {
		r.cancel(errStopping)
	}
	ts.mu.Unlock()
	return ts.running.wait(ctx)
}

// change edits a task that has not ended, and tells who wants to know.
func (ts *tasks) change(ctx context.Context, id string, edit func(t *TaskRecord) error) (*TaskRecord, error) {
	rec, err := ts.store.Update(ctx, id, func(t *TaskRecord) error {
		if t.Status.Final() {
			return errTaskOver
		}
		if err := edit(t); err != nil {
			return err
		}
		t.Updated = time.Now()
		return nil
	})
	if err == nil {
		ts.tell(ctx, id)
	}
	return rec, err
}

// taskTopic is what the hub knows the changes of a task by: no URI has a space.
func taskTopic(id string) string { return "task " + id }

// tell tells who listens how a task is.
func (ts *tasks) tell(ctx context.Context, id string) {
	topic := taskTopic(id)
	r, watched := ts.runOf(id), ts.server.hub.watched(topic)
	if r == nil && !watched {
		return
	}
	ts.telling.Lock()
	defer ts.telling.Unlock()
	t, err := ts.store.Get(ctx, id)
	if err != nil {
		return // it is gone, or will be asked for
	}
	if r != nil {
		r.kind.tell(ts, r.call, t)
	}
	if !watched {
		return
	}
	n, err := newNote(mcp.NotificationTasks, &mcp.TaskStatusParams{Task: modernTask(ts, t), TaskOutcome: taskOutcome(t)})
	if err != nil {
		ts.server.logger().Error("a change of a task cannot be encoded", "error", err)
		return
	}
	n.uri = topic
	ts.server.hub.updated(n)
}

// listened returns those of some tasks that a client may hear of.
func (ts *tasks) listened(ctx context.Context, c *Call, ids []string) ([]string, error) {
	if len(ids) == 0 || ts == nil {
		return nil, nil
	}
	var found []string
	for _, id := range slices.Compact(slices.Sorted(slices.Values(ids))) {
		_, err := ts.find(ctx, c, id)
		switch {
		case err == nil:
			found = append(found, id)
		case !errors.Is(err, mcp.ErrInvalidParams):
			return nil, err
		}
	}
	return found, nil
}

// find returns the task of a request.
func (ts *tasks) find(ctx context.Context, c *Call, id string) (*TaskRecord, error) {
	if err := c.era.tasks().allowed(c); err != nil {
		return nil, err
	}
	if id == "" {
		return nil, mcp.InvalidParams("params.taskId is required")
	}
	if len(id) > maxTaskIDBytes {
		return nil, noTask(id)
	}
	rec, err := ts.store.Get(ctx, id)
	if errors.Is(err, ErrNoTask) || err == nil && rec.Principal != ts.principal(ctx, c) {
		return nil, noTask(id)
	}
	return rec, err
}

func noTask(id string) error {
	return mcp.InvalidParams("there is no task %s: it may have expired", capped(id))
}

func getTask(ctx context.Context, c *Call, p *mcp.TaskParams) (any, error) {
	ts := c.session.server.tasks
	rec, err := ts.find(ctx, c, p.TaskID)
	if err != nil {
		return nil, err
	}
	return c.era.tasks().state(ts, rec), nil
}

// cancelTask ends a task for its client at once; its handler ends when it looks
// at its context.
func cancelTask(ctx context.Context, c *Call, p *mcp.TaskParams) (any, error) {
	ts := c.session.server.tasks
	rec, err := ts.find(ctx, c, p.TaskID)
	if err != nil {
		return nil, err
	}
	kind := c.era.tasks()
	now, err := ts.change(ctx, rec.ID, func(t *TaskRecord) error {
		t.Status, t.StatusMessage = mcp.TaskCancelled, "the client cancelled it"
		t.Questions, t.Answers, t.Refusals = nil, nil, nil
		return nil
	})
	switch {
	case errors.Is(err, errTaskOver):
		return kind.cancelled(ts, rec, true)
	case errors.Is(err, ErrNoTask):
		return nil, noTask(rec.ID)
	case err != nil:
		return nil, err
	}
	if r := ts.runOf(rec.ID); r != nil {
		r.cancel(ErrCancelled)
	}
	return kind.cancelled(ts, now, false)
}

// answer takes answers to open questions. Others are ignored.
func (ts *tasks) answer(ctx context.Context, id string, answers map[string]jsontext.Value, refusals map[string]*rpc.Error) error {
	_, err := ts.change(ctx, id, func(t *TaskRecord) error {
		if t.Answers == nil {
			t.Answers = map[string]jsontext.Value{}
		}
		if t.Refusals == nil {
			t.Refusals = map[string]*rpc.Error{}
		}
		for key := range t.Questions {
			if a, ok := answers[key]; ok {
				t.Answers[key] = a.Clone()
			} else if e := refusals[key]; e != nil {
				t.Refusals[key] = e
			} else {
				continue
			}
			delete(t.Questions, key)
		}
		if len(t.Questions) == 0 {
			t.Status = mcp.TaskWorking
		}
		return nil
	})
	if errors.Is(err, errTaskOver) { // the answer came too late
		return nil
	}
	return err
}

// updateTask is the handler of tasks/update.
func updateTask(ctx context.Context, c *Call, p *mcp.UpdateTaskParams) (any, error) {
	ts := c.session.server.tasks
	rec, err := ts.find(ctx, c, p.TaskID)
	if err != nil {
		return nil, err
	}
	if err := ts.answer(ctx, rec.ID, p.InputResponses, nil); err != nil {
		return nil, err
	}
	return &mcp.UpdateTaskResult{}, nil
}

// listTasks is the handler of tasks/list.
func listTasks(ctx context.Context, c *Call, p *mcp.ListTasksParams) (any, error) {
	ts := c.session.server.tasks
	after := ""
	if p.Cursor != nil {
		var ok bool
		if after, ok = decodeCursor("tasks", *p.Cursor); !ok {
			return nil, rpc.Errorf(rpc.CodeInvalidParams, "invalid cursor: list again from the start, without a cursor")
		}
	}
	size := ts.server.opts.PageSize
	ask := size
	if size >= 0 {
		ask = size + 1
	}
	list, err := ts.store.List(ctx, ts.principal(ctx, c), after, ask)
	if err != nil {
		return nil, err
	}
	res := &mcp.ListTasksResult{Tasks: []mcp.LegacyTask{}}
	if size >= 0 && len(list) > size {
		list = list[:size]
		next := encodeCursor("tasks", list[size-1].ID)
		res.NextCursor = &next
	}
	for _, rec := range list {
		res.Tasks = append(res.Tasks, legacyTask(ts, rec))
	}
	return res, nil
}

// taskResult is the handler of tasks/result: it waits for the end of the task,
// and asks the client meanwhile what the task wants to know.
func taskResult(ctx context.Context, c *Call, p *mcp.TaskParams) (any, error) {
	ts := c.session.server.tasks
	asked := map[string]bool{}
	for {
		rec, err := ts.find(ctx, c, p.TaskID)
		if err != nil {
			return nil, err
		}
		if rec.Status.Final() {
			return legacyOutcome(rec)
		}
		if again, err := ts.askOpen(ctx, c, rec, asked); err != nil {
			return nil, err
		} else if again {
			continue
		}
		if err := ts.store.Wait(ctx, rec.ID, rec.Revision); err != nil {
			return nil, err
		}
	}
}

// askOpen asks the questions of a task that this tasks/result has not asked. It
// takes them over from an earlier one, whose client may have lost its connection.
func (ts *tasks) askOpen(ctx context.Context, c *Call, rec *TaskRecord, asked map[string]bool) (again bool, err error) {
	for _, key := range slices.Sorted(maps.Keys(rec.Questions)) {
		if asked[key] {
			continue
		}
		asked[key], again = true, true
		if err := ts.askOne(ctx, c, rec, key); err != nil {
			return false, err
		}
	}
	return again, nil
}

// errTakenOver is why a question is withdrawn that another request asks now.
var errTakenOver = errors.New("server: a later tasks/result asks this")

// takeOver makes a request the one that asks a question.
func (ts *tasks) takeOver(ctx context.Context, question string) (asking context.Context, done func()) {
	asking, cancel := context.WithCancelCause(ctx)
	a := &asker{cancel}
	ts.mu.Lock()
	defer ts.mu.Unlock()
	if before := ts.asking[question]; before != nil {
		before.cancel(errTakenOver)
	}
	ts.asking[question] = a
	return asking, func() {
		cancel(nil)
		ts.mu.Lock()
		defer ts.mu.Unlock()
		if ts.asking[question] == a {
			delete(ts.asking, question)
		}
	}
}

// askOne sends one question on the stream of the request.
func (ts *tasks) askOne(ctx context.Context, c *Call, rec *TaskRecord, key string) error {
	asking, done := ts.takeOver(ctx, rec.ID+" "+key)
	defer done()
	q := rec.Questions[key]
	req := &rpc.Request{Method: q.Method, Params: q.Params}
	var answer jsontext.Value
	err := c.peer.Call(asking, req, &answer)
	if e, refused := errors.AsType[*rpc.Error](err); refused {
		e = &rpc.Error{Code: e.Code, Message: e.Message, Data: e.Data}
		return ts.answer(ctx, rec.ID, nil, map[string]*rpc.Error{key: e})
	}
	if err != nil {
		if asking.Err() != nil && !req.ID.IsZero() {
			c.withdraw(ctx, req.ID)
		}
		if ctx.Err() == nil && errors.Is(context.Cause(asking), errTakenOver) {
			return nil
		}
		return err
	}
	return ts.answer(ctx, rec.ID, map[string]jsontext.Value{key: answer}, nil)
}

// Detach makes the call a task from here on, where it can be one: the client is
// answered with the task, and the handler goes on. It reports whether the call
// is a task. What was asked before belongs to the call, and what is asked
// afterwards to the task.
//
// Without it a call becomes a task when it has taken [TaskOptions.After].
func (c *Call) Detach(ctx context.Context) (bool, error) {
	if c.task == nil {
		return false, nil
	}
	r := c.task
	r.want.Do(func() { close(r.wanted) })
	select {
	case <-r.settled:
	case <-ctx.Done():
		return false, context.Cause(ctx)
	}
	return r.task() != "", nil
}
