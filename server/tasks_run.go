package server

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/rpc"
)

// taskRun is a tool that runs, or may come to run, as a task. It begins as an
// ordinary call: what it asks and tells goes to the client by the request. When
// it has become a task, the request is answered with the task, and the handler
// goes on by itself.
//
// Its goroutine belongs to tasks.running, for which Shutdown waits.
type taskRun struct {
	tasks  *tasks
	origin *Call // the request
	call   *Call // what the handler sees
	kind   taskKind
	ttl    time.Duration
	cancel context.CancelCauseFunc

	done    chan struct{} // the handler has returned, and res and err are set
	wanted  chan struct{} // closed when the handler wants to be a task
	settled chan struct{} // closed when it is one, or will never be
	want    sync.Once
	settle  sync.Once

	isTask atomic.Bool
	expiry *time.Timer // ends the handler with its task; nil = never

	mu       sync.Mutex
	id       string // of the task; "" = still a call
	asked    bool   // it has asked by the request, and so is about to return
	returned bool
	res      any
	err      error
}

// errTaskOver is why a handler ends whose task has.
var errTaskOver = fmt.Errorf("server: the task is over: %w", context.Canceled)

// newRun returns a run for a call. Nothing of it refers to the memory of the
// request, which belongs to the transport.
func (ts *tasks) newRun(ctx context.Context, c *Call, kind taskKind) (*taskRun, context.Context, error) {
	r := &taskRun{
		tasks: ts, origin: c, kind: kind,
		done: make(chan struct{}), wanted: make(chan struct{}), settled: make(chan struct{}),
	}
	req := &rpc.Request{ID: c.req.ID, Method: c.req.Method, Params: c.req.Params.Clone(), Header: c.req.Header.Clone()}
	own := &Call{
		Method: c.Method, Version: c.Version, Client: c.Client, Capabilities: c.Capabilities, Header: req.Header,
		session: c.session, req: req, meta: new(mcp.RequestMeta), task: r,
	}
	p := new(mcp.CallToolParams)
	if err := mcp.DecodeParams(req, p, own.meta); err != nil {
		return nil, nil, err
	}
	own.Params, own.Meta = p, p.Meta
	own.era, own.peer = runEra{c.era, r}, runPeer{r}
	c.mu.Lock()
	if c.input != nil {
		in := *c.input
		own.input = &in
	}
	c.mu.Unlock()
	r.call = own
	var run context.Context
	run, r.cancel = context.WithCancelCause(context.WithoutCancel(ctx))
	own.ctx = callContext{run, own}
	return r, &own.ctx, nil
}

// start runs the tool. The caller has entered tasks.running.
func (r *taskRun) start(ctx context.Context, run func(ctx context.Context, c *Call) (any, error)) {
	go func() {
		defer r.tasks.running.leave()
		defer r.cancel(errTaskOver)
		res, err := r.contained(ctx, run)
		r.mu.Lock()
		r.res, r.err, r.returned = res, err, true
		id := r.id
		r.mu.Unlock()
		close(r.done)
		if id != "" {
			r.tasks.finished(ctx, r, id)
		}
	}()
}

func (r *taskRun) contained(ctx context.Context, run func(context.Context, *Call) (any, error)) (res any, err error) {
	defer r.call.session.contain(ctx, r.call.Method.Name, &err)
	return run(ctx, r.call)
}

// inline waits for the handler and returns what it did as that of the request.
func (r *taskRun) inline() (any, error) {
	<-r.done
	r.settle.Do(func() { close(r.settled) })
	if errors.Is(r.err, ErrInputRequired) {
		r.call.mu.Lock()
		r.origin.mu.Lock()
		r.origin.input = r.call.input
		r.origin.mu.Unlock()
		r.call.mu.Unlock()
	}
	return r.res, r.err
}

// become makes a task of the run, unless it is about to return, or the server is
// shutting down: then there is no record.
func (r *taskRun) become(ctx context.Context) (*TaskRecord, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	defer r.settle.Do(func() { close(r.settled) })
	if r.returned || r.asked {
		return nil, nil
	}
	now, id := time.Now(), rand.Text()
	if !r.tasks.track(id, r) {
		return nil, nil
	}
	rec := &TaskRecord{
		ID: id, Principal: r.tasks.principal(ctx, r.origin), Status: mcp.TaskWorking,
		Created: now, Updated: now, TTL: r.ttl,
	}
	if err := r.tasks.store.Create(ctx, rec); err != nil {
		r.tasks.untrack(id)
		r.cancel(err)
		return nil, err
	}
	r.id = id
	r.isTask.Store(true)
	if r.ttl > 0 {
		r.expiry = time.AfterFunc(r.ttl, func() { r.cancel(errTaskOver) })
	}
	return rec, nil
}

// task returns the ID, once the run is a task.
func (r *taskRun) task() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.id
}

// runPeer is what a run sends to: the request while that is open. A task says
// nothing by itself (SEP-2663: no progress, no log messages).
type runPeer struct{ r *taskRun }

func (p runPeer) Notify(ctx context.Context, req *rpc.Request) error {
	if p.r.isTask.Load() {
		return nil
	}
	c := p.r.origin
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.over {
		return nil // it is becoming a task at this moment
	}
	return c.peer.Notify(ctx, req)
}

func (p runPeer) Call(ctx context.Context, req *rpc.Request, result any) error {
	return p.r.origin.peer.Call(ctx, req, result)
}

// runEra is the era of the request, in which questions of a task go the way of
// the task.
type runEra struct {
	era
	r *taskRun
}

func (e runEra) ask(ctx context.Context, c *Call, qs []Question) error {
	e.r.mu.Lock()
	id := e.r.id
	if id == "" {
		err := e.era.ask(ctx, c, qs)
		e.r.asked = errors.Is(err, ErrInputRequired)
		e.r.mu.Unlock()
		return err
	}
	e.r.mu.Unlock()
	return e.r.tasks.ask(ctx, e.r, id, qs)
}

// ask puts questions into a task and waits for the answers.
func (ts *tasks) ask(ctx context.Context, r *taskRun, id string, qs []Question) error {
	c := r.call
	var open []Question
	for _, q := range qs {
		answer, ok := c.answer(q.Key) // it came before the call became a task
		if !ok {
			open = append(open, q)
			continue
		}
		if err := q.accept(c, answer); err != nil {
			return &AskError{Key: q.Key, Method: q.method, Err: err}
		}
	}
	if len(open) == 0 {
		return nil
	}
	if err := r.kind.canAsk(c, open); err != nil {
		return err
	}
	questions := mcp.InputRequests{}
	for _, q := range open {
		params, err := json.Marshal(mcp.Downgrade(c.Version, r.kind.question(id, q)))
		if err != nil {
			return fmt.Errorf("server: encode question %q: %w", q.Key, err)
		}
		questions[q.Key] = mcp.InputRequest{Method: q.method, Params: params}
	}
	rec, err := ts.change(ctx, id, func(t *TaskRecord) error {
		if limit := ts.server.opts.Limits.Questions; over(len(t.Questions)+len(questions), limit) {
			return fmt.Errorf("server: more open questions than Limits.Questions (%d)", limit)
		}
		if t.Questions == nil {
			t.Questions = mcp.InputRequests{}
		}
		maps.Copy(t.Questions, questions)
		t.Status = mcp.TaskInputRequired
		return nil
	})
	for err == nil {
		if answered(rec, open) {
			return ts.take(ctx, r, id, rec, open)
		}
		if err = ts.store.Wait(ctx, id, rec.Revision); err == nil {
			if rec, err = ts.store.Get(ctx, id); err == nil && rec.Status.Final() {
				err = errTaskOver
			}
		}
	}
	return err
}

func answered(t *TaskRecord, qs []Question) bool {
	for _, q := range qs {
		if _, open := t.Questions[q.Key]; open {
			return false
		}
	}
	return true
}

// take hands the answers to the questions.
func (ts *tasks) take(ctx context.Context, r *taskRun, id string, t *TaskRecord, qs []Question) error {
	_, err := ts.store.Update(ctx, id, func(t *TaskRecord) error {
		for _, q := range qs {
			delete(t.Answers, q.Key)
			delete(t.Refusals, q.Key)
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, q := range qs {
		if refusal := t.Refusals[q.Key]; refusal != nil {
			return &AskError{Key: q.Key, Method: q.method, Err: refusal}
		}
		if err := q.accept(r.call, t.Answers[q.Key]); err != nil {
			return &AskError{Key: q.Key, Method: q.method, Err: err}
		}
	}
	return nil
}

// finished writes down how a task ended.
func (ts *tasks) finished(ctx context.Context, r *taskRun, id string) {
	defer ts.untrack(id)
	if r.expiry != nil {
		r.expiry.Stop()
	}
	ctx = context.WithoutCancel(ctx)
	_, err := ts.change(ctx, id, func(t *TaskRecord) error {
		t.Questions, t.Answers, t.Refusals = nil, nil, nil
		t.Status, t.StatusMessage, t.Result, t.Error = r.outcome(ts.server.opts.Limits.TaskResultBytes)
		return nil
	})
	if err != nil && !errors.Is(err, ErrNoTask) && !errors.Is(err, errTaskOver) {
		r.call.session.log().Error("the end of a task could not be stored", "error", err)
	}
}

// outcome is what came of the handler, as the task tells it.
func (r *taskRun) outcome(limit int) (mcp.TaskStatus, string, jsontext.Value, *rpc.Error) {
	if r.err != nil {
		e := rpc.AsError(r.err)
		if _, wire := errors.AsType[*rpc.Error](r.err); !wire {
			r.call.report(context.Background(), r.err)
		}
		return mcp.TaskFailed, e.Message, nil, &rpc.Error{Code: e.Code, Message: e.Message, Data: e.Data}
	}
	res, _ := r.res.(*mcp.CallToolResult)
	if res.ResultType == mcp.ResultInputRequired {
		e := rpc.Errorf(rpc.CodeInternalError, "the tool asks by its result, which a task cannot do")
		return mcp.TaskFailed, e.Message, nil, e
	}
	out := *res
	status := r.kind.ended(&out)
	raw, err := json.Marshal(mcp.Downgrade(r.call.Version, &out))
	switch {
	case err != nil:
		r.call.session.log().Error("the result of a task cannot be encoded", "error", err)
		e := rpc.Errorf(rpc.CodeInternalError, "internal error")
		return mcp.TaskFailed, e.Message, nil, e
	case over(len(raw), limit):
		e := rpc.Errorf(rpc.CodeInternalError, "the result has %d bytes: a task may keep %d", len(raw), limit)
		return mcp.TaskFailed, e.Message, nil, e
	}
	message := ""
	if status == mcp.TaskFailed {
		message = "the tool failed"
	}
	return status, message, raw, nil
}
