package server

import (
	"github.com/go-json-experiment/json/jsontext"

	"github.com/tenon-mcp/tenon/mcp"
)

// modernTasks are the tasks extension (SEP-2663): the server decides.
type modernTasks struct{}

func (modern) tasks() taskKind { return modernTasks{} }

// needsTasks is what a client has to declare for every request.
var needsTasks = mcp.ClientCapabilities{Extensions: map[string]jsontext.Value{mcp.ExtensionTasks: jsontext.Value("{}")}}

func declaresTasks(c *Call) bool {
	_, ok := c.Capabilities.Extensions[mcp.ExtensionTasks]
	return ok
}

func (modernTasks) allowed(c *Call) error {
	if !declaresTasks(c) {
		return mcp.MissingCapability(needsTasks)
	}
	return nil
}

func (modernTasks) atOnce() bool { return false }

func (modernTasks) wants(c *Call, t *tool, _ *mcp.CallToolParams) (bool, error) {
	declared := declaresTasks(c)
	switch support := t.taskSupport(); {
	case support == "":
		return false, nil
	case support == taskRequired && !declared:
		return false, mcp.MissingCapability(needsTasks)
	}
	return declared, nil
}

func modernTask(ts *tasks, t *TaskRecord) mcp.Task {
	poll := ts.opts.PollInterval.Milliseconds()
	return mcp.Task{
		TaskID: t.ID, Status: t.Status, StatusMessage: t.StatusMessage, CreatedAt: timestamp(t.Created), LastUpdatedAt: timestamp(t.Updated),
		TTLMs: milliseconds(t.TTL), PollIntervalMs: &poll,
	}
}

func (modernTasks) created(ts *tasks, t *TaskRecord) any {
	res := &mcp.CreateTaskResult{Task: modernTask(ts, t)}
	res.ResultType = mcp.ResultTask
	return res
}

func taskOutcome(t *TaskRecord) mcp.TaskOutcome {
	return mcp.TaskOutcome{InputRequests: t.Questions, Outcome: t.Result, Error: t.Error}
}

func (modernTasks) state(ts *tasks, t *TaskRecord) any {
	return &mcp.GetTaskResult{Task: modernTask(ts, t), TaskOutcome: taskOutcome(t)}
}

// cancelled acknowledges: the state is asked for by tasks/get.
func (modernTasks) cancelled(*tasks, *TaskRecord, bool) (any, error) {
	return &mcp.CancelTaskResult{}, nil
}

func (modernTasks) canAsk(c *Call, qs []Question) error { return checkCapabilities(c, qs) }

func (modernTasks) question(_ string, q Question) any { return q.params }

// tell leaves it to those who listen.
func (modernTasks) tell(*tasks, *Call, *TaskRecord) {}

// ended completes the result. A failure of the tool is none of the task.
func (modernTasks) ended(res *mcp.CallToolResult) mcp.TaskStatus {
	res.ResultType = mcp.ResultComplete
	return mcp.TaskCompleted
}
