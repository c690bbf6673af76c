package client

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/rpc"
)

// ErrTaskCancelled is returned by [Task.Wait] for a task that was cancelled.
var ErrTaskCancelled = errors.New("client: the task was cancelled")

// A Task is a call of a tool that goes on by itself: in the core of 2025-11-25,
// or in the extension io.modelcontextprotocol/tasks (SEP-2663). Its methods may
// be called from several goroutines at once.
type Task struct {
	c    *Client
	id   string
	tool string              // "" where it is not known
	res  *mcp.CallToolResult // the server answered at once
	poll time.Duration       // what it said when the task was made
}

// StartTool calls a tool so that it can go on as a task. Where the server
// answers at once, as a modern one may, the task has ended and has no ID. It
// needs [Options.Tasks], and a server with tasks: else the error matches
// [errors.ErrUnsupported]. How long the task is to be kept is in p.Task, which
// may be nil, for a server of 2025-11-25.
func (c *Client) StartTool(ctx context.Context, p *mcp.CallToolParams, opts ...CallOption) (*Task, error) {
	if !c.opts.Tasks {
		return nil, fmt.Errorf("client: set Options.Tasks to start tasks: %w", errors.ErrUnsupported)
	}
	if p == nil {
		return nil, errors.New("client: StartTool: params are nil")
	}
	return c.session.Load().era.tasks().start(ctx, c, p, opts)
}

// Task returns the task of an ID that was kept, as of an earlier process.
func (c *Client) Task(id string) *Task { return &Task{c: c, id: id} }

// Tasks iterates over the tasks of this client that a server of 2025-11-25 has
// and lists. Others cannot: the error matches [errors.ErrUnsupported].
func (c *Client) Tasks(ctx context.Context, opts ...CallOption) iter.Seq2[*mcp.Task, error] {
	return pages(c, mcp.MethodTasksList, func(cursor *string) ([]mcp.Task, *string, error) {
		res := new(mcp.ListTasksResult)
		if err := c.do(ctx, mcp.MethodTasksList, &mcp.ListTasksParams{Cursor: cursor}, res, opts); err != nil {
			return nil, nil, err
		}
		list := make([]mcp.Task, len(res.Tasks))
		for i, t := range res.Tasks {
			list[i] = modernised(t)
		}
		return list, res.NextCursor, nil
	})
}

// modernised is a task of 2025-11-25 in the form of the extension.
func modernised(t mcp.LegacyTask) mcp.Task {
	return mcp.Task{
		TaskID: t.TaskID, Status: t.Status, StatusMessage: t.StatusMessage, CreatedAt: t.CreatedAt, LastUpdatedAt: t.LastUpdatedAt,
		TTLMs: t.TTL, PollIntervalMs: t.PollInterval,
	}
}

// ID names the task at its server: whoever has it can ask for the task. It is ""
// where the server answered at once.
func (t *Task) ID() string { return t.id }

// Get asks how far the task is. Of a server of 2025-11-25 the result has neither
// outcome nor questions: Wait gets these.
func (t *Task) Get(ctx context.Context, opts ...CallOption) (*mcp.GetTaskResult, error) {
	if t.id == "" {
		raw, err := json.Marshal(t.res)
		if err != nil {
			return nil, err
		}
		res := &mcp.GetTaskResult{Task: mcp.Task{Status: mcp.TaskCompleted}}
		res.Outcome = raw
		return res, nil
	}
	return t.c.session.Load().era.tasks().get(ctx, t.c, t.id, opts)
}

// Cancel ends the task. Its tool may go on for a while. A task that has ended
// stays as it is, which a server of 2025-11-25 tells by an error.
func (t *Task) Cancel(ctx context.Context, opts ...CallOption) error {
	if t.id == "" {
		return nil
	}
	return t.c.do(ctx, mcp.MethodTasksCancel, &mcp.TaskParams{TaskID: t.id}, nil, opts)
}

// Wait waits for the end of the task, answers meanwhile what it asks, and
// returns what the tool did. An error of the protocol is an [*rpc.Error]. When
// ctx ends the task goes on; see Cancel. Nothing but ctx bounds how long it waits:
// opts, and the times of Options, are for each request.
func (t *Task) Wait(ctx context.Context, opts ...CallOption) (*mcp.CallToolResult, error) {
	if t.id == "" {
		return t.res, nil
	}
	kind := t.c.session.Load().era.tasks()
	answered := map[string]bool{}
	poll := t.poll
	for {
		state, err := kind.get(ctx, t.c, t.id, opts)
		if err != nil {
			return nil, err
		}
		switch {
		case state.Status == mcp.TaskCancelled:
			return nil, fmt.Errorf("%w: %s", ErrTaskCancelled, excerpt(t.id, 64))
		case state.Status.Final():
			return kind.outcome(ctx, t, state, opts)
		case state.Status == mcp.TaskInputRequired:
			if done, res, err := kind.answer(ctx, t, state, answered, opts); done || err != nil {
				return res, err
			}
		}
		if state.PollIntervalMs != nil {
			poll = time.Duration(min(*state.PollIntervalMs, maxPoll.Milliseconds())) * time.Millisecond
		}
		if err := t.pause(ctx, poll); err != nil {
			return nil, err
		}
	}
}

// pause waits for the next time to ask.
func (t *Task) pause(ctx context.Context, poll time.Duration) error {
	if poll <= 0 {
		poll = defaultPoll
	}
	timer := time.NewTimer(min(max(poll, minPoll), maxPoll))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-t.c.ctx.Done():
		return rpc.ErrClosed
	}
}

// decoded checks the result of a task as that of a call.
func (t *Task) decoded(ctx context.Context, res *mcp.CallToolResult) (*mcp.CallToolResult, error) {
	if t.tool == "" {
		return res, nil
	}
	return res, t.c.checkOutput(ctx, t.tool, res)
}

// wait waits for a task that CallTool got in place of a result. A caller who
// does not wait any longer does not want the task either.
func (c *Client) wait(ctx context.Context, t *Task, opts []CallOption) (*mcp.CallToolResult, error) {
	res, err := t.Wait(ctx, opts...)
	if err != nil && ctx.Err() != nil {
		c.goodbye(func(ctx context.Context) error { return t.Cancel(ctx) }) //nolint:contextcheck // the caller's is over
	}
	return res, err
}

// taskKind is one of the two forms that tasks have.
type taskKind interface {
	start(ctx context.Context, c *Client, p *mcp.CallToolParams, opts []CallOption) (*Task, error)
	get(ctx context.Context, c *Client, id string, opts []CallOption) (*mcp.GetTaskResult, error)
	// holds reports whether questions of the server may be tasks here.
	holds(s *session) bool
	// outcome returns what came of a task that has ended.
	outcome(ctx context.Context, t *Task, state *mcp.GetTaskResult, opts []CallOption) (*mcp.CallToolResult, error)
	// answer answers what a task asks; done says that it has ended meanwhile.
	answer(ctx context.Context, t *Task, state *mcp.GetTaskResult, answered map[string]bool, opts []CallOption) (done bool, res *mcp.CallToolResult, err error)
}

// newQuestions returns those of a task that were not answered before, in the
// order of their keys.
func newQuestions(asked mcp.InputRequests, answered map[string]bool) mcp.InputRequests {
	open := mcp.InputRequests{}
	for _, key := range slices.Sorted(maps.Keys(asked)) {
		if !answered[key] {
			open[key] = asked[key]
		}
	}
	return open
}
