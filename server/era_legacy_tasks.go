package server

import (
	"context"
	"crypto/rand"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/rpc"
)

// legacyTasks are the tasks of the core of 2025-11-25: the client asks for one.
type legacyTasks struct{}

func (legacy) tasks() taskKind { return legacyTasks{} }

func (legacyTasks) allowed(*Call) error { return nil }

func (legacyTasks) atOnce() bool { return true }

func (legacyTasks) wants(c *Call, t *tool, p *mcp.CallToolParams) (bool, error) {
	if m, _ := mcp.MethodByName(mcp.MethodTasksResult); !m.In(c.Version) {
		return false, nil
	}
	switch support := t.taskSupport(); {
	case p.Task == nil && support == taskRequired:
		return false, rpc.Errorf(rpc.CodeMethodNotFound, "tool %s runs as a task only: send params.task", capped(t.def.Name))
	case p.Task != nil && support == "":
		return false, rpc.Errorf(rpc.CodeMethodNotFound, "tool %s does not run as a task: leave params.task out", capped(t.def.Name))
	}
	return p.Task != nil, nil
}

// legacyTask is a task as its client sees it.
func legacyTask(ts *tasks, t *TaskRecord) mcp.LegacyTask {
	poll := ts.opts.PollInterval.Milliseconds()
	return mcp.LegacyTask{
		TaskID: t.ID, Status: t.Status, StatusMessage: t.StatusMessage, CreatedAt: timestamp(t.Created), LastUpdatedAt: timestamp(t.Updated),
		TTL: milliseconds(t.TTL), PollInterval: &poll,
	}
}

// timestamp writes a time as RFC 3339 has it.
func timestamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z07:00") }

func milliseconds(d time.Duration) *int64 {
	if d <= 0 {
		return nil
	}
	ms := d.Milliseconds()
	return &ms
}

func (legacyTasks) created(ts *tasks, t *TaskRecord) any {
	return &mcp.LegacyCreateTaskResult{Task: legacyTask(ts, t)}
}

func (legacyTasks) state(ts *tasks, t *TaskRecord) any {
	return &mcp.LegacyGetTaskResult{LegacyTask: legacyTask(ts, t)}
}

func (k legacyTasks) cancelled(ts *tasks, t *TaskRecord, final bool) (any, error) {
	if final {
		return nil, mcp.InvalidParams("task %s has ended: it is %s", t.ID, t.Status)
	}
	return k.state(ts, t), nil
}

func (legacyTasks) canAsk(c *Call, qs []Question) error {
	for _, q := range qs {
		if err := mcp.NotInRevision(c.Version, q.need); err != nil {
			return err
		}
	}
	return checkCapabilities(c, qs)
}

// question says which task asks.
func (legacyTasks) question(task string, q Question) any {
	params := q.params
	if p, ok := params.(*mcp.ElicitParams); ok && p.Mode == mcp.ElicitURL && p.ElicitationID == "" {
		withID := *p
		withID.ElicitationID = rand.Text()
		params = &withID
	}
	p, ok := params.(mcp.AnyParams)
	if !ok {
		return params
	}
	raw, err := json.Marshal(p)
	if err != nil {
		return params // whoever encodes it next says why
	}
	var members map[string]jsontext.Value
	if json.Unmarshal(raw, &members) != nil {
		return params
	}
	meta := p.CommonParams().Meta.Clone()
	if err := meta.Set(mcp.MetaRelatedTask, &mcp.RelatedTask{TaskID: task}); err != nil {
		return params
	}
	if members["_meta"], err = json.Marshal(meta); err != nil {
		return params
	}
	return members
}

// holds reports whether the client can keep a question as a task.
func holds(c *Call, q Question) bool {
	m, _ := mcp.MethodByName(mcp.MethodTasksResult)
	can := c.Capabilities.Tasks
	return m.In(c.Version) && (q.method == mcp.MethodElicit && can.Elicits() || q.method == mcp.MethodCreateMessage && can.CreatesMessages())
}

// askHeld asks a question that the client may keep as a task, and waits for the
// answer.
func askHeld(ctx context.Context, c *Call, q Question, req *rpc.Request) (jsontext.Value, error) {
	var members map[string]jsontext.Value
	if err := json.Unmarshal(req.Params, &members); err != nil {
		return nil, err
	}
	ttl := q.hold.Milliseconds()
	task, err := json.Marshal(&mcp.TaskMetadata{TTL: &ttl})
	if err != nil {
		return nil, err
	}
	members["task"] = task
	if req.Params, err = json.Marshal(members, json.Deterministic(true)); err != nil {
		return nil, err
	}
	var raw jsontext.Value
	if err := c.peer.Call(ctx, req, &raw); err != nil {
		return nil, err
	}
	var made mcp.LegacyCreateTaskResult
	if json.Unmarshal(raw, &made) != nil || made.Task.TaskID == "" {
		return raw, nil // it was answered at once
	}
	answer, err := c.heldAnswer(ctx, &made.Task)
	if err != nil && ctx.Err() != nil {
		bye := context.WithoutCancel(ctx)
		if cancel, cerr := rpc.NewRequest(mcp.MethodTasksCancel, &mcp.TaskParams{TaskID: made.Task.TaskID}); cerr == nil {
			bye, stop := context.WithTimeout(bye, taskGoodbye)
			defer stop()
			_ = c.session.conn.Call(bye, cancel, nil) // the client may be gone
		}
	}
	return answer, err
}

// heldAnswer asks for a task of the client until it has ended.
func (c *Call) heldAnswer(ctx context.Context, t *mcp.LegacyTask) (jsontext.Value, error) {
	ask := func(method string, result any) error {
		req, err := rpc.NewRequest(method, &mcp.TaskParams{TaskID: t.TaskID})
		if err != nil {
			return err
		}
		return c.peer.Call(ctx, req, result)
	}
	for !t.Status.Final() {
		poll := defaultTaskPoll
		if t.PollInterval != nil {
			poll = min(max(time.Duration(*t.PollInterval)*time.Millisecond, minTaskPoll), maxTaskPoll)
		}
		timer := time.NewTimer(poll)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return nil, context.Cause(ctx)
		}
		now := new(mcp.LegacyGetTaskResult)
		if err := ask(mcp.MethodTasksGet, now); err != nil {
			return nil, err
		}
		t.Status, t.PollInterval = now.Status, now.PollInterval
	}
	var answer jsontext.Value
	err := ask(mcp.MethodTasksResult, &answer)
	return answer, err
}

// ended makes a failure of the tool one of the task.
func (legacyTasks) ended(res *mcp.CallToolResult) mcp.TaskStatus {
	if res.IsError {
		return mcp.TaskFailed
	}
	return mcp.TaskCompleted
}

// tell sends the session of the task a notification, which it must not rely on.
func (legacyTasks) tell(ts *tasks, c *Call, t *TaskRecord) {
	ss := c.session
	ss.mu.Lock()
	sub := ss.sub
	ss.mu.Unlock()
	if sub == nil {
		return
	}
	n, err := newNote(mcp.NotificationLegacyTaskStatus, &mcp.LegacyTaskStatusParams{LegacyTask: legacyTask(ts, t)})
	if err != nil {
		ss.log().Error("a change of a task cannot be encoded", "error", err)
		return
	}
	sub.log(n)
}

// legacyOutcome is the result of tasks/result for a task that has ended: what
// the tool returned.
func legacyOutcome(t *TaskRecord) (any, error) {
	switch {
	case t.Error != nil:
		return nil, t.Error
	case len(t.Result) == 0:
		return nil, rpc.Errorf(rpc.CodeInvalidRequest, "task %s has no result: it is %s", t.ID, t.Status)
	}
	res := new(mcp.CallToolResult)
	if err := json.Unmarshal(t.Result, res); err != nil {
		return nil, err
	}
	err := res.Meta.Set(mcp.MetaRelatedTask, &mcp.RelatedTask{TaskID: t.ID})
	return res, err
}
