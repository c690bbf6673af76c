package client_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"

	"github.com/tenon-mcp/tenon/client"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/rpc"
)

// A server of 2025-11-25 may ask so that the answer is a task here.
func TestHeldTasks(t *testing.T) {
	t.Parallel()
	s := &fakeServer{script: func(_ context.Context, _ *fakeServer, req *rpc.Request) (any, error) {
		return greeting(mcp.V20251125, req)
	}}
	release, began, ended := make(chan struct{}), make(chan struct{}, 10), make(chan struct{}, 10)
	c := connect(t, s, &client.Options{
		Version: mcp.V20251125, Tasks: true, Limits: client.Limits{Tasks: 2},
		Elicit: func(ctx context.Context, p *mcp.ElicitParams) (*mcp.ElicitResult, error) {
			began <- struct{}{}
			defer func() { ended <- struct{}{} }()
			select {
			case <-release:
				return &mcp.ElicitResult{Action: mcp.ElicitDecline}, nil
			case <-ctx.Done():
				return nil, context.Cause(ctx)
			}
		},
	})
	declared := string(s.sent("initialize")[0].Params)
	if !strings.Contains(declared, `"elicitation":{"create":{}}`) || strings.Contains(declared, "createMessage") {
		t.Errorf("declared %s", declared)
	}
	const question = `{"message":"m","requestedSchema":{"type":"object","properties":{}},"task":{"ttl":60000}}`
	begin := func() string {
		raw, err := s.ask(rpc.StringID("q"), "elicitation/create", question)
		if err != nil {
			t.Fatal(err)
		}
		var made mcp.LegacyCreateTaskResult
		if err := json.Unmarshal([]byte(raw), &made); err != nil || made.Task.TTL == nil || *made.Task.TTL != 60000 || made.Task.Status != mcp.TaskWorking {
			t.Fatalf("%s, %v", raw, err)
		}
		return made.Task.TaskID
	}
	about := func(method, id string) (string, error) {
		return s.ask(rpc.StringID("t"), method, `{"taskId":"`+id+`"}`)
	}

	first := begin()
	<-began
	second := begin()
	<-began
	if _, err := s.ask(rpc.StringID("q"), "elicitation/create", question); !errors.Is(err, &rpc.Error{Code: rpc.CodeInternalError}) {
		t.Errorf("one task too many: %v", err)
	}
	if list, err := s.ask(rpc.StringID("t"), "tasks/list", "{}"); err != nil || !strings.Contains(list, first) || !strings.Contains(list, second) {
		t.Errorf("tasks/list: %s, %v", list, err)
	}
	if raw, err := about("tasks/cancel", first); err != nil || !strings.Contains(raw, `"cancelled"`) {
		t.Errorf("tasks/cancel: %s, %v", raw, err)
	}
	<-ended // its callback was told
	for _, method := range []string{"tasks/cancel", "tasks/result"} {
		if raw, err := about(method, first); err == nil {
			t.Errorf("%s of a cancelled task: %s", method, raw)
		}
	}
	if raw, err := about("tasks/get", second); err != nil || !strings.Contains(raw, `"working"`) {
		t.Errorf("tasks/get: %s, %v", raw, err)
	}
	close(release)
	if raw, err := about("tasks/result", second); err != nil || !strings.Contains(raw, `"action":"decline"`) || !strings.Contains(raw, second) {
		t.Errorf("tasks/result: %s, %v", raw, err)
	}
	if raw, err := about("tasks/get", second); err != nil || !strings.Contains(raw, `"completed"`) {
		t.Errorf("tasks/get: %s, %v", raw, err)
	}
	if _, err := about("tasks/get", "unknown"); !errors.Is(err, mcp.ErrInvalidParams) {
		t.Errorf("an unknown task: %v", err)
	}
	// An ordinary question about a task of the server says which.
	raw, err := s.ask(rpc.StringID("q"), "elicitation/create", `{"message":"m","requestedSchema":{"type":"object","properties":{}},"_meta":{"io.modelcontextprotocol/related-task":{"taskId":"theirs"}}}`)
	if err != nil || !strings.Contains(raw, `"io.modelcontextprotocol/related-task":{"taskId":"theirs"}`) {
		t.Errorf("%s, %v", raw, err)
	}
	_ = c
}

func TestNoTasks(t *testing.T) {
	t.Parallel()
	s := &fakeServer{script: func(_ context.Context, _ *fakeServer, req *rpc.Request) (any, error) {
		return greeting(mcp.V20251125, req)
	}}
	c := connect(t, s, &client.Options{Version: mcp.V20251125})
	if _, err := c.StartTool(t.Context(), &mcp.CallToolParams{Name: "x"}); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("error %v, want ErrUnsupported", err)
	}
	if _, err := s.ask(rpc.StringID("t"), "tasks/get", `{"taskId":"x"}`); !errors.Is(err, mcp.ErrMethodNotFound) {
		t.Errorf("error %v, want that there is no such method", err)
	}
}

// A task is asked for as often as its server says, and each question of it is
// answered once.
func TestTaskPolls(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var asked []time.Duration
		start := time.Now()
		s := &fakeServer{script: func(_ context.Context, _ *fakeServer, req *rpc.Request) (any, error) {
			const state = `{"resultType":"complete","taskId":"t1","createdAt":"","lastUpdatedAt":"","ttlMs":null,"pollIntervalMs":`
			switch req.Method {
			case "server/discover":
				return `{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{},"extensions":{"io.modelcontextprotocol/tasks":{}}}}`, nil
			case "tools/call":
				return `{"resultType":"task","taskId":"t1","status":"working","createdAt":"","lastUpdatedAt":"","ttlMs":null,"pollIntervalMs":3000}`, nil
			case "tasks/update":
				return `{"resultType":"complete"}`, nil
			case "tasks/get":
				asked = append(asked, time.Since(start))
				const questions = `,"inputRequests":{"k":{"method":"elicitation/create","params":{"message":"m","requestedSchema":{"type":"object","properties":{}}}}}}`
				switch len(asked) {
				case 1:
					return state + `3000,"status":"working"}`, nil
				case 2, 3:
					return state + `10000000,"status":"input_required"` + questions, nil
				}
				return state + `1,"status":"completed","result":{"resultType":"complete","content":[]}}`, nil
			}
			return greeting(mcp.V20260728, req)
		}}
		elicited := 0
		c := connect(t, s, &client.Options{Tasks: true, Elicit: func(context.Context, *mcp.ElicitParams) (*mcp.ElicitResult, error) {
			elicited++
			return &mcp.ElicitResult{Action: mcp.ElicitDecline}, nil
		}})
		if _, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: "x"}); err != nil {
			t.Fatal(err)
		}
		want := []time.Duration{0, 3 * time.Second, 63 * time.Second, 123 * time.Second} // never less than once a minute
		if diff := cmp.Diff(want, asked); diff != "" {
			t.Error(diff)
		}
		if elicited != 1 || len(s.sent("tasks/update")) != 1 {
			t.Errorf("asked the user %d times, answered %d times, want once", elicited, len(s.sent("tasks/update")))
		}
		if err := c.Request(t.Context(), "tools/call", &mcp.CallToolParams{Name: "x"}, new(mcp.CallToolResult)); err == nil {
			t.Error("a task was taken for a result where none is expected")
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
}
