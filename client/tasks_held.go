package client

import (
	"context"
	"crypto/rand"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/rpc"
)

// heldTasks are the questions of a server of 2025-11-25 that are tasks here:
// the server asks for the answer later. The zero value is ready.
type heldTasks struct {
	mu    sync.Mutex
	tasks map[string]*heldTask
}

// heldTask is one of them. Its fields change under heldTasks.mu.
type heldTask struct {
	mcp.LegacyTask
	created time.Time
	cancel  context.CancelFunc
	done    chan struct{} // closed at the end
	res     jsontext.Value
	err     *rpc.Error
}

func (t *heldTask) expired(now time.Time) bool {
	return t.TTL != nil && now.Sub(t.created) > time.Duration(*t.TTL)*time.Millisecond
}

// reply answers a request of the server, at once or by a task.
func (c *Client) reply(ctx context.Context, s *session, req *rpc.Request) (any, error) {
	if s != nil && c.opts.Tasks && s.era.tasks().holds(s) {
		switch req.Method {
		case mcp.MethodTasksGet, mcp.MethodTasksResult, mcp.MethodTasksList, mcp.MethodTasksCancel:
			return c.held.answer(ctx, req.Method, req.Params)
		case mcp.MethodElicit, mcp.MethodCreateMessage:
			if made, held, err := c.hold(s.rev.Version, req.Method, req.Params); held || err != nil {
				return made, err
			}
		}
	}
	res, err := c.answer(ctx, req.Method, req.Params)
	if err == nil {
		related(req.Params, res)
	}
	return res, err
}

// heldCapability says which questions may be tasks here.
func (c *Client) heldCapability() *mcp.ClientTasksCapability {
	caps := &mcp.ClientTasksCapability{List: &mcp.Support{}, Cancel: &mcp.Support{}, Requests: &mcp.ClientTaskRequests{}}
	if c.opts.Sample != nil {
		caps.Requests.Sampling = &mcp.SamplingTasks{CreateMessage: &mcp.Support{}}
	}
	if c.opts.Elicit != nil {
		caps.Requests.Elicitation = &mcp.ElicitationTasks{Create: &mcp.Support{}}
	}
	return caps
}

// hold makes a task of a question, if it asks for that and may.
func (c *Client) hold(v mcp.Version, method string, params jsontext.Value) (*mcp.LegacyCreateTaskResult, bool, error) {
	var p struct {
		Task *mcp.TaskMetadata `json:"task"`
	}
	if len(params) > 0 {
		_ = json.Unmarshal(params, &p) // who answers says what is wrong with them
	}
	if p.Task == nil {
		return nil, false, nil
	}
	ttl := heldTTL.Milliseconds()
	if p.Task.TTL != nil && *p.Task.TTL > 0 && *p.Task.TTL < ttl {
		ttl = *p.Task.TTL
	}
	now := time.Now()
	poll := defaultPoll.Milliseconds()
	t := &heldTask{created: now, done: make(chan struct{}), LegacyTask: mcp.LegacyTask{
		TaskID: rand.Text(), Status: mcp.TaskWorking, CreatedAt: timestamp(now), LastUpdatedAt: timestamp(now), TTL: &ttl, PollInterval: &poll,
	}}
	ctx, cancel := context.WithTimeout(c.ctx, time.Duration(ttl)*time.Millisecond)
	t.cancel = cancel
	if !c.held.add(t, c.opts.Limits.Tasks) {
		cancel()
		return nil, true, rpc.Errorf(rpc.CodeInternalError, "the client holds too many tasks: try again later")
	}
	made := &mcp.LegacyCreateTaskResult{Task: t.LegacyTask}
	params = params.Clone()
	if !c.spawn(func() {
		defer cancel()
		res, err := c.answer(ctx, method, params)
		c.held.end(t, v, res, err)
	}) {
		cancel()
		return nil, true, rpc.ErrClosed
	}
	return made, true, nil
}

func timestamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z07:00") }

// add keeps a task, unless there are too many.
func (h *heldTasks) add(t *heldTask, limit int) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	now := time.Now()
	maps.DeleteFunc(h.tasks, func(_ string, old *heldTask) bool { return old.expired(now) })
	if over(len(h.tasks)+1, limit) {
		return false
	}
	if h.tasks == nil {
		h.tasks = map[string]*heldTask{}
	}
	h.tasks[t.TaskID] = t
	return true
}

// end writes down what came of a task.
func (h *heldTasks) end(t *heldTask, v mcp.Version, res any, err error) {
	var raw jsontext.Value
	if err == nil {
		if r, ok := res.(mcp.AnyResult); ok {
			common := r.CommonResult()
			common.Meta = common.Meta.Clone()
			err = common.Meta.Set(mcp.MetaRelatedTask, &mcp.RelatedTask{TaskID: t.TaskID})
		}
	}
	if err == nil {
		raw, err = json.Marshal(mcp.Downgrade(v, res))
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if t.Status.Final() {
		return
	}
	t.Status, t.res = mcp.TaskCompleted, raw
	if err != nil {
		e := rpc.AsError(err)
		t.Status, t.StatusMessage, t.err = mcp.TaskFailed, e.Message, e
	}
	h.finish(t)
}

// finish must be called with h.mu held.
func (h *heldTasks) finish(t *heldTask) {
	t.LastUpdatedAt = timestamp(time.Now())
	close(t.done)
}

func (h *heldTasks) find(id string) (*heldTask, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	t := h.tasks[id]
	if t == nil || t.expired(time.Now()) {
		return nil, mcp.InvalidParams("there is no task %s: it may have expired", excerpt(id, 64))
	}
	return t, nil
}

// answer answers what a server asks about its tasks.
func (h *heldTasks) answer(ctx context.Context, method string, params jsontext.Value) (any, error) {
	if method == mcp.MethodTasksList {
		return h.list(), nil
	}
	var p mcp.TaskParams
	if err := json.Unmarshal(params, &p); err != nil {
		return nil, rpc.Errorf(rpc.CodeInvalidParams, "%s: params cannot be read", method)
	}
	t, err := h.find(p.TaskID)
	if err != nil {
		return nil, err
	}
	switch method {
	case mcp.MethodTasksResult:
		return h.result(ctx, t)
	case mcp.MethodTasksCancel:
		return h.cancelled(t)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return &mcp.LegacyGetTaskResult{LegacyTask: t.LegacyTask}, nil
}

func (h *heldTasks) list() *mcp.ListTasksResult {
	h.mu.Lock()
	defer h.mu.Unlock()
	res := &mcp.ListTasksResult{Tasks: []mcp.LegacyTask{}}
	now := time.Now()
	for _, id := range slices.Sorted(maps.Keys(h.tasks)) {
		if t := h.tasks[id]; !t.expired(now) {
			res.Tasks = append(res.Tasks, t.LegacyTask)
		}
	}
	return res
}

func (h *heldTasks) result(ctx context.Context, t *heldTask) (any, error) {
	select {
	case <-t.done:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case t.err != nil:
		return nil, t.err
	case t.res == nil:
		return nil, rpc.Errorf(rpc.CodeInvalidRequest, "task %s has no result: it is %s", t.TaskID, t.Status)
	}
	return t.res, nil
}

func (h *heldTasks) cancelled(t *heldTask) (any, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if t.Status.Final() {
		return nil, mcp.InvalidParams("task %s has ended: it is %s", t.TaskID, t.Status)
	}
	t.Status, t.StatusMessage = mcp.TaskCancelled, "the server cancelled it"
	h.finish(t)
	t.cancel()
	return &mcp.LegacyGetTaskResult{LegacyTask: t.LegacyTask}, nil
}

// related makes an answer say which task of the server it is about, as the
// question did (2025-11-25, tasks, related messages).
func related(params jsontext.Value, res any) {
	r, ok := res.(mcp.AnyResult)
	if !ok || len(params) == 0 {
		return
	}
	var p mcp.Params
	if json.Unmarshal(params, &p) != nil || p.Meta[mcp.MetaRelatedTask] == nil {
		return
	}
	common := r.CommonResult()
	common.Meta = common.Meta.Clone()
	if common.Meta == nil {
		common.Meta = mcp.Meta{}
	}
	common.Meta[mcp.MetaRelatedTask] = p.Meta[mcp.MetaRelatedTask].Clone()
}
