package mcp

// The methods of requests.
const (
	MethodInitialize            = "initialize"
	MethodPing                  = "ping"
	MethodDiscover              = "server/discover"
	MethodToolsList             = "tools/list"
	MethodToolsCall             = "tools/call"
	MethodResourcesList         = "resources/list"
	MethodResourceTemplatesList = "resources/templates/list"
	MethodResourcesRead         = "resources/read"
	MethodResourcesSubscribe    = "resources/subscribe"
	MethodResourcesUnsubscribe  = "resources/unsubscribe"
	MethodPromptsList           = "prompts/list"
	MethodPromptsGet            = "prompts/get"
	MethodComplete              = "completion/complete"
	MethodSetLevel              = "logging/setLevel"
	MethodListen                = "subscriptions/listen"
	MethodCreateMessage         = "sampling/createMessage"
	MethodRootsList             = "roots/list"
	MethodElicit                = "elicitation/create"
	MethodTasksGet              = "tasks/get"
	MethodTasksResult           = "tasks/result"
	MethodTasksList             = "tasks/list"
	MethodTasksCancel           = "tasks/cancel"
	MethodTasksUpdate           = "tasks/update"
)

// The methods of notifications.
const (
	NotificationInitialized          = "notifications/initialized"
	NotificationCancelled            = "notifications/cancelled"
	NotificationProgress             = "notifications/progress"
	NotificationMessage              = "notifications/message"
	NotificationToolsListChanged     = "notifications/tools/list_changed"
	NotificationPromptsListChanged   = "notifications/prompts/list_changed"
	NotificationResourcesListChanged = "notifications/resources/list_changed"
	NotificationResourceUpdated      = "notifications/resources/updated"
	NotificationRootsListChanged     = "notifications/roots/list_changed"
	NotificationElicitationComplete  = "notifications/elicitation/complete"
	NotificationAcknowledged         = "notifications/subscriptions/acknowledged"
	NotificationLegacyTaskStatus     = "notifications/tasks/status"
	NotificationTasks                = "notifications/tasks"
)

// Method is one row of the protocol: a request or a notification.
type Method struct {
	Name string
	// From and Until are the first and the last revision that has it as a
	// message; Until is "" where the newest has it.
	From, Until Version
	// ToClient: the server sends it. Else the client does.
	ToClient bool
	// Both: the other side sends it too, up to BothUntil where that is set.
	Both      bool
	BothUntil Version
	// Notification: it is not answered.
	Notification bool
	// Question: since 2026-07-28 it is no message but may be in inputRequests.
	Question bool
	// Cacheable: its complete result has ttlMs and cacheScope since 2026-07-28.
	Cacheable bool
	// MayAsk: its result may be input_required since 2026-07-28.
	MayAsk bool
	// Acts: asking twice may do something twice.
	Acts bool
	// NameParam is the param that HTTP mirrors in Mcp-Name since 2026-07-28.
	NameParam string
	// Capability is the dotted name of what the receiver must have declared
	// (for notifications: what the sender must have), from CapabilityFrom on
	// where that is set; "" is nothing.
	Capability     string
	CapabilityFrom Version
	// Extension is the identifier of the extension that has it since
	// 2026-07-28; "" is the core.
	Extension string
}

// legacyLast is the last revision of the legacy era.
const legacyLast = V20251125

// methods is the table. It is read only.
var methods = [...]Method{
	{Name: MethodInitialize, From: V20241105, Until: legacyLast},
	{Name: MethodPing, From: V20241105, Until: legacyLast, Both: true},
	{Name: MethodDiscover, From: V20260728, Cacheable: true},
	{Name: MethodToolsList, From: V20241105, Cacheable: true, Capability: "tools"},
	{Name: MethodToolsCall, From: V20241105, MayAsk: true, Acts: true, NameParam: "name", Capability: "tools"},
	{Name: MethodResourcesList, From: V20241105, Cacheable: true, Capability: "resources"},
	{Name: MethodResourceTemplatesList, From: V20241105, Cacheable: true, Capability: "resources"},
	{Name: MethodResourcesRead, From: V20241105, Cacheable: true, MayAsk: true, NameParam: "uri", Capability: "resources"},
	{Name: MethodResourcesSubscribe, From: V20241105, Until: legacyLast, Capability: "resources.subscribe"},
	{Name: MethodResourcesUnsubscribe, From: V20241105, Until: legacyLast, Capability: "resources.subscribe"},
	{Name: MethodPromptsList, From: V20241105, Cacheable: true, Capability: "prompts"},
	{Name: MethodPromptsGet, From: V20241105, MayAsk: true, NameParam: "name", Capability: "prompts"},
	{Name: MethodComplete, From: V20241105, Capability: "completions", CapabilityFrom: V20250326},
	{Name: MethodSetLevel, From: V20241105, Until: legacyLast, Capability: "logging"},
	{Name: MethodListen, From: V20260728},
	{Name: MethodCreateMessage, From: V20241105, Until: legacyLast, ToClient: true, Question: true, Capability: "sampling"},
	{Name: MethodRootsList, From: V20241105, Until: legacyLast, ToClient: true, Question: true, Capability: "roots"},
	{Name: MethodElicit, From: V20250618, Until: legacyLast, ToClient: true, Question: true, Capability: "elicitation"},
	{Name: MethodTasksGet, From: V20251125, Both: true, BothUntil: legacyLast, NameParam: "taskId", Extension: ExtensionTasks},
	{Name: MethodTasksResult, From: V20251125, Until: V20251125, Both: true},
	{Name: MethodTasksList, From: V20251125, Until: V20251125, Both: true, Capability: "tasks.list"},
	{Name: MethodTasksCancel, From: V20251125, Both: true, BothUntil: legacyLast, NameParam: "taskId", Capability: "tasks.cancel", Extension: ExtensionTasks},
	{Name: MethodTasksUpdate, From: V20260728, NameParam: "taskId", Extension: ExtensionTasks},

	{Name: NotificationInitialized, From: V20241105, Until: legacyLast, Notification: true},
	{Name: NotificationCancelled, From: V20241105, Both: true, Notification: true},
	{Name: NotificationProgress, From: V20241105, ToClient: true, Both: true, BothUntil: legacyLast, Notification: true},
	{Name: NotificationMessage, From: V20241105, ToClient: true, Notification: true, Capability: "logging"},
	{Name: NotificationToolsListChanged, From: V20241105, ToClient: true, Notification: true, Capability: "tools.listChanged"},
	{Name: NotificationPromptsListChanged, From: V20241105, ToClient: true, Notification: true, Capability: "prompts.listChanged"},
	{Name: NotificationResourcesListChanged, From: V20241105, ToClient: true, Notification: true, Capability: "resources.listChanged"},
	{Name: NotificationResourceUpdated, From: V20241105, ToClient: true, Notification: true, Capability: "resources.subscribe"},
	{Name: NotificationRootsListChanged, From: V20241105, Until: legacyLast, Notification: true, Capability: "roots.listChanged"},
	{Name: NotificationElicitationComplete, From: V20251125, Until: V20251125, ToClient: true, Notification: true},
	{Name: NotificationAcknowledged, From: V20260728, ToClient: true, Notification: true},
	{Name: NotificationLegacyTaskStatus, From: V20251125, Until: V20251125, ToClient: true, Both: true, Notification: true},
	{Name: NotificationTasks, From: V20260728, ToClient: true, Notification: true, Extension: ExtensionTasks},
}

// Methods returns all rows.
func Methods() []Method {
	all := methods
	return all[:]
}

// MethodByName returns the row of a method, and false where no revision has it.
func MethodByName(name string) (Method, bool) {
	for i := range methods {
		if methods[i].Name == name {
			return methods[i], true
		}
	}
	return Method{}, false
}

// Repeatable reports whether a request can be sent again by who does not know
// what became of it. Of a method that no revision has nothing is known: it is
// not repeatable.
func Repeatable(method string) bool {
	m, known := MethodByName(method)
	return known && !m.Acts
}

// In reports whether the messages of revision v have the method, in either
// direction. In the modern era a method of an extension must be negotiated
// besides.
func (m Method) In(v Version) bool {
	return m.Name != "" && v >= m.From && (m.Until == "" || v <= m.Until)
}

// FromClient reports whether a client sends it in revision v.
func (m Method) FromClient(v Version) bool {
	return m.In(v) && (!m.ToClient || m.both(v))
}

// FromServer reports whether a server sends it in revision v.
func (m Method) FromServer(v Version) bool {
	return m.In(v) && (m.ToClient || m.both(v))
}

func (m Method) both(v Version) bool {
	return m.Both && (m.BothUntil == "" || v <= m.BothUntil)
}

// Capabilities returns all names that Needs may return.
func (m Method) Capabilities() []string {
	var names []string
	if m.Capability != "" {
		names = append(names, m.Capability)
	}
	if m.Extension != "" {
		names = append(names, extensionName+m.Extension)
	}
	return names
}

// Needs returns the dotted name of the capability that goes with the method
// in revision v, as [ServerCapabilities.Has] and [ClientCapabilities.Has] take
// it; "" where none does.
func (m Method) Needs(v Version) string {
	if m.Extension != "" && v > legacyLast {
		return extensionName + m.Extension
	}
	if v < m.CapabilityFrom {
		return ""
	}
	return m.Capability
}
