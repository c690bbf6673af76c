package mcptest_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/tenon-mcp/tenon/client"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/mcptest"
	"github.com/tenon-mcp/tenon/rpc"
	"github.com/tenon-mcp/tenon/server"
)

// quickTasks makes a task of every call at once.
func quickTasks() *server.Options {
	return &server.Options{Tasks: &server.TaskOptions{After: -1, PollInterval: time.Millisecond}}
}

func (e era) hasTasks() bool { return e.since(mcp.V20251125) }

func addTask[In, Out any](e era, name, support string, fn func(context.Context, In) (Out, error)) {
	server.AddTool(e.srv, mcp.Tool{Name: name, Execution: &mcp.ToolExecution{TaskSupport: support}}, fn)
}

// eachWithTasks runs fn where there are tasks, with a client that has them.
func eachWithTasks(t *testing.T, opts *server.Options, fn func(t *testing.T, e era)) {
	t.Helper()
	eachEra(t, opts, func(t *testing.T, e era) {
		e.opts.Tasks = true
		if e.hasTasks() {
			fn(t, e)
		}
	})
}

func TestTask(t *testing.T) {
	t.Parallel()
	eachEra(t, quickTasks(), func(t *testing.T, e era) {
		release := make(chan struct{})
		addTask(e, "job", "optional", func(ctx context.Context, in numbers) (map[string]int64, error) {
			select {
			case <-release:
				return map[string]int64{"sum": in.A + in.B}, nil
			case <-ctx.Done():
				return nil, context.Cause(ctx)
			}
		})
		e.opts.Tasks = true
		c := e.connect()
		task, err := c.StartTool(t.Context(), call("job", `{"a":2,"b":3}`))
		if !e.hasTasks() {
			if !errors.Is(err, errors.ErrUnsupported) {
				t.Errorf("error %v, want ErrUnsupported", err)
			}
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		state := must[*mcp.GetTaskResult](t)(task.Get(t.Context()))
		equal(t, "status", state.Status, mcp.TaskWorking)
		if task.ID() == "" || state.TaskID != task.ID() || state.TTLMs == nil || *state.TTLMs != time.Hour.Milliseconds() {
			t.Errorf("state %+v of task %q", state, task.ID())
		}
		for _, at := range []string{state.CreatedAt, state.LastUpdatedAt} {
			if _, err := time.Parse(time.RFC3339, at); err != nil {
				t.Error(err)
			}
		}
		close(release)
		res := must[*mcp.CallToolResult](t)(c.Task(task.ID()).Wait(t.Context()))
		equal(t, "result", textOf(t, res), `{"sum":5}`)
		if related := res.Meta[mcp.MetaRelatedTask]; (related != nil) == e.modern() {
			t.Errorf("related task %s", related)
		}
		state = must[*mcp.GetTaskResult](t)(task.Get(t.Context()))
		equal(t, "status", state.Status, mcp.TaskCompleted)
	})
}

// The same tool is called by who knows no tasks, and by who waits for them.
func TestTaskCalled(t *testing.T) {
	t.Parallel()
	eachEra(t, quickTasks(), func(t *testing.T, e era) {
		addTask(e, "optional", "optional", func(context.Context, none) (string, error) { return "done", nil })
		addTask(e, "required", "required", func(context.Context, none) (string, error) { return "done", nil })
		c := e.connect()
		equal(t, "optional", must[string](t)(client.CallTool[string](t.Context(), c, "optional", nil)), "done")
		_, err := client.CallTool[string](t.Context(), c, "required", nil)
		switch {
		case e.modern():
			isCode(t, "required", err, mcp.CodeMissingCapability)
			if err != nil && !strings.Contains(err.Error(), mcp.ExtensionTasks) {
				t.Errorf("%v does not name the extension", err)
			}
		case e.hasTasks():
			isCode(t, "required", err, rpc.CodeMethodNotFound)
		case err != nil:
			t.Errorf("required, in a revision without tasks: %v", err)
		}
		e.opts.Tasks = true
		c = e.connect()
		for _, name := range []string{"optional", "required"} {
			equal(t, name, must[string](t)(client.CallTool[string](t.Context(), c, name, nil)), "done")
		}
	})
}

func TestTaskAsks(t *testing.T) {
	t.Parallel()
	eachWithTasks(t, quickTasks(), func(t *testing.T, e era) {
		runs := new(atomic.Int64)
		addTask(e, "ask", "optional", func(ctx context.Context, _ none) (string, error) {
			runs.Add(1)
			c := server.CallFrom(ctx)
			first, err := c.Elicit(ctx, "first", form(nameField))
			if err != nil {
				return "", err
			}
			var second, third mcp.ElicitResult
			err = c.Ask(ctx, server.ElicitQuestion("second", form(nameField), &second), server.ElicitQuestion("third", form(nameField), &third))
			return string(first.Content["name"]) + string(second.Content["name"]) + string(third.Content["name"]), err
		})
		asked := new(atomic.Int64)
		e.opts.Elicit = func(_ context.Context, p *mcp.ElicitParams) (*mcp.ElicitResult, error) {
			asked.Add(1)
			if related := p.Meta[mcp.MetaRelatedTask]; (related != nil) == e.modern() {
				t.Errorf("related task %s", related)
			}
			return accept("name", `"Ada"`), nil
		}
		c := e.connect()
		task := must[*client.Task](t)(c.StartTool(t.Context(), call("ask", "")))
		res := must[*mcp.CallToolResult](t)(task.Wait(t.Context()))
		equal(t, "answers", textOf(t, res), `"Ada""Ada""Ada"`)
		equal(t, "runs", runs.Load(), 1)
		equal(t, "questions", asked.Load(), 3)

		e.opts.Elicit = nil
		c = e.connect()
		task = must[*client.Task](t)(c.StartTool(t.Context(), call("ask", "")))
		_, err := task.Wait(t.Context())
		if e.modern() {
			isCode(t, "a client that cannot be asked", err, mcp.CodeMissingCapability)
		}
	})
}

func TestTaskCancelled(t *testing.T) {
	t.Parallel()
	eachWithTasks(t, quickTasks(), func(t *testing.T, e era) {
		causes := make(chan error, 3)
		addTask(e, "hang", "optional", func(ctx context.Context, _ none) (string, error) {
			<-ctx.Done()
			causes <- context.Cause(ctx)
			return "too late", nil
		})
		c := e.connect()
		t.Cleanup(func() { _ = e.srv.Shutdown(context.WithoutCancel(t.Context())) })
		task := must[*client.Task](t)(c.StartTool(t.Context(), call("hang", "")))
		if err := task.Cancel(t.Context()); err != nil {
			t.Fatal(err)
		}
		if _, err := task.Wait(t.Context()); !errors.Is(err, client.ErrTaskCancelled) {
			t.Errorf("error %v, want ErrTaskCancelled", err)
		}
		if err := <-causes; !errors.Is(err, server.ErrCancelled) {
			t.Errorf("the tool ended for %v, want ErrCancelled", err)
		}
		equal(t, "status", must[*mcp.GetTaskResult](t)(task.Get(t.Context())).Status, mcp.TaskCancelled)
		err := task.Cancel(t.Context())
		if e.modern() && err != nil {
			t.Errorf("cancelled twice: %v", err)
		}
		if !e.modern() {
			isCode(t, "cancelled twice", err, rpc.CodeInvalidParams)
		}
		// Who does not wait for a call does not want its task.
		ctx, cancel := context.WithCancel(t.Context())
		go cancel()
		if _, err := c.CallTool(ctx, call("hang", "")); !errors.Is(err, context.Canceled) {
			t.Errorf("error %v, want that of the context", err)
		}
	})
}

func TestTaskFails(t *testing.T) {
	t.Parallel()
	opts := quickTasks()
	opts.Limits.TaskResultBytes = 100
	eachWithTasks(t, opts, func(t *testing.T, e era) {
		addTask(e, "tool", "optional", func(context.Context, none) (string, error) { return "", errors.New("no cheese") })
		addTask(e, "protocol", "optional", func(context.Context, none) (string, error) { return "", rpc.Errorf(-32000, "broken") })
		addTask(e, "panic", "optional", func(context.Context, none) (string, error) { panic("secret") })
		add := e.srv.AddTool(mcp.Tool{
			Name: "asks", Execution: &mcp.ToolExecution{TaskSupport: "optional"}, InputSchema: jsontext.Value(`{"type":"object"}`),
		}, func(context.Context, *mcp.CallToolParams) (*mcp.CallToolResult, error) {
			res := new(mcp.CallToolResult)
			res.ResultType = mcp.ResultInputRequired
			return res, nil
		})
		if add != nil {
			t.Fatal(add)
		}
		addTask(e, "large", "optional", func(context.Context, none) (string, error) { return strings.Repeat("x", 1000), nil })
		c := e.connect()
		run := func(name string) (*mcp.GetTaskResult, *mcp.CallToolResult, error) {
			task := must[*client.Task](t)(c.StartTool(t.Context(), call(name, "")))
			res, err := task.Wait(t.Context())
			return must[*mcp.GetTaskResult](t)(task.Get(t.Context())), res, err
		}
		state, res, err := run("tool")
		if err != nil || !res.IsError || textOf(t, res) != "no cheese" {
			t.Errorf("a tool that fails: %+v, %v", res, err)
		}
		want := mcp.TaskFailed
		if e.modern() { // failed is for errors of the protocol
			want = mcp.TaskCompleted
		}
		equal(t, "a tool that fails", state.Status, want)
		for name, code := range map[string]int{"protocol": -32000, "panic": rpc.CodeInternalError, "large": rpc.CodeInternalError, "asks": rpc.CodeInternalError} {
			state, _, err := run(name)
			isCode(t, name, err, code)
			equal(t, name, state.Status, mcp.TaskFailed)
			if state.StatusMessage == "" || strings.Contains(err.Error()+state.StatusMessage, "secret") {
				t.Errorf("%s: status message %q, error %v", name, state.StatusMessage, err)
			}
		}
	})
}

// Without a task there is none to ask for.
func TestTaskUnknown(t *testing.T) {
	t.Parallel()
	eachWithTasks(t, quickTasks(), func(t *testing.T, e era) {
		addTask(e, "job", "optional", func(context.Context, none) (string, error) { return "", nil })
		addTool(e, "plain", func(context.Context, none) (string, error) { return "plain", nil })
		c := e.connect()
		for _, id := range []string{"nothing", strings.Repeat("x", 1000), ""} {
			_, err := c.Task("x" + id).Get(t.Context())
			isCode(t, "tasks/get", err, rpc.CodeInvalidParams)
			isCode(t, "tasks/cancel", c.Task("x"+id).Cancel(t.Context()), rpc.CodeInvalidParams)
		}
		if e.modern() {
			for _, method := range []string{mcp.MethodTasksList, mcp.MethodTasksResult} {
				raw := mcp.TaskParams{TaskID: "x"}
				if err := c.Request(t.Context(), method, &raw, nil); !errors.Is(err, errors.ErrUnsupported) {
					t.Errorf("%s: %v, want ErrUnsupported", method, err)
				}
			}
			task := must[*client.Task](t)(c.StartTool(t.Context(), call("plain", "")))
			equal(t, "ID of what was answered at once", task.ID(), "")
			equal(t, "result", textOf(t, must[*mcp.CallToolResult](t)(task.Wait(t.Context()))), "plain")
			return
		}
		_, err := c.StartTool(t.Context(), call("plain", ""))
		isCode(t, "a tool that is no task", err, rpc.CodeMethodNotFound)
		for _, err := range c.Tasks(t.Context()) { // nobody is told apart here
			if !errors.Is(err, errors.ErrUnsupported) {
				t.Errorf("tasks/list: %v, want ErrUnsupported", err)
			}
		}
	})
}

// A call that is quick, or asks, is answered as ever; Detach makes a task of it.
func TestTaskDetach(t *testing.T) {
	t.Parallel()
	opts := &server.Options{Tasks: &server.TaskOptions{After: time.Hour, PollInterval: time.Millisecond}}
	eachWithTasks(t, opts, func(t *testing.T, e era) {
		addTask(e, "quick", "optional", func(ctx context.Context, _ none) (string, error) {
			return "quick", server.CallFrom(ctx).Progress(ctx, 1, 1, "")
		})
		addTask(e, "detach", "optional", func(ctx context.Context, _ none) (string, error) {
			c := server.CallFrom(ctx)
			name, err := c.Elicit(ctx, "name", form(nameField))
			if err != nil {
				return "", err
			}
			if ok, err := c.Detach(ctx); err != nil || !ok {
				t.Errorf("Detach: %t, %v", ok, err)
			}
			again, err := c.Elicit(ctx, "again", form(nameField))
			if err != nil {
				return "", err
			}
			return string(name.Content["name"]) + string(again.Content["name"]), nil
		})
		n := new(atomic.Int64)
		e.opts.Elicit = func(context.Context, *mcp.ElicitParams) (*mcp.ElicitResult, error) {
			n.Add(1)
			return accept("name", `"Ada"`), nil
		}
		c := e.connect()
		task := must[*client.Task](t)(c.StartTool(t.Context(), call("quick", "")))
		equal(t, "a quick tool is a task", task.ID() != "", !e.modern())
		equal(t, "quick", textOf(t, must[*mcp.CallToolResult](t)(task.Wait(t.Context()))), "quick")
		task = must[*client.Task](t)(c.StartTool(t.Context(), call("detach", "")))
		if task.ID() == "" {
			t.Error("a tool that detached is no task")
		}
		equal(t, "detach", textOf(t, must[*mcp.CallToolResult](t)(task.Wait(t.Context()))), `"Ada""Ada"`)
		equal(t, "questions", n.Load(), 2)
	})
}

// Whose task it is says Options.Principal.
func TestTaskOfAnother(t *testing.T) {
	t.Parallel()
	eachWithTasks(t, nil, func(t *testing.T, e era) {
		if e.Transport != "pipe" {
			return // the principal is the same over all
		}
		who := new(atomic.Value)
		who.Store("ada")
		opts := quickTasks()
		opts.Principal = func(context.Context, *rpc.Request) string { return who.Load().(string) }
		opts.PageSize, opts.Limits.TasksOfOne = 1, 2
		e.srv = server.New(mcp.Implementation{Name: "s", Version: "1"}, opts)
		addTask(e, "job", "optional", func(context.Context, none) (string, error) { return "", nil })
		c := e.connect()
		task := must[*client.Task](t)(c.StartTool(t.Context(), call("job", "")))
		must[*client.Task](t)(c.StartTool(t.Context(), call("job", "")))
		_, err := c.StartTool(t.Context(), call("job", ""))
		isCode(t, "one task too many", err, rpc.CodeInternalError)
		list := func() (n int) {
			for _, err := range c.Tasks(t.Context()) {
				if err != nil {
					t.Fatal(err)
				}
				n++
			}
			return n
		}
		if !e.modern() {
			equal(t, "tasks", list(), 2)
		}
		who.Store("bob")
		_, err = task.Get(t.Context())
		isCode(t, "tasks/get of another", err, rpc.CodeInvalidParams)
		isCode(t, "tasks/cancel of another", task.Cancel(t.Context()), rpc.CodeInvalidParams)
		if _, err = task.Wait(t.Context()); err == nil {
			t.Error("another got the result")
		}
		must[*client.Task](t)(c.StartTool(t.Context(), call("job", ""))) // bob has room
		if !e.modern() {
			equal(t, "tasks of another", list(), 1)
		}
	})
}

// Who listens is told of each change, and what is told is the whole state.
func TestTaskNotifications(t *testing.T) {
	t.Parallel()
	eachWithTasks(t, quickTasks(), func(t *testing.T, e era) {
		release := make(chan struct{})
		addTask(e, "job", "optional", func(ctx context.Context, _ none) (string, error) {
			select {
			case <-release:
			case <-ctx.Done():
			}
			c := server.CallFrom(ctx)
			c.Logger().Error("a task logs nothing to its client")
			return "done", c.Progress(ctx, 1, 2, "and tells no progress")
		})
		e.opts.LogLevel = mcp.LevelDebug
		e.opts.OnLog = func(_ context.Context, p *mcp.LogParams) { t.Errorf("logged %s", p.Data) }
		e.opts.OnProgress = func(p mcp.ProgressParams) { t.Errorf("told of progress: %+v", p) }
		told := make(chan jsontext.Value, 10)
		e.opts.OnNotification = func(_ context.Context, method string, params jsontext.Value) {
			if method == mcp.NotificationTasks || method == mcp.NotificationLegacyTaskStatus {
				told <- params.Clone()
			}
		}
		c := e.connect()
		task := must[*client.Task](t)(c.StartTool(t.Context(), call("job", "")))
		if e.modern() {
			sub, err := c.Subscribe(t.Context(), mcp.Filter{TaskIDs: []string{task.ID(), "unknown"}})
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = sub.Close() }()
		}
		close(release)
		got := string(<-told)
		if !strings.Contains(got, task.ID()) || !strings.Contains(got, `"completed"`) || strings.Contains(got, `"result"`) != e.modern() {
			t.Errorf("told %s", got)
		}
	})
}

// A question may be a task, too: of the client.
func TestQuestionAsTask(t *testing.T) {
	t.Parallel()
	eachEra(t, nil, func(t *testing.T, e era) {
		addTool(e, "ask", func(ctx context.Context, _ none) (string, error) {
			c := server.CallFrom(ctx)
			var form1 mcp.ElicitResult
			var said mcp.CreateMessageResult
			p := &mcp.CreateMessageParams{MaxTokens: 5, Messages: []mcp.SamplingMessage{{Role: mcp.RoleUser, Content: mcp.OneOrMany{mcp.Text("hi")}}}}
			err := c.Ask(ctx, server.ElicitQuestion("form", form(nameField), &form1).AsTask(time.Minute),
				server.SampleQuestion("model", p, &said).AsTask(time.Minute))
			return string(form1.Content["name"]) + said.Model, err
		})
		e.opts.Tasks = true
		calls := new(atomic.Int64)
		e.opts.Elicit = func(context.Context, *mcp.ElicitParams) (*mcp.ElicitResult, error) {
			calls.Add(1)
			return accept("name", `"Ada"`), nil
		}
		e.opts.Sample = func(context.Context, *mcp.CreateMessageParams) (*mcp.CreateMessageResult, error) {
			calls.Add(1)
			return &mcp.CreateMessageResult{Role: mcp.RoleAssistant, Content: mcp.OneOrMany{mcp.Text("x")}, Model: "m"}, nil
		}
		c := e.connect()
		got, err := client.CallTool[string](t.Context(), c, "ask", nil)
		if !e.since(mcp.V20250618) {
			if _, failed := errors.AsType[*client.ToolError](err); !failed {
				t.Errorf("without elicitation: %q, %v", got, err)
			}
			return
		}
		equal(t, "answers", must[string](t)(got, err), `"Ada"m`)
		equal(t, "callbacks", calls.Load(), 2)
	})
}

// Who declares no tasks is served as if there were none.
func TestTaskUndeclared(t *testing.T) {
	t.Parallel()
	eachEra(t, nil, func(t *testing.T, e era) {
		addTask(e, "job", "optional", func(context.Context, none) (string, error) { return "done", nil })
		e.opts.Tasks = true
		c := e.connect()
		p := call("job", "")
		p.Task = &mcp.TaskMetadata{}
		equal(t, "a server without tasks", textOf(t, must[*mcp.CallToolResult](t)(c.CallTool(t.Context(), p))), "done")
		if _, err := c.Task("x").Get(t.Context()); !errors.Is(err, errors.ErrUnsupported) && !errors.Is(err, mcp.ErrMethodNotFound) {
			t.Errorf("tasks/get of a server without tasks: %v", err)
		}
	})
	eachEra(t, quickTasks(), func(t *testing.T, e era) {
		if !e.modern() {
			return
		}
		_, err := e.connect().Subscribe(t.Context(), mcp.Filter{TaskIDs: []string{"x"}})
		isCode(t, "listening to tasks", err, mcp.CodeMissingCapability)
	})
}

// Who asks for the result again, as after a connection that broke, is asked what
// the task wants to know.
func TestTaskAsksAgain(t *testing.T) {
	t.Parallel()
	eachWithTasks(t, quickTasks(), func(t *testing.T, e era) {
		if e.modern() {
			return // each tasks/get has all open questions
		}
		addTask(e, "ask", "optional", func(ctx context.Context, _ none) (string, error) {
			res, err := server.CallFrom(ctx).Elicit(ctx, "who", form(nameField))
			if err != nil {
				return "", err
			}
			return string(res.Content["name"]), nil
		})
		n, began := new(atomic.Int64), make(chan struct{})
		e.opts.Elicit = func(ctx context.Context, _ *mcp.ElicitParams) (*mcp.ElicitResult, error) {
			if n.Add(1) == 1 {
				close(began)
				<-ctx.Done() // it is withdrawn
				return nil, context.Cause(ctx)
			}
			return accept("name", `"Ada"`), nil
		}
		c := e.connect()
		task := must[*client.Task](t)(c.StartTool(t.Context(), call("ask", "")))
		first := make(chan error, 1)
		go func() {
			_, err := task.Wait(t.Context())
			first <- err
		}()
		<-began
		equal(t, "result", textOf(t, must[*mcp.CallToolResult](t)(task.Wait(t.Context()))), `"Ada"`)
		if err := <-first; err != nil {
			t.Errorf("the first: %v", err)
		}
		equal(t, "questions", n.Load(), 2)
	})
}

// Shutdown ends tasks, makes no more of them, and waits for their handlers.
func TestTaskShutdown(t *testing.T) {
	t.Parallel()
	for _, after := range []time.Duration{-1, time.Second} {
		synctest.Test(t, func(t *testing.T) {
			srv := server.New(mcp.Implementation{Name: "s", Version: "1"}, &server.Options{Tasks: &server.TaskOptions{After: after}})
			release, causes := make(chan struct{}), make(chan error, 1)
			tool := mcp.Tool{Name: "job", Execution: &mcp.ToolExecution{TaskSupport: "optional"}}
			server.AddTool(srv, tool, func(ctx context.Context, _ none) (string, error) {
				select {
				case <-release:
					return "done", nil
				case <-ctx.Done():
					causes <- context.Cause(ctx)
					return "", context.Cause(ctx)
				}
			})
			c := mcptest.Pair(t, srv, &client.Options{Tasks: true})
			called := make(chan error, 1)
			go func() {
				_, err := c.StartTool(t.Context(), call("job", ""))
				called <- err
			}()
			synctest.Wait()
			down := make(chan error, 1)
			go func() { down <- srv.Shutdown(t.Context()) }()
			synctest.Wait()
			if after > 0 { // it is a request under way, and stays one
				time.Sleep(2 * after) //nolint:forbidigo // the bubble's time
				close(release)
			} else if err := <-causes; err == nil {
				t.Error("the handler of a task was not told")
			}
			if err := errors.Join(<-down, <-called); err != nil {
				t.Errorf("after %v: %v", after, err)
			}
		})
	}
}
