package client

import (
	"context"
	"slices"
	"time"

	"github.com/tenon-mcp/tenon/mcp"
)

// legacyTasks are the tasks of the core of 2025-11-25: the client asks for one.
type legacyTasks struct{}

func (legacy) tasks() taskKind { return legacyTasks{} }

func (legacyTasks) holds(s *session) bool {
	m, _ := mcp.MethodByName(mcp.MethodTasksResult)
	return m.In(s.rev.Version)
}

func (k legacyTasks) start(ctx context.Context, c *Client, p *mcp.CallToolParams, opts []CallOption) (*Task, error) {
	s := c.session.Load()
	if !k.holds(s) || !s.caps.Tasks.CallsTools() {
		return nil, &UnsupportedError{Method: mcp.MethodTasksGet, Version: s.rev.Version, Capability: "tasks.requests.tools.call"}
	}
	augmented := *p
	if augmented.Task == nil {
		augmented.Task = &mcp.TaskMetadata{}
	}
	made := new(mcp.LegacyCreateTaskResult)
	if err := c.do(ctx, mcp.MethodToolsCall, &augmented, made, opts); err != nil {
		return nil, err
	}
	t := &Task{c: c, id: made.Task.TaskID, tool: p.Name}
	if poll := made.Task.PollInterval; poll != nil {
		t.poll = time.Duration(min(*poll, maxPoll.Milliseconds())) * time.Millisecond
	}
	return t, nil
}

func (legacyTasks) get(ctx context.Context, c *Client, id string, opts []CallOption) (*mcp.GetTaskResult, error) {
	res := new(mcp.LegacyGetTaskResult)
	if err := c.do(ctx, mcp.MethodTasksGet, &mcp.TaskParams{TaskID: id}, res, opts); err != nil {
		return nil, err
	}
	return &mcp.GetTaskResult{Task: modernised(res.LegacyTask)}, nil
}

func (legacyTasks) outcome(ctx context.Context, t *Task, _ *mcp.GetTaskResult, opts []CallOption) (*mcp.CallToolResult, error) {
	res := new(mcp.CallToolResult)
	if err := t.c.do(ctx, mcp.MethodTasksResult, &mcp.TaskParams{TaskID: t.id}, res, opts); err != nil {
		return nil, err
	}
	return t.decoded(ctx, res)
}

// answer gives the server a stream to ask on: tasks/result, which lasts until
// the task has ended.
func (k legacyTasks) answer(
	ctx context.Context, t *Task, state *mcp.GetTaskResult, _ map[string]bool, opts []CallOption,
) (bool, *mcp.CallToolResult, error) {
	opts = append(slices.Clip(opts), WithTimeout(-1), WithMaxTimeout(-1))
	res, err := k.outcome(ctx, t, state, opts)
	return err == nil, res, err
}
