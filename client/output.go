package client

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"sync"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/tenon-mcp/tenon/internal/schema"
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
	compile func() (*schema.Schema, error)
}

func newOutputSchema(raw jsontext.Value, maxBytes int) *outputSchema {
	return &outputSchema{raw: raw, compile: sync.OnceValues(func() (*schema.Schema, error) {
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
	compiled, err := s.compile()
	if err != nil {
		return err
	}
	return validate(compiled, "structuredContent", content)
}

// compileSchema reads a schema of the server. References to elsewhere are not
// followed: nothing is fetched because a server said so.
func compileSchema(raw jsontext.Value, maxBytes int) (*schema.Schema, error) {
	s, err := schema.Compile(raw, schema.Limits{Bytes: maxBytes, Depth: maxSchemaDepth, Subschemas: maxSubschemas})
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errNotChecked, err)
	}
	return s, nil
}

// validate checks content, which is called name.
func validate(s *schema.Schema, name string, content jsontext.Value) error {
	err := s.Validate(content)
	if errors.Is(err, schema.ErrTooCostly) {
		return fmt.Errorf("%w: %s %w", errNotChecked, name, schema.ErrTooCostly)
	}
	if e, ok := errors.AsType[*schema.Error](err); ok {
		return errors.New(e.Explain(name))
	}
	return err
}

// checkForm checks what a user filled in against the form.
func (c *Client) checkForm(p *mcp.ElicitParams, content map[string]jsontext.Value) error {
	if len(p.RequestedSchema) == 0 {
		return nil
	}
	form, err := compileSchema(p.RequestedSchema, c.opts.Limits.SchemaBytes)
	if err != nil {
		c.log.Debug("client: form not checked", "error", err)
		return nil
	}
	raw, err := json.Marshal(content)
	if err != nil {
		return err
	}
	if err := validate(form, "content", raw); err != nil && !errors.Is(err, errNotChecked) {
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
