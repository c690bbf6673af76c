package mcp_test

import (
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/rpc"
)

// node is a part of a JSON Schema, as far as these tests read one.
type node struct {
	Ref         string           `json:"$ref"`
	Type        jsontext.Value   `json:"type"`
	Const       jsontext.Value   `json:"const"`
	Enum        []jsontext.Value `json:"enum"`
	Properties  map[string]*node `json:"properties"`
	Required    []string         `json:"required"`
	AnyOf       []*node          `json:"anyOf"`
	AllOf       []*node          `json:"allOf"`
	Items       *node            `json:"items"`
	Defs        map[string]*node `json:"$defs"`
	Definitions map[string]*node `json:"definitions"`
}

func (n *node) defs() map[string]*node {
	if n.Defs != nil {
		return n.Defs
	}
	return n.Definitions
}

// method returns the method that a definition is the envelope of.
func (n *node) method(defs map[string]*node) string {
	for _, part := range n.AllOf {
		if m := part.method(defs); m != "" {
			return m
		}
	}
	p := n.Properties["method"]
	if p == nil || p.Const == nil {
		return ""
	}
	var name string
	if json.Unmarshal(p.Const, &name) != nil {
		return ""
	}
	return name
}

// props returns the properties of a node with those of its allOf and $ref.
func (n *node) props(defs map[string]*node) map[string]*node {
	out := maps.Clone(n.Properties)
	if out == nil {
		out = map[string]*node{}
	}
	for _, part := range slices.Concat(n.AllOf, n.AnyOf) {
		maps.Copy(out, part.props(defs))
	}
	if n.Ref != "" {
		maps.Copy(out, defs[refName(n.Ref)].props(defs))
	}
	return out
}

func refName(ref string) string { return ref[strings.LastIndexByte(ref, '/')+1:] }

// sharedFolder returns the folder of the schemas, or skips the test.
func sharedFolder(t *testing.T) string {
	t.Helper()
	dir := os.Getenv("TENON_SHARED")
	if dir == "" {
		dir = filepath.Join("..", "..", "shared")
	}
	dir = filepath.Join(dir, "schema")
	if _, err := os.Stat(dir); err != nil {
		t.Skipf("the schemas of the protocol are not here: %v", err)
	}
	return dir
}

// tasksSchema stands for the schema of the tasks extension in these tests.
const tasksSchema = "tasks-extension"

func schemaNames() []string {
	names := []string{tasksSchema}
	for _, r := range mcp.Revisions() {
		names = append(names, string(r.Version))
	}
	return names
}

func schemaFile(dir, name string) string {
	if name == tasksSchema {
		return filepath.Join(dir, "tasks-extension.schema.json")
	}
	return filepath.Join(dir, name, "schema.json")
}

func readSchema(t *testing.T, dir, name string) *node {
	t.Helper()
	b, err := os.ReadFile(schemaFile(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	var n node
	if err := json.Unmarshal(b, &n); err != nil {
		t.Fatal(err)
	}
	return &n
}

// goTypes has the Go type of each definition. Requests, notifications and
// responses are envelopes of package rpc and not here.
func goTypes() map[string]any {
	return map[string]any{
		"Annotated":                         mcp.TextContent{},
		"Annotations":                       mcp.Annotations{},
		"AudioContent":                      mcp.AudioContent{},
		"BlobResourceContents":              mcp.ResourceContents{},
		"BooleanSchema":                     mcp.PrimitiveSchema{},
		"CacheableResult":                   mcp.ListToolsResult{},
		"CallToolRequestParams":             mcp.CallToolParams{},
		"CallToolResult":                    mcp.CallToolResult{},
		"CancelTaskResult":                  mcp.CancelTaskResult{},
		"CancelledNotificationParams":       mcp.CancelledParams{},
		"CancelledTask":                     mcp.GetTaskResult{},
		"ClientCapabilities":                mcp.ClientCapabilities{},
		"CompleteRequestParams":             mcp.CompleteParams{},
		"CompleteResult":                    mcp.CompleteResult{},
		"CompletedTask":                     mcp.GetTaskResult{},
		"CreateMessageRequestParams":        mcp.CreateMessageParams{},
		"CreateMessageResult":               mcp.CreateMessageResult{},
		"CreateTaskResult":                  mcp.CreateTaskResult{},
		"DetailedTask":                      mcp.GetTaskResult{},
		"DiscoverResult":                    mcp.DiscoverResult{},
		"ElicitRequestFormParams":           mcp.ElicitParams{},
		"ElicitRequestURLParams":            mcp.ElicitParams{},
		"ElicitResult":                      mcp.ElicitResult{},
		"EmbeddedResource":                  mcp.EmbeddedResource{},
		"Error":                             rpc.Error{},
		"FailedTask":                        mcp.GetTaskResult{},
		"GetPromptRequestParams":            mcp.GetPromptParams{},
		"GetPromptResult":                   mcp.GetPromptResult{},
		"GetTaskResult":                     mcp.GetTaskResult{},
		"Icon":                              mcp.Icon{},
		"ImageContent":                      mcp.ImageContent{},
		"Implementation":                    mcp.Implementation{},
		"InitializeRequestParams":           mcp.InitializeParams{},
		"InitializeResult":                  mcp.InitializeResult{},
		"InputRequiredResult":               mcp.InputRequiredResult{},
		"InputRequiredTask":                 mcp.GetTaskResult{},
		"InputResponseRequestParams":        mcp.CallToolParams{},
		"InternalError":                     rpc.Error{},
		"InvalidParamsError":                rpc.Error{},
		"InvalidRequestError":               rpc.Error{},
		"LegacyTitledEnumSchema":            mcp.PrimitiveSchema{},
		"ListPromptsResult":                 mcp.ListPromptsResult{},
		"ListResourceTemplatesResult":       mcp.ListResourceTemplatesResult{},
		"ListResourcesResult":               mcp.ListResourcesResult{},
		"ListRootsResult":                   mcp.ListRootsResult{},
		"ListTasksResult":                   mcp.ListTasksResult{},
		"ListToolsResult":                   mcp.ListToolsResult{},
		"LoggingMessageNotificationParams":  mcp.LogParams{},
		"MethodNotFoundError":               rpc.Error{},
		"ModelHint":                         mcp.ModelHint{},
		"ModelPreferences":                  mcp.ModelPreferences{},
		"NotificationParams":                mcp.ListChangedParams{},
		"NumberSchema":                      mcp.PrimitiveSchema{},
		"PaginatedRequestParams":            mcp.PaginatedParams{},
		"PaginatedResult":                   mcp.ListToolsResult{},
		"ParseError":                        rpc.Error{},
		"ProgressNotificationParams":        mcp.ProgressParams{},
		"Prompt":                            mcp.Prompt{},
		"PromptArgument":                    mcp.PromptArgument{},
		"PromptMessage":                     mcp.PromptMessage{},
		"PromptReference":                   mcp.CompleteReference{},
		"ReadResourceRequestParams":         mcp.ReadResourceParams{},
		"ReadResourceResult":                mcp.ReadResourceResult{},
		"RelatedTaskMetadata":               mcp.RelatedTask{},
		"RequestMetaObject":                 mcp.RequestMeta{},
		"RequestParams":                     mcp.DiscoverParams{},
		"Resource":                          mcp.Resource{},
		"ResourceContents":                  mcp.ResourceContents{},
		"ResourceLink":                      mcp.ResourceLink{},
		"ResourceReference":                 mcp.CompleteReference{},
		"ResourceRequestParams":             mcp.ReadResourceParams{},
		"ResourceTemplate":                  mcp.ResourceTemplate{},
		"ResourceTemplateReference":         mcp.CompleteReference{},
		"ResourceUpdatedNotificationParams": mcp.ResourceUpdatedParams{},
		"Result":                            mcp.Result{},
		"Root":                              mcp.Root{},
		"SamplingMessage":                   mcp.SamplingMessage{},
		"ServerCapabilities":                mcp.ServerCapabilities{},
		"SetLevelRequestParams":             mcp.SetLevelParams{},
		"StringSchema":                      mcp.PrimitiveSchema{},
		"SubscribeRequestParams":            mcp.SubscribeParams{},
		"SubscriptionFilter":                mcp.Filter{},
		"SubscriptionsAcknowledgedNotificationParams": mcp.AcknowledgedParams{},
		"SubscriptionsListenRequestParams":            mcp.ListenParams{},
		"SubscriptionsListenResult":                   mcp.ListenResult{},
		"Task":                                        mcp.Task{},
		"TaskAugmentedRequestParams":                  mcp.CallToolParams{},
		"TaskMetadata":                                mcp.TaskMetadata{},
		"TaskStatusNotificationParams":                mcp.TaskStatusParams{},
		"TaskSubscriptionAcknowledgedNotifications":   mcp.Filter{},
		"TaskSubscriptionNotifications":               mcp.Filter{},
		"TextContent":                                 mcp.TextContent{},
		"TextResourceContents":                        mcp.ResourceContents{},
		"TitledMultiSelectEnumSchema":                 mcp.PrimitiveSchema{},
		"TitledSingleSelectEnumSchema":                mcp.PrimitiveSchema{},
		"Tool":                                        mcp.Tool{},
		"ToolAnnotations":                             mcp.ToolAnnotations{},
		"ToolChoice":                                  mcp.ToolChoice{},
		"ToolExecution":                               mcp.ToolExecution{},
		"ToolResultContent":                           mcp.ToolResultContent{},
		"ToolUseContent":                              mcp.ToolUseContent{},
		"UnsubscribeRequestParams":                    mcp.UnsubscribeParams{},
		"UntitledMultiSelectEnumSchema":               mcp.PrimitiveSchema{},
		"UntitledSingleSelectEnumSchema":              mcp.PrimitiveSchema{},
		"UpdateTaskResult":                            mcp.UpdateTaskResult{},
		"WorkingTask":                                 mcp.GetTaskResult{},
	}
}

// legacyTaskTypes are those definitions of 2025-11-25 whose names the
// extension uses for something else.
func legacyTaskTypes() map[string]any {
	return map[string]any{
		"CancelTaskResult":             mcp.LegacyGetTaskResult{},
		"CreateTaskResult":             mcp.LegacyCreateTaskResult{},
		"GetTaskResult":                mcp.LegacyGetTaskResult{},
		"Task":                         mcp.LegacyTask{},
		"TaskStatusNotificationParams": mcp.LegacyTaskStatusParams{},
	}
}

// paramsTypes has the Go type of the params of each method.
func paramsTypes() map[string]any {
	return map[string]any{
		mcp.MethodInitialize:                 mcp.InitializeParams{},
		mcp.MethodPing:                       mcp.Params{},
		mcp.MethodDiscover:                   mcp.DiscoverParams{},
		mcp.MethodToolsList:                  mcp.ListToolsParams{},
		mcp.MethodToolsCall:                  mcp.CallToolParams{},
		mcp.MethodResourcesList:              mcp.ListResourcesParams{},
		mcp.MethodResourceTemplatesList:      mcp.ListResourceTemplatesParams{},
		mcp.MethodResourcesRead:              mcp.ReadResourceParams{},
		mcp.MethodResourcesSubscribe:         mcp.SubscribeParams{},
		mcp.MethodResourcesUnsubscribe:       mcp.UnsubscribeParams{},
		mcp.MethodPromptsList:                mcp.ListPromptsParams{},
		mcp.MethodPromptsGet:                 mcp.GetPromptParams{},
		mcp.MethodComplete:                   mcp.CompleteParams{},
		mcp.MethodSetLevel:                   mcp.SetLevelParams{},
		mcp.MethodListen:                     mcp.ListenParams{},
		mcp.MethodCreateMessage:              mcp.CreateMessageParams{},
		mcp.MethodRootsList:                  mcp.ListRootsParams{},
		mcp.MethodElicit:                     mcp.ElicitParams{},
		mcp.MethodTasksGet:                   mcp.TaskParams{},
		mcp.MethodTasksResult:                mcp.TaskParams{},
		mcp.MethodTasksList:                  mcp.ListTasksParams{},
		mcp.MethodTasksCancel:                mcp.TaskParams{},
		mcp.MethodTasksUpdate:                mcp.UpdateTaskParams{},
		mcp.NotificationInitialized:          mcp.Params{},
		mcp.NotificationCancelled:            mcp.CancelledParams{},
		mcp.NotificationProgress:             mcp.ProgressParams{},
		mcp.NotificationMessage:              mcp.LogParams{},
		mcp.NotificationToolsListChanged:     mcp.ListChangedParams{},
		mcp.NotificationPromptsListChanged:   mcp.ListChangedParams{},
		mcp.NotificationResourcesListChanged: mcp.ListChangedParams{},
		mcp.NotificationResourceUpdated:      mcp.ResourceUpdatedParams{},
		mcp.NotificationRootsListChanged:     mcp.ListChangedParams{},
		mcp.NotificationElicitationComplete:  mcp.ElicitationCompleteParams{},
		mcp.NotificationAcknowledged:         mcp.AcknowledgedParams{},
		mcp.NotificationLegacyTaskStatus:     mcp.LegacyTaskStatusParams{},
		mcp.NotificationTasks:                mcp.TaskStatusParams{},
	}
}

// noType has the definitions without a Go struct, with the reason.
func noType() map[string]string {
	reasons := map[string]string{
		"BaseMetadata":                        "a base of others: its members are in each of them",
		"Icons":                               "a base of others: its members are in each of them",
		"ResultMetaObject":                    "Meta has helpers for its keys",
		"NotificationMetaObject":              "Meta has helpers for its keys",
		"SubscriptionsListenResultMetaObject": "Meta has helpers for its keys",
		"MetaObject":                          "Meta",
		"GetTaskPayloadResult":                "the result of whatever became a task",
		"Notification":                        "rpc.Request",
		"Request":                             "rpc.Request",
		"PaginatedRequest":                    "rpc.Request",
		"TasksExtensionCapability":            "a value of ClientCapabilities.Extensions",
		"InputRequests":                       "a map",
		"InputResponses":                      "a map",
		"EmptyResult":                         "Result",
	}
	for _, scalar := range []string{"Cursor", "LoggingLevel", "ProgressToken", "RequestId", "ResultType", "Role", "TaskStatus", "JSONArray", "JSONObject", "JSONValue"} {
		reasons[scalar] = "not an object"
	}
	for _, union := range []string{
		"ClientNotification", "ClientRequest", "ClientResult", "ServerNotification", "ServerRequest", "ServerResult",
		"ContentBlock", "SamplingMessageContentBlock", "ElicitRequestParams", "EnumSchema", "SingleSelectEnumSchema", "MultiSelectEnumSchema",
		"PrimitiveSchemaDefinition", "InputRequest", "InputResponse",
	} {
		reasons[union] = "a union of others"
	}
	for _, err := range []string{"URLElicitationRequiredError", "HeaderMismatchError", "MissingRequiredClientCapabilityError", "UnsupportedProtocolVersionError"} {
		reasons[err] = "an error response: errors_test.go"
	}
	return reasons
}

func goType(schema, def string) any {
	if schema == string(mcp.V20251125) {
		if v, ok := legacyTaskTypes()[def]; ok {
			return v
		}
	}
	return goTypes()[def]
}

// fields returns the JSON members of a struct with the types of their fields.
func fields(t reflect.Type) map[string]reflect.Type {
	out := map[string]reflect.Type{}
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct {
		return out
	}
	for f := range t.Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case f.Anonymous && name == "":
			maps.Copy(out, fields(f.Type))
		case f.IsExported() && name != "":
			out[name] = f.Type
		}
	}
	if reflect.PointerTo(t).Implements(reflect.TypeFor[mcp.Content]()) {
		out["type"] = reflect.TypeFor[string]()
	}
	return out
}

// opaque reports whether a field holds JSON of any shape.
func opaque(t reflect.Type) bool {
	return t == reflect.TypeFor[jsontext.Value]() || t.Kind() == reflect.Map || t.Kind() == reflect.Interface
}

// coverage compares schemas with Go types, and remembers what it saw.
type coverage struct {
	t    *testing.T
	defs map[string]*node
	seen map[reflect.Type]map[string]bool
}

func (c *coverage) check(path string, n *node, typ reflect.Type) {
	for typ.Kind() == reflect.Pointer || typ.Kind() == reflect.Slice {
		typ = typ.Elem()
	}
	have := fields(typ)
	if c.seen[typ] == nil {
		c.seen[typ] = map[string]bool{}
	}
	for name, prop := range n.props(c.defs) {
		ft, ok := have[name]
		if !ok {
			c.t.Errorf("%s: %v has no member %q", path, typ, name)
			continue
		}
		c.seen[typ][name] = true
		for prop.Items != nil {
			prop = prop.Items
		}
		if prop.Ref == "" && len(prop.Properties) > 0 && !opaque(ft) {
			c.check(path+"/"+name, prop, ft)
		}
	}
}

func TestSchemaCoverage(t *testing.T) {
	t.Parallel()
	dir := sharedFolder(t)
	seen := map[reflect.Type]map[string]bool{}
	for _, name := range schemaNames() {
		schema := readSchema(t, dir, name)
		c := &coverage{t: t, defs: schema.defs(), seen: seen}
		for def, n := range schema.defs() {
			c.definition(name, def, n)
		}
	}
	if len(seen) < 60 {
		t.Errorf("only %d types were compared", len(seen))
	}
	for typ, names := range seen {
		for name := range fields(typ) {
			known := notInSchema[typ.Name()+"."+name]
			if names[name] && known {
				t.Errorf("%v: a revision has the member %q after all", typ, name)
			}
			if !names[name] && !known {
				t.Errorf("%v has the member %q, which no revision has", typ, name)
			}
		}
	}
}

// notInSchema are members that schemas leave out though the protocol has them.
var notInSchema = map[string]bool{
	"ListTasksResult.resultType":        true, // of 2025-11-25 only, but a Result like others
	"LegacyCreateTaskResult.resultType": true,
	"LegacyGetTaskResult.resultType":    true,
	"InitializeResult.resultType":       true,
	"ElicitResult.resultType":           true,
	"CreateMessageResult.resultType":    true,
	"ListRootsResult.resultType":        true,
	"GetPromptResult.inputRequests":     true, // InputRequiredResult takes its place
	"GetPromptResult.requestState":      true,
	"CallToolResult.inputRequests":      true,
	"CallToolResult.requestState":       true,
	"ReadResourceResult.inputRequests":  true,
	"ReadResourceResult.requestState":   true,
	"TaskParams._meta":                  true, // inline params without the common part
	"UpdateTaskParams._meta":            true,
	"ElicitationCompleteParams._meta":   true,
}

func (c *coverage) definition(schema, def string, n *node) {
	path := schema + " " + def
	if strings.HasPrefix(def, "JSONRPC") || strings.HasSuffix(def, "ResultResponse") || noType()[def] != "" {
		return
	}
	if m := n.method(c.defs); m != "" {
		params, ok := paramsTypes()[m]
		if !ok {
			c.t.Errorf("%s: no type for the params of %s", path, m)
			return
		}
		if p := n.props(c.defs)["params"]; p != nil {
			c.check(path+"/params", p, reflect.TypeOf(params))
		}
		return
	}
	v := goType(schema, def)
	if v == nil {
		c.t.Errorf("%s: no Go type and no reason", path)
		return
	}
	c.check(path, n, reflect.TypeOf(v))
}
