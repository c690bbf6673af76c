package client

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"strconv"
	"strings"
	"sync"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/jsonschema-go/jsonschema"

	"github.com/tenon-mcp/tenon/mcp"
)

// OutputCheck says what happens when structured content breaks the output
// schema that the tool was listed with. A tool that was never listed, and a
// result with IsError, is not checked.
type OutputCheck int

const (
	// WarnOutput logs it and returns the result.
	WarnOutput OutputCheck = iota
	// StrictOutput returns an [*OutputError].
	StrictOutput
	// SkipOutput does not check.
	SkipOutput
)

func (c *Client) checkOutput(ctx context.Context, tool string, res *mcp.CallToolResult) error {
	if c.opts.Output == SkipOutput || res.IsError || res.ResultType != "" && res.ResultType != mcp.ResultComplete {
		return nil
	}
	e := c.tools.entry(tool)
	if e == nil || e.output == nil {
		return nil
	}
	err := e.output.check(res.StructuredContent, c.opts.Limits.OutputBytes)
	if err == nil {
		return nil
	}
	level := slog.LevelWarn
	switch {
	case errors.Is(err, errNotChecked):
		level = slog.LevelDebug
	case c.opts.Output == StrictOutput:
		return &OutputError{Tool: tool, Result: res, Err: err}
	}
	// Which value is wrong is payload: it is not logged.
	c.log.Log(ctx, level, "client: structured content was not found to fit the output schema",
		"tool", excerpt(tool, 128), "unchecked", errors.Is(err, errNotChecked))
	return nil
}

// errNotChecked is wrapped where a limit or the schema itself prevents the
// check.
var errNotChecked = errors.New("not checked")

// outputSchema compiles a schema when it is first needed.
type outputSchema struct {
	raw     jsontext.Value
	compile func() (*jsonschema.Resolved, error)
}

func newOutputSchema(raw jsontext.Value, maxBytes int) *outputSchema {
	return &outputSchema{raw: raw, compile: sync.OnceValues(func() (*jsonschema.Resolved, error) {
		return compileSchema(raw, maxBytes)
	})}
}

func (s *outputSchema) is(raw jsontext.Value) bool { return bytes.Equal(s.raw, raw) }

func (s *outputSchema) check(content jsontext.Value, maxBytes int) error {
	if len(content) == 0 {
		return errors.New("the tool has an output schema, the result no structured content")
	}
	if over(len(content), maxBytes) {
		return fmt.Errorf("%w: structured content over Limits.OutputBytes", errNotChecked)
	}
	r, err := s.compile()
	if err != nil {
		return err
	}
	return validate(r, content)
}

// compileSchema reads a schema of the server. References to elsewhere are not
// followed: nothing is fetched because a server said so.
func compileSchema(raw jsontext.Value, maxBytes int) (*jsonschema.Resolved, error) {
	if over(len(raw), maxBytes) {
		return nil, fmt.Errorf("%w: schema over Limits.SchemaBytes", errNotChecked)
	}
	var tree any
	if err := json.Unmarshal(raw, &tree); err != nil {
		return nil, fmt.Errorf("%w: schema: %w", errNotChecked, err)
	}
	e := expansion{root: tree, open: map[string]bool{"#": true}, left: maxSubschemas}
	if err := e.walk(tree, 0); err != nil {
		return nil, fmt.Errorf("%w: schema: %w", errNotChecked, err)
	}
	s := new(jsonschema.Schema)
	if err := s.UnmarshalJSON(raw); err != nil {
		return nil, fmt.Errorf("%w: schema: %w", errNotChecked, err)
	}
	r, err := s.Resolve(nil)
	if err != nil {
		return nil, fmt.Errorf("%w: schema: %w", errNotChecked, err)
	}
	return r, nil
}

// expansion walks a schema as if every reference were replaced by what it
// refers to. What is bounded so cannot keep the validator busy for ever, nor
// end its stack.
type expansion struct {
	root any
	open map[string]bool // references that are being walked
	left int
}

func (e *expansion) walk(v any, depth int) error {
	if e.left--; e.left < 0 || depth > maxSchemaDepth {
		return errors.New("too large with its references replaced")
	}
	switch v := v.(type) {
	case []any:
		for _, m := range v {
			if err := e.walk(m, depth+1); err != nil {
				return err
			}
		}
	case map[string]any:
		for key, m := range v {
			ref, isText := m.(string)
			switch {
			case key == "$ref" && isText:
				if err := e.follow(ref, depth+1); err != nil {
					return err
				}
			case key == "$dynamicRef", key == "$recursiveRef":
				return errors.New(key + " is not followed")
			default:
				if err := e.walk(m, depth+1); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func (e *expansion) follow(ref string, depth int) error {
	if e.open[ref] {
		return errors.New("a reference leads back to itself")
	}
	target, ok := at(e.root, ref)
	if !ok {
		return errors.New("a reference leads to no place in the schema")
	}
	e.open[ref] = true
	defer delete(e.open, ref)
	return e.walk(target, depth)
}

// at resolves a JSON pointer in a fragment.
func at(v any, ref string) (any, bool) {
	rest, ok := strings.CutPrefix(ref, "#/")
	if !ok {
		return nil, false
	}
	for name := range strings.SplitSeq(rest, "/") {
		name = strings.NewReplacer("~1", "/", "~0", "~").Replace(name)
		switch m := v.(type) {
		case map[string]any:
			v, ok = m[name]
		case []any:
			i, err := strconv.Atoi(name)
			if ok = err == nil && i >= 0 && i < len(m); ok {
				v = m[i]
			}
		default:
			ok = false
		}
		if !ok {
			return nil, false
		}
	}
	return v, true
}

func validate(r *jsonschema.Resolved, content jsontext.Value) (err error) {
	defer func() {
		if p := recover(); p != nil { // a schema that the validator is not made for
			err = fmt.Errorf("%w: the validator gave up: %v", errNotChecked, p)
		}
	}()
	var v any
	if err := json.Unmarshal(content, &v); err != nil {
		return err
	}
	return r.Validate(v)
}

// checkForm checks what a user filled in against the form.
func (c *Client) checkForm(p *mcp.ElicitParams, content map[string]jsontext.Value) error {
	if len(p.RequestedSchema) == 0 {
		return nil
	}
	r, err := compileSchema(p.RequestedSchema, c.opts.Limits.SchemaBytes)
	if err != nil {
		c.log.Debug("client: form not checked", "error", err)
		return nil
	}
	raw, err := json.Marshal(content)
	if err != nil {
		return err
	}
	if err := validate(r, raw); err != nil && !errors.Is(err, errNotChecked) {
		return err
	}
	return nil
}

// withDefaults returns content with the defaults of the form where it has no
// value.
func withDefaults(form jsontext.Value, content map[string]jsontext.Value) map[string]jsontext.Value {
	var s struct {
		Properties map[string]struct {
			Default jsontext.Value `json:"default"`
		} `json:"properties"`
	}
	if json.Unmarshal(form, &s) != nil {
		return content
	}
	out := maps.Clone(content)
	for name, p := range s.Properties {
		if _, has := out[name]; has || len(p.Default) == 0 {
			continue
		}
		if out == nil {
			out = make(map[string]jsontext.Value)
		}
		out[name] = p.Default
	}
	return out
}
