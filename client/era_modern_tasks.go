package client

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/tenon-mcp/tenon/mcp"
)

// modernTasks are the tasks extension: the server decides whether a call
// becomes a task.
type modernTasks struct{}

func (modern) tasks() taskKind { return modernTasks{} }

// taskOf returns the task that a result is in place of.
func (c *Client) taskOf(tool string, res *mcp.CallToolResult) (*Task, error) {
	raw, err := json.Marshal(res)
	if err != nil {
		return nil, err
	}
	var made mcp.CreateTaskResult
	if err := json.Unmarshal(raw, &made); err != nil || made.TaskID == "" {
		return nil, errors.New("client: the server made a task without an ID of it")
	}
	t := &Task{c: c, id: made.TaskID, tool: tool}
	if made.PollIntervalMs != nil {
		t.poll = time.Duration(min(*made.PollIntervalMs, maxPoll.Milliseconds())) * time.Millisecond
	}
	return t, nil
}

func (modernTasks) start(ctx context.Context, c *Client, p *mcp.CallToolParams, opts []CallOption) (*Task, error) {
	res, err := c.callTool(ctx, new(operation).call(), p, append(slices.Clip(opts), AcceptResultType(mcp.ResultTask)))
	if err != nil {
		return nil, err
	}
	if res.ResultType == mcp.ResultTask {
		return c.taskOf(p.Name, res)
	}
	return &Task{c: c, tool: p.Name, res: res}, nil
}

func (modernTasks) holds(*session) bool { return false }

func (modernTasks) get(ctx context.Context, c *Client, id string, opts []CallOption) (*mcp.GetTaskResult, error) {
	res := new(mcp.GetTaskResult)
	return res, c.do(ctx, mcp.MethodTasksGet, &mcp.TaskParams{TaskID: id}, res, opts)
}

func (modernTasks) outcome(ctx context.Context, t *Task, state *mcp.GetTaskResult, _ []CallOption) (*mcp.CallToolResult, error) {
	if state.Status == mcp.TaskFailed {
		if state.Error == nil {
			return nil, fmt.Errorf("client: task %s failed, and the server does not say why", excerpt(t.id, 64))
		}
		return nil, state.Error
	}
	res := new(mcp.CallToolResult)
	if err := mcp.DecodeResult(state.Outcome, res); err != nil {
		return nil, fmt.Errorf("client: the result of task %s: %w", excerpt(t.id, 64), err)
	}
	return t.decoded(ctx, res)
}

// answer answers each question once, whatever tasks/get says afterwards.
func (modernTasks) answer(
	ctx context.Context, t *Task, state *mcp.GetTaskResult, answered map[string]bool, opts []CallOption,
) (bool, *mcp.CallToolResult, error) {
	open := newQuestions(state.InputRequests, answered)
	if len(open) == 0 {
		return false, nil, nil
	}
	if over(len(answered)+len(open), t.c.opts.Limits.Asks*max(1, t.c.opts.Limits.Rounds)) && t.c.opts.Limits.Asks >= 0 && t.c.opts.Limits.Rounds >= 0 {
		return false, nil, fmt.Errorf("%w: task %s asked for input %d times", ErrNotEnding, excerpt(t.id, 64), len(answered)+len(open))
	}
	raw, err := t.c.answerAll(ctx, &Call{Method: mcp.MethodToolsCall}, open)
	if err != nil {
		return false, nil, err
	}
	var responses map[string]jsontext.Value
	if err := json.Unmarshal(raw, &responses); err != nil {
		return false, nil, err
	}
	for key := range open {
		answered[key] = true
	}
	opts = append(slices.Clip(opts), ManualInput()) // the answers are ours
	return false, nil, t.c.do(ctx, mcp.MethodTasksUpdate, &mcp.UpdateTaskParams{TaskID: t.id, InputResponses: responses}, nil, opts)
}
