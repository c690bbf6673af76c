package mcp_test

import (
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/rpc"
)

// TestTasksExtension validates each form of a task of the extension.
func TestTasksExtension(t *testing.T) {
	t.Parallel()
	validate := newValidator(t, sharedFolder(t), tasksSchema, asItIs)
	ttl := int64(60_000)
	task := func(s mcp.TaskStatus) mcp.Task {
		return mcp.Task{TaskID: "1", Status: s, CreatedAt: "2026-07-28T00:00:00Z", LastUpdatedAt: "2026-07-28T00:00:00Z", TTLMs: &ttl, PollIntervalMs: &ttl}
	}
	forever := task(mcp.TaskWorking)
	forever.TTLMs, forever.PollIntervalMs = nil, nil
	done := mcp.Result{ResultType: mcp.ResultComplete}
	questions := mcp.InputRequests{"k": {Method: mcp.MethodRootsList}}
	tests := []struct {
		below, def string
		v          any
	}{
		{"", "CreateTaskResult", &mcp.CreateTaskResult{Result: mcp.Result{ResultType: mcp.ResultTask}, Task: forever}},
		{"", "GetTaskResult", &mcp.GetTaskResult{Result: done, Task: task(mcp.TaskWorking)}},
		{"", "GetTaskResult", &mcp.GetTaskResult{Result: done, Task: task(mcp.TaskInputRequired), TaskOutcome: mcp.TaskOutcome{InputRequests: questions}}},
		{"", "GetTaskResult", &mcp.GetTaskResult{Result: done, Task: task(mcp.TaskCompleted), TaskOutcome: mcp.TaskOutcome{Outcome: jsontext.Value(`{"content":[]}`)}}},
		{"", "GetTaskResult", &mcp.GetTaskResult{Result: done, Task: task(mcp.TaskFailed), TaskOutcome: mcp.TaskOutcome{Error: &rpc.Error{Code: 1, Message: "m"}}}},
		{"", "GetTaskResult", &mcp.GetTaskResult{Result: done, Task: task(mcp.TaskCancelled)}},
		{"", "UpdateTaskResult", &mcp.UpdateTaskResult{Result: done}},
		{"", "CancelTaskResult", &mcp.CancelTaskResult{Result: done}},
		{"", "TaskStatusNotificationParams", &mcp.TaskStatusParams{Task: task(mcp.TaskWorking)}},
		{"/allOf/1/properties/params", "GetTaskRequest", &mcp.TaskParams{TaskID: "1"}},
		{"/allOf/1/properties/params", "CancelTaskRequest", &mcp.TaskParams{TaskID: "1"}},
		{"/allOf/1/properties/params", "UpdateTaskRequest", &mcp.UpdateTaskParams{TaskID: "1", InputResponses: mcp.InputResponses{"k": jsontext.Value(`{"roots":[]}`)}}},
		{"", "TaskSubscriptionNotifications", &mcp.Filter{TaskIDs: []string{"1"}}},
	}
	for _, tt := range tests {
		b, err := json.Marshal(tt.v)
		if err != nil {
			t.Fatal(err)
		}
		if err := validate(tt.below, tt.def, b); err != nil {
			t.Errorf("%s: %v\n%s", tt.def, err, b)
		}
		roundTrip(t, string(b), tt.v)
	}
}

func TestTaskStatus(t *testing.T) {
	t.Parallel()
	for s, want := range map[mcp.TaskStatus]bool{
		mcp.TaskWorking: false, mcp.TaskInputRequired: false, "": false,
		mcp.TaskCompleted: true, mcp.TaskFailed: true, mcp.TaskCancelled: true,
	} {
		if s.Final() != want {
			t.Errorf("%q: final is %v", s, s.Final())
		}
	}
}
