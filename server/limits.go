package server

import (
	"time"
	"unicode/utf8"
)

// Limits bounds what a client, or a schema from elsewhere, can make a server
// do. In every field zero means the default and a negative value means no
// limit.
type Limits struct {
	// ArgumentBytes is the size of the arguments of one call, as JSON.
	ArgumentBytes int
	// SchemaBytes is the size of one schema of a tool.
	SchemaBytes int
	// SchemaDepth is how deep the schemas of a tool are nested.
	SchemaDepth int
	// Subschemas is how many schemas one schema of a tool consists of, those
	// counted again that are reached through references without going deeper
	// into the value.
	Subschemas int
	// Subscriptions is how many resource URIs one subscriber may watch.
	Subscriptions int
	// Listeners is how many subscriptions/listen requests are served at once.
	Listeners int
	// Questions is how many answers one request may carry, in requestState
	// and beside it together, and how many questions one round may ask.
	Questions int
	// StateBytes is the size of a requestState, sealed.
	StateBytes int
	// Tasks is how many tasks are kept in memory, and TasksOfOne how many of one
	// principal. A store of your own has its own limits.
	Tasks, TasksOfOne int
	// TaskResultBytes is the size of the result of a task, as JSON.
	TaskResultBytes int
	// QueuedLogs is how many unsolicited log messages wait for one slow
	// session; the oldest give way.
	QueuedLogs int
	// QueuedUpdates is how many changes of resources wait for one slow
	// subscriber. Further changes of a resource that waits are told with it.
	QueuedUpdates int
	// QueuedNotifications is how many notifications of one client wait for
	// the callbacks of the server's author; further ones are dropped.
	QueuedNotifications int
}

const (
	// Big enough for a file in Base64, small enough for a hundred calls at once.
	defaultArgumentBytes = 8 << 20
	// Ten times the biggest schema seen in the wild.
	defaultSchemaBytes = 1 << 20
	// People write up to 10 levels, generators up to 30.
	defaultSchemaDepth = 64
	// Compiling this many takes some milliseconds.
	defaultSubschemas = 10_000
	// An editor watches the files that are open.
	defaultSubscriptions = 1000
	// Each one is an open stream that the transport pays for as well.
	defaultListeners = 10_000
	// Questions are read by people.
	defaultQuestions = 64
	// The state goes to the client and back with every round, beside
	// everything else that is in the message.
	defaultStateBytes = 256 << 10
	// Each is some hundred bytes and its result.
	defaultTasks = 10_000
	// Where all clients are the same principal, that is the limit of all.
	defaultTasksOfOne = 1000
	// As much as one message of a client may have.
	defaultTaskResultBytes = 16 << 20
	// People do not notice a tenth of a second, and most tools take less.
	defaultTaskAfter = 100 * time.Millisecond
	// Long enough for who closes the laptop for lunch.
	defaultTaskTTL    = time.Hour
	defaultTaskMaxTTL = 24 * time.Hour
	// What a client may ask for in milliseconds without going round.
	maxTaskTTL      = 100 * 365 * 24 * time.Hour
	defaultTaskPoll = time.Second
	// A task of a client is asked for no more often than this, and no less.
	minTaskPoll = 50 * time.Millisecond
	maxTaskPoll = time.Minute
	// taskGoodbye bounds telling a client that its task is not wanted any more.
	taskGoodbye = 5 * time.Second
	// Our own IDs have 26 bytes; those of other stores may have more.
	maxTaskIDBytes = 256
	// A burst during a network hiccup.
	defaultQueuedLogs = 256
	// As the logs above; each is a URI that is there anyway.
	defaultQueuedUpdates = 256
	// The callbacks are short; a client that fills this is broken or hostile.
	defaultQueuedNotifications = 256
	// defaultPageSize is above what nearly all servers have, as there are
	// clients that read the first page only.
	defaultPageSize = 1000
	// maxKeyBytes is how long a name of a feature, or a URI, may be: as much as
	// RFC 9110, section 4.1, wants everybody to take. URIs are matched with
	// every template, and kept by subscriptions.
	maxKeyBytes = 8 << 10
	// maxCursorBytes is that key with the kind of list, as Base64.
	maxCursorBytes = (maxKeyBytes+16)*4/3 + 4
	// maxEchoed is how much of a client's text is repeated in an error.
	maxEchoed = 100
)

func (l Limits) withDefaults() Limits {
	for _, f := range []struct {
		field *int
		value int
	}{
		{&l.ArgumentBytes, defaultArgumentBytes},
		{&l.SchemaBytes, defaultSchemaBytes},
		{&l.SchemaDepth, defaultSchemaDepth},
		{&l.Subschemas, defaultSubschemas},
		{&l.Subscriptions, defaultSubscriptions},
		{&l.Listeners, defaultListeners},
		{&l.Questions, defaultQuestions},
		{&l.StateBytes, defaultStateBytes},
		{&l.Tasks, defaultTasks},
		{&l.TasksOfOne, defaultTasksOfOne},
		{&l.TaskResultBytes, defaultTaskResultBytes},
		{&l.QueuedLogs, defaultQueuedLogs},
		{&l.QueuedUpdates, defaultQueuedUpdates},
		{&l.QueuedNotifications, defaultQueuedNotifications},
	} {
		if *f.field == 0 {
			*f.field = f.value
		}
	}
	return l
}

// over reports whether n is more than the limit allows.
func over(n, limit int) bool { return limit >= 0 && n > limit }

// capped shortens a client's text for an error message, between characters.
func capped(s string) string {
	if len(s) <= maxEchoed {
		return s
	}
	end := maxEchoed
	for end > 0 && !utf8.RuneStart(s[end]) {
		end--
	}
	return s[:end] + "…"
}
