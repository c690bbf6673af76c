package client_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tenon-mcp/tenon/client"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/rpc"
)

func urlRequired(ids ...string) error {
	var all []mcp.ElicitParams
	for _, id := range ids {
		all = append(all, mcp.ElicitParams{Mode: mcp.ElicitURL, Message: "go", URL: "https://example.com/" + id, ElicitationID: id})
	}
	return mcp.URLElicitationRequired(all...)
}

func TestURLElicitationRequired(t *testing.T) {
	t.Parallel()
	many := make([]string, 33)
	for i := range many {
		many[i] = strconv.Itoa(i)
	}
	for name, tt := range map[string]struct {
		version  mcp.Version
		ids      []string
		action   mcp.ElicitAction // "": there is no function
		refusals int              // how often the server asks for the visit
		tells    bool             // that a visit is done, each after 10 s more
		asked    []string
		calls    int
		took     time.Duration
		fails    bool
	}{
		"no function":          {mcp.V20251125, []string{"a"}, "", 1, false, nil, 1, 0, true},
		"declined":             {mcp.V20251125, []string{"a", "b"}, mcp.ElicitDecline, 1, false, []string{"a"}, 1, 0, true},
		"consent is enough":    {mcp.V20251125, []string{"a", "b"}, mcp.ElicitAccept, 1, false, []string{"a", "b"}, 2, 0, false},
		"the server tells":     {mcp.V20251125, []string{"a", "b"}, mcp.ElicitAccept, 2, true, []string{"a", "b"}, 3, 20 * time.Second, false},
		"it goes on":           {mcp.V20251125, []string{"a"}, mcp.ElicitAccept, 9, true, []string{"a"}, 3, 10 * time.Second, true},
		"it does not tell":     {mcp.V20251125, []string{"a"}, mcp.ElicitAccept, 9, false, []string{"a"}, 2, time.Minute, true},
		"too many":             {mcp.V20251125, many, mcp.ElicitAccept, 1, false, nil, 1, 0, true},
		"modern servers don't": {mcp.V20260728, []string{"a"}, mcp.ElicitAccept, 1, false, nil, 1, 0, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				refused := 0
				s := &fakeServer{script: func(_ context.Context, _ *fakeServer, req *rpc.Request) (any, error) {
					if req.Method != mcp.MethodToolsCall {
						return greeting(tt.version, req)
					}
					if refused++; refused > tt.refusals {
						return hi, nil
					}
					return nil, urlRequired(tt.ids...)
				}}
				var asked []string
				opts := &client.Options{Version: tt.version}
				if tt.action != "" {
					opts.ElicitURL = true
					opts.Elicit = func(_ context.Context, p *mcp.ElicitParams) (*mcp.ElicitResult, error) {
						if p.URL != "https://example.com/"+p.ElicitationID {
							t.Errorf("asked for %+v", p)
						}
						asked = append(asked, p.ElicitationID)
						return &mcp.ElicitResult{Action: tt.action}, nil
					}
				}
				c := connect(t, s, opts)
				defer c.Close()
				start := time.Now()
				if tt.tells {
					for i, id := range append([]string{"unknown"}, tt.ids...) {
						time.AfterFunc(time.Duration(10*i)*time.Second, func() {
							s.notify(mcp.NotificationElicitationComplete, fmt.Sprintf(`{"elicitationId":%q}`, id))
						})
					}
				}
				_, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: "a"})
				if d := cmp.Diff(tt.asked, asked); d != "" {
					t.Errorf("the user was asked (-want +got)\n%s", d)
				}
				if n := len(s.sent(mcp.MethodToolsCall)); n != tt.calls || time.Since(start) != tt.took {
					t.Errorf("%d calls in %v, want %d in %v", n, time.Since(start), tt.calls, tt.took)
				}
				if !tt.fails {
					if err != nil {
						t.Error(err)
					}
					return
				}
				e, ok := errors.AsType[*client.URLElicitationError](err)
				if !ok || len(e.Elicitations) != len(tt.ids) || e.Elicitations[0].ElicitationID != tt.ids[0] || !errors.Is(err, mcp.ErrURLElicitation) {
					t.Errorf("error %v", err)
				}
			})
		})
	}
}
