package mcp

import (
	"github.com/go-json-experiment/json/jsontext"

	"github.com/tenon-mcp/tenon/rpc"
)

// ExtensionTasks is the identifier of the tasks extension.
const ExtensionTasks = "io.modelcontextprotocol/tasks"

// TaskStatus says how far a task is.
type TaskStatus string

// The states of a task. The last three are final.
const (
	TaskWorking       TaskStatus = "working"
	TaskInputRequired TaskStatus = "input_required"
	TaskCompleted     TaskStatus = "completed"
	TaskFailed        TaskStatus = "failed"
	TaskCancelled     TaskStatus = "cancelled"
)

// Final reports whether the status can no longer change.
func (s TaskStatus) Final() bool {
	return s == TaskCompleted || s == TaskFailed || s == TaskCancelled
}

// Task is the state of a task of the extension.
type Task struct {
	TaskID        string     `json:"taskId"`
	Status        TaskStatus `json:"status"`
	StatusMessage string     `json:"statusMessage,omitzero"`
	// CreatedAt and LastUpdatedAt are times of RFC 3339.
	CreatedAt     string `json:"createdAt"`
	LastUpdatedAt string `json:"lastUpdatedAt"`
	// TTLMs is how many milliseconds the task is kept; nil (null) is forever.
	TTLMs *int64 `json:"ttlMs"`
	// PollIntervalMs is how many milliseconds to wait between questions.
	PollIntervalMs *int64 `json:"pollIntervalMs,omitzero"`
}

// CreateTaskResult is the answer tools/call when it became a task. Its type is
// [ResultTask].
type CreateTaskResult struct {
	Result
	Task
}

// TaskOutcome is what a task has come to, by its status.
type TaskOutcome struct {
	// InputRequests are the open questions of a task that waits for input.
	InputRequests InputRequests `json:"inputRequests,omitzero"`
	// Outcome is the result of a completed task, as the method that became
	// the task would have given it.
	Outcome jsontext.Value `json:"result,omitzero"`
	// Error is that of a failed task.
	Error *rpc.Error `json:"error,omitzero"`
}

// TaskParams name a task. They are those of tasks/get and tasks/cancel in
// both forms of tasks, and of tasks/result.
type TaskParams struct {
	Params
	TaskID string `json:"taskId"`
}

// GetTaskResult is the state of a task, and what it has come to.
type GetTaskResult struct {
	Result
	Task
	TaskOutcome
}

// UpdateTaskParams answer questions of a task.
type UpdateTaskParams struct {
	Params
	TaskID         string         `json:"taskId"`
	InputResponses InputResponses `json:"inputResponses"`
}

// UpdateTaskResult acknowledges the answers.
type UpdateTaskResult struct{ Result }

// CancelTaskResult acknowledges the wish to cancel.
type CancelTaskResult struct{ Result }

// TaskStatusParams tell that a task changed.
type TaskStatusParams struct {
	Params
	Task
	TaskOutcome
}

// TaskMetadata asks for a task (2025-11-25).
type TaskMetadata struct {
	// TTL is how many milliseconds the task is to be kept; nil leaves that
	// to the other side.
	TTL   *int64         `json:"ttl,omitzero"`
	Extra jsontext.Value `json:",embed"`
}

// LegacyTask is the state of a task of 2025-11-25.
type LegacyTask struct {
	TaskID        string     `json:"taskId"`
	Status        TaskStatus `json:"status"`
	StatusMessage string     `json:"statusMessage,omitzero"`
	// CreatedAt and LastUpdatedAt are times of RFC 3339.
	CreatedAt     string `json:"createdAt"`
	LastUpdatedAt string `json:"lastUpdatedAt"`
	// TTL is how many milliseconds the task is kept; nil (null) is forever.
	TTL *int64 `json:"ttl"`
	// PollInterval is how many milliseconds to wait between questions.
	PollInterval *int64 `json:"pollInterval,omitzero"`
}

// LegacyCreateTaskResult is the answer to a request that became a task.
type LegacyCreateTaskResult struct {
	Result
	Task LegacyTask `json:"task"`
}

// LegacyGetTaskResult is that of tasks/get and tasks/cancel.
type LegacyGetTaskResult struct {
	Result
	LegacyTask
}

// ListTasksParams ask for one page of tasks.
type ListTasksParams = PaginatedParams

// ListTasksResult is one page of tasks.
type ListTasksResult struct {
	Result
	Tasks []LegacyTask `json:"tasks"`
	// NextCursor asks for the next page; nil on the last.
	NextCursor *string `json:"nextCursor,omitzero"`
}

// LegacyTaskStatusParams tell that a task changed.
type LegacyTaskStatusParams struct {
	Params
	LegacyTask
}

// RelatedTask is the value of [MetaRelatedTask].
type RelatedTask struct {
	TaskID string         `json:"taskId"`
	Extra  jsontext.Value `json:",embed"`
}

// ClientTasksCapability says what a client of 2025-11-25 can do as a task.
type ClientTasksCapability struct {
	List     *Support            `json:"list,omitzero"`
	Cancel   *Support            `json:"cancel,omitzero"`
	Requests *ClientTaskRequests `json:"requests,omitzero"`
	Extra    jsontext.Value      `json:",embed"`
}

// ClientTaskRequests are the requests that a client can take as tasks.
type ClientTaskRequests struct {
	Sampling    *SamplingTasks    `json:"sampling,omitzero"`
	Elicitation *ElicitationTasks `json:"elicitation,omitzero"`
	Extra       jsontext.Value    `json:",embed"`
}

// SamplingTasks are the requests of sampling that can be tasks.
type SamplingTasks struct {
	CreateMessage *Support       `json:"createMessage,omitzero"`
	Extra         jsontext.Value `json:",embed"`
}

// ElicitationTasks are the requests of elicitation that can be tasks.
type ElicitationTasks struct {
	Create *Support       `json:"create,omitzero"`
	Extra  jsontext.Value `json:",embed"`
}

// CreatesMessages reports whether sampling/createMessage can be a task.
func (c *ClientTasksCapability) CreatesMessages() bool {
	return c != nil && c.Requests != nil && c.Requests.Sampling != nil && c.Requests.Sampling.CreateMessage != nil
}

// Elicits reports whether elicitation/create can be a task.
func (c *ClientTasksCapability) Elicits() bool {
	return c != nil && c.Requests != nil && c.Requests.Elicitation != nil && c.Requests.Elicitation.Create != nil
}

// ServerTasksCapability says what a server of 2025-11-25 can do as a task.
type ServerTasksCapability struct {
	List     *Support            `json:"list,omitzero"`
	Cancel   *Support            `json:"cancel,omitzero"`
	Requests *ServerTaskRequests `json:"requests,omitzero"`
	Extra    jsontext.Value      `json:",embed"`
}

// ServerTaskRequests are the requests that a server can take as tasks.
type ServerTaskRequests struct {
	Tools *ToolTasks     `json:"tools,omitzero"`
	Extra jsontext.Value `json:",embed"`
}

// ToolTasks are the requests of tools that can be tasks.
type ToolTasks struct {
	Call  *Support       `json:"call,omitzero"`
	Extra jsontext.Value `json:",embed"`
}

// CallsTools reports whether tools/call can be a task.
func (c *ServerTasksCapability) CallsTools() bool {
	return c != nil && c.Requests != nil && c.Requests.Tools != nil && c.Requests.Tools.Call != nil
}
