package mcptest_test

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/tenon-mcp/tenon/client"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/server"
)

// order is a form with a field of every kind.
type order struct {
	Name  string    `json:"name" jsonschema:"whose,minLength=2"`
	Seats int       `json:"seats" jsonschema:"minimum=1,default=2"`
	Size  string    `json:"size" jsonschema:"enum=small|large,default=large"`
	Extra []string  `json:"extra,omitzero" jsonschema:"enum=milk|sugar"`
	Tip   *float64  `json:"tip"`
	Now   bool      `json:"now" jsonschema:"default=true"`
	When  time.Time `json:"when,omitzero"`
	Site  url.URL   `json:"site,omitzero"`
}

func TestElicitForm(t *testing.T) {
	t.Parallel()
	eachEra(t, nil, func(t *testing.T, e era) {
		if !e.since(mcp.V20250618) {
			return
		}
		addTool(e, "order", func(ctx context.Context, _ none) (string, error) {
			o, action, err := server.ElicitForm[order](ctx, server.CallFrom(ctx), "order", "please")
			if err != nil || action != mcp.ElicitAccept {
				return string(action), err
			}
			return fmt.Sprintf("%s %d %s %v %v %v %s", o.Name, o.Seats, o.Size, o.Extra, o.Tip != nil, o.Now, o.Site.String()), nil
		})
		var answer map[string]jsontext.Value
		e.opts.Elicit = func(_ context.Context, p *mcp.ElicitParams) (*mcp.ElicitResult, error) {
			if err := mcp.CheckForm(p.RequestedSchema); err != nil {
				t.Error(err)
			}
			lists := strings.Contains(string(p.RequestedSchema), "array")
			presets := strings.Contains(string(p.RequestedSchema), `"default":"large"`)
			if lists != e.since(mcp.V20251125) || presets != e.since(mcp.V20251125) || !strings.Contains(string(p.RequestedSchema), `"default":true`) {
				t.Errorf("form %s", p.RequestedSchema)
			}
			if answer == nil {
				return &mcp.ElicitResult{Action: mcp.ElicitDecline}, nil
			}
			return &mcp.ElicitResult{Action: mcp.ElicitAccept, Content: answer}, nil
		}
		for _, fills := range []bool{false, true} { // the defaults are filled in on one side or on the other
			e.opts.ElicitDefaults = fills
			c := e.connect()
			answer = map[string]jsontext.Value{"name": jsontext.Value(`"Ada"`), "site": jsontext.Value(`"https://a.b/c"`)}
			equal(t, "defaults", must[string](t)(client.CallTool[string](t.Context(), c, "order", nil)), "Ada 2 large [] false true https://a.b/c")
			answer["seats"], answer["now"], answer["tip"] = jsontext.Value("3"), jsontext.Value("false"), jsontext.Value("0.5")
			want := "Ada 3 large [] true false https://a.b/c"
			if e.since(mcp.V20251125) {
				answer["extra"] = jsontext.Value(`["milk"]`)
				want = "Ada 3 large [milk] true false https://a.b/c"
			}
			equal(t, "filled in", must[string](t)(client.CallTool[string](t.Context(), c, "order", nil)), want)
			answer = nil
			equal(t, "declined", must[string](t)(client.CallTool[string](t.Context(), c, "order", nil)), "decline")
			for _, wrong := range []map[string]jsontext.Value{
				{"name": jsontext.Value(`"A"`)},
				{"seats": jsontext.Value("1")},
				{"name": jsontext.Value(`"Ada"`), "size": jsontext.Value(`"vast"`)},
			} {
				answer = wrong
				if res, err := client.CallTool[string](t.Context(), c, "order", nil); err == nil {
					t.Errorf("%v: %s", wrong, res)
				}
			}
		}
	})
}

// TestBadForm has a question that is no form refused before anybody is asked.
func TestBadForm(t *testing.T) {
	t.Parallel()
	eachEra(t, nil, func(t *testing.T, e era) {
		addTool(e, "bad", func(ctx context.Context, _ none) (string, error) {
			_, err := server.CallFrom(ctx).Elicit(ctx, "q", &mcp.ElicitParams{RequestedSchema: jsontext.Value(`{"type":"object","properties":{"a":{"type":"object"}}}`)})
			if err == nil || !strings.Contains(err.Error(), `field "a"`) {
				t.Errorf("error %v", err)
			}
			return "", nil
		})
		e.opts.Elicit = func(context.Context, *mcp.ElicitParams) (*mcp.ElicitResult, error) {
			t.Error("asked")
			return nil, nil
		}
		if _, err := client.CallTool[string](t.Context(), e.connect(), "bad", nil); err != nil {
			t.Error(err)
		}
	})
}

func TestFormFor(t *testing.T) {
	t.Parallel()
	type nested struct {
		A struct {
			B int `json:"b"`
		} `json:"a"`
	}
	type free struct {
		A []string `json:"a"`
	}
	type pattern struct {
		A string `json:"a" jsonschema:"pattern=^a"`
	}
	for want, get := range map[string]func() (jsontext.Value, error){
		`field "a"`:                             server.FormFor[nested],
		`field "a": there is nothing to choose`: server.FormFor[free],
		`field "a": a form has no pattern`:      server.FormFor[pattern],
		`it must be a struct`:                   server.FormFor[int],
	} {
		if got, err := get(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s, %v; want %s", got, err, want)
		}
	}
}

// TestReviewOfSampling has a person see, change and refuse what goes to the
// model and what comes from it.
func TestReviewOfSampling(t *testing.T) {
	t.Parallel()
	eachEra(t, nil, func(t *testing.T, e era) {
		addTool(e, "ask", func(ctx context.Context, _ none) (string, error) {
			res, err := server.CallFrom(ctx).Sample(ctx, "q", &mcp.CreateMessageParams{
				Messages: []mcp.SamplingMessage{{Role: mcp.RoleUser, Content: mcp.OneOrMany{mcp.Text("secret?")}}}, MaxTokens: 9,
			})
			if err != nil {
				return "", err
			}
			return res.Content[0].(*mcp.TextContent).Text, nil
		})
		var before, after error
		e.opts.Sample = func(_ context.Context, p *mcp.CreateMessageParams) (*mcp.CreateMessageResult, error) {
			return &mcp.CreateMessageResult{Role: mcp.RoleAssistant, Model: "m", Content: mcp.OneOrMany{mcp.Text("to " + p.Messages[0].Content[0].(*mcp.TextContent).Text)}}, nil
		}
		e.opts.ReviewSampleRequest = func(_ context.Context, p *mcp.CreateMessageParams) error {
			p.Messages[0].Content = mcp.OneOrMany{mcp.Text("hello")}
			return before
		}
		e.opts.ReviewSampleResult = func(_ context.Context, _ *mcp.CreateMessageParams, r *mcp.CreateMessageResult) error {
			r.Content = mcp.OneOrMany{mcp.Text(r.Content[0].(*mcp.TextContent).Text + ", seen")}
			return after
		}
		c := e.connect()
		equal(t, "changed", must[string](t)(client.CallTool[string](t.Context(), c, "ask", nil)), "to hello, seen")
		for _, refuse := range []*error{&before, &after} {
			before, after = nil, nil
			*refuse = fmt.Errorf("no: %w", client.ErrRejected)
			if res, err := client.CallTool[string](t.Context(), c, "ask", nil); err == nil || !strings.Contains(err.Error(), "rejected") {
				t.Errorf("rejected: %s, %v", res, err)
			}
			*refuse = errors.New("secret of the client")
			if res, err := client.CallTool[string](t.Context(), c, "ask", nil); err == nil {
				t.Errorf("failed: %s, %v", res, err)
			}
		}
	})
}
