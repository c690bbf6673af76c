package mcp

import (
	"log/slog"
	"slices"

	"github.com/go-json-experiment/json/jsontext"
)

// LoggingLevel is a severity of RFC 5424. Logging is deprecated in 2026-07-28.
type LoggingLevel string

// The levels, from the least to the most severe.
const (
	LevelDebug     LoggingLevel = "debug"
	LevelInfo      LoggingLevel = "info"
	LevelNotice    LoggingLevel = "notice"
	LevelWarning   LoggingLevel = "warning"
	LevelError     LoggingLevel = "error"
	LevelCritical  LoggingLevel = "critical"
	LevelAlert     LoggingLevel = "alert"
	LevelEmergency LoggingLevel = "emergency"
)

var levels = [...]LoggingLevel{
	LevelDebug, LevelInfo, LevelNotice, LevelWarning,
	LevelError, LevelCritical, LevelAlert, LevelEmergency,
}

// LoggingLevels returns the eight levels, from the least to the most severe.
func LoggingLevels() []LoggingLevel { return slices.Clone(levels[:]) }

// slogLevels keeps the distance that slog has between its own levels.
var slogLevels = [len(levels)]slog.Level{
	slog.LevelDebug, slog.LevelInfo, slog.LevelInfo + 2, slog.LevelWarn,
	slog.LevelError, slog.LevelError + 4, slog.LevelError + 8, slog.LevelError + 12,
}

// Severity returns 0 for debug to 7 for emergency, and -1 for a level that is
// not known.
func (l LoggingLevel) Severity() int { return slices.Index(levels[:], l) }

// Valid reports whether l is one of the eight levels.
func (l LoggingLevel) Valid() bool { return l.Severity() >= 0 }

// Covers reports whether a message of level m is wanted by somebody who asked
// for l. The zero level covers nothing.
func (l LoggingLevel) Covers(m LoggingLevel) bool {
	return l.Valid() && m.Severity() >= l.Severity()
}

// Slog returns the level for package slog; a level that is not known is info.
func (l LoggingLevel) Slog() slog.Level {
	if i := l.Severity(); i >= 0 {
		return slogLevels[i]
	}
	return slog.LevelInfo
}

// LevelOf returns the highest level that is not above s.
func LevelOf(s slog.Level) LoggingLevel {
	for i := len(levels) - 1; i > 0; i-- {
		if s >= slogLevels[i] {
			return levels[i]
		}
	}
	return LevelDebug
}

// SetLevelParams ask for log messages from a level on (legacy).
type SetLevelParams struct {
	Params
	Level LoggingLevel `json:"level"`
}

// LogParams are one log message.
type LogParams struct {
	Params
	Level LoggingLevel `json:"level"`
	// Logger names the part of the server that speaks.
	Logger string `json:"logger,omitzero"`
	// Data is any JSON value, often a string.
	Data jsontext.Value `json:"data"`
}
