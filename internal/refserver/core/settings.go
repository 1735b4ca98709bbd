package core

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/redline-bench/redline/internal/refserver/infer"
	"github.com/redline-bench/redline/internal/refserver/trace"
)

// traceKeys are the trace settings in the order in which they are shown.
var traceKeys = []string{"trace_level", "trace_rate", "trace_count", "log_frequency", "trace_file", "trace_mode"}

// TraceSettings holds the trace settings of the server and those of single models, and decides which requests are traced.
type TraceSettings struct {
	recorder trace.Recorder
	on       atomic.Bool // some request may be traced

	mu     sync.Mutex
	global map[string][]string
	models map[string]map[string][]string
	seen   map[string]int // requests by model, or by "" if the server's settings apply
	taken  map[string]int // traced requests
}

func defaultTrace() map[string][]string {
	return map[string][]string{
		"trace_level": {"OFF"}, "trace_rate": {"1000"}, "trace_count": {"-1"},
		"log_frequency": {"0"}, "trace_file": {""}, "trace_mode": {"triton"},
	}
}

func newTraceSettings() *TraceSettings {
	return &TraceSettings{global: defaultTrace(), models: map[string]map[string][]string{}, seen: map[string]int{}, taken: map[string]int{}}
}

// Configure sets the server's settings at its start: the file can be set only here.
func (t *TraceSettings) Configure(settings map[string]string) error {
	file := settings["trace_file"]
	var changes []Setting
	for name, value := range settings {
		switch {
		case !slices.Contains(traceKeys, name):
			return fmt.Errorf("there is no trace setting %q; use one of %v", name, traceKeys)
		case name == "trace_level":
			changes = append(changes, Setting{Name: name, Values: strings.Split(value, "+")})
		case name != "trace_file":
			changes = append(changes, Setting{Name: name, Values: []string{value}})
		}
	}
	if file != "" {
		t.global["trace_file"] = []string{file}
	}
	return t.Update("", changes)
}

// Sample decides whether a request of a model is traced; nil if not.
func (t *TraceSettings) Sample(model string) *trace.Trace {
	if !t.on.Load() {
		return nil
	}
	now := map[string][]string{}
	for _, s := range t.Get(model) {
		now[s.Name] = s.Values
	}
	number := func(name string) int {
		n, _ := strconv.Atoi(now[name][0]) // checked when it was set
		return n
	}
	t.mu.Lock()
	scope := ""
	if t.models[model] != nil {
		scope = model
	}
	t.seen[scope]++
	due := t.seen[scope]%max(number("trace_rate"), 1) == 0
	if count := number("trace_count"); count >= 0 && t.taken[scope] >= count {
		due = false
	}
	level := now["trace_level"]
	due = due && !slices.Contains(level, "OFF")
	if due {
		t.taken[scope]++
	}
	t.mu.Unlock()
	if !due {
		return nil
	}
	return t.recorder.Start(trace.Options{
		File: now["trace_file"][0], Every: number("log_frequency"),
		Timestamps: slices.Contains(level, "TIMESTAMPS"), Tensors: slices.Contains(level, "TENSORS"),
	})
}

// Close writes the traces that are not written yet.
func (t *TraceSettings) Close() error {
	t.mu.Lock()
	file := t.global["trace_file"][0]
	t.mu.Unlock()
	return t.recorder.Close(file)
}

// Setting is one setting with its values; only trace_level may have several.
type Setting struct {
	Name   string
	Values []string
}

// Get lists the settings that hold for a model, or for the server when model is empty.
func (t *TraceSettings) Get(model string) []Setting {
	t.mu.Lock()
	defer t.mu.Unlock()
	own := t.models[model]
	out := make([]Setting, 0, len(traceKeys))
	for _, key := range traceKeys {
		values := t.global[key]
		if v, ok := own[key]; ok && model != "" {
			values = v
		}
		out = append(out, Setting{Name: key, Values: slices.Clone(values)})
	}
	return out
}

// Update changes settings; no values bring back the default (of the server, for a model's setting).
func (t *TraceSettings) Update(model string, changes []Setting) error {
	for _, c := range changes {
		if err := checkTrace(c); err != nil {
			return err
		}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	target := t.global
	if model != "" {
		if t.models[model] == nil {
			t.models[model] = map[string][]string{}
		}
		target = t.models[model]
	}
	for _, c := range changes {
		switch {
		case !slices.Contains(traceKeys, c.Name):
		case c.Name == "trace_level" && len(c.Values) > 0:
			target[c.Name] = levels(c.Values)
		case len(c.Values) > 0:
			target[c.Name] = slices.Clone(c.Values)
		case model != "":
			delete(target, c.Name)
		default:
			if c.Name != "trace_file" {
				target[c.Name] = defaultTrace()[c.Name]
			}
		}
	}
	delete(t.seen, model)
	delete(t.taken, model)
	off := func(m map[string][]string) bool {
		return m["trace_level"] == nil || slices.Contains(m["trace_level"], "OFF")
	}
	on := !off(t.global)
	for _, m := range t.models {
		on = on || !off(m)
	}
	t.on.Store(on)
	return t.recorder.Close(t.global["trace_file"][0]) // as Triton: new settings write what is not written yet
}

// levels keeps the levels that are known; none is OFF, as Triton has it.
func levels(values []string) []string {
	var out []string
	for _, known := range []string{"TIMESTAMPS", "TENSORS"} {
		if slices.Contains(values, known) || slices.Contains(values, "MAX") || known == "TIMESTAMPS" && slices.Contains(values, "MIN") {
			out = append(out, known)
		}
	}
	if out == nil {
		return []string{"OFF"}
	}
	return out
}

func checkTrace(c Setting) error {
	bad := func(format string, args ...any) error { return infer.Errorf(infer.InvalidArg, format, args...) }
	switch c.Name {
	case "trace_rate", "trace_count", "log_frequency":
		if len(c.Values) > 1 {
			return bad("expect only 1 value for '%s'", c.Name)
		}
		if len(c.Values) == 1 {
			if _, err := strconv.ParseInt(c.Values[0], 10, 64); err != nil {
				return bad("Unable to parse '%s', got: %s", c.Name, c.Values[0])
			}
		}
	case "trace_file":
		if len(c.Values) > 0 {
			return infer.Errorf(infer.Unsupported, "trace file location can not be updated through network protocol")
		}
	}
	return nil
}

// logKeys are the log settings in the order in which they are shown.
var logKeys = []string{"log_file", "log_info", "log_warning", "log_error", "log_verbose_level", "log_format"}

// LogSettings holds the log settings: booleans, a level, and texts.
type LogSettings struct {
	mu  sync.Mutex
	now map[string]any
}

func newLogSettings() *LogSettings {
	return &LogSettings{now: map[string]any{
		"log_file": "", "log_info": true, "log_warning": true, "log_error": true, "log_verbose_level": uint64(0), "log_format": "default",
	}}
}

// LogSetting is one setting with its value: a bool, a uint64 or a string.
type LogSetting struct {
	Name  string
	Value any
}

// Get lists all settings.
func (l *LogSettings) Get() []LogSetting {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := make([]LogSetting, 0, len(logKeys))
	for _, key := range logKeys {
		out = append(out, LogSetting{Name: key, Value: l.now[key]})
	}
	return out
}

// LogErrors are a protocol's messages for invalid settings: a value of the wrong kind, and an unknown format.
type LogErrors struct {
	Kind   func(name string, is any) error
	Format func(got string) error
}

// Update changes settings, all or none.
func (l *LogSettings) Update(changes []LogSetting, words LogErrors) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	next := maps.Clone(l.now)
	for _, c := range changes {
		old, known := next[c.Name]
		if !known {
			continue
		}
		if c.Name == "log_file" {
			return infer.Errorf(infer.Unsupported, "log file location can not be updated through network protocol")
		}
		if !sameKind(old, c.Value) {
			return words.Kind(c.Name, old)
		}
		if f, ok := c.Value.(string); ok && c.Name == "log_format" && f != "default" && f != "ISO8601" {
			return words.Format(f)
		}
		next[c.Name] = c.Value
	}
	l.now = next
	return nil
}

func sameKind(a, b any) bool {
	switch a.(type) {
	case bool:
		_, ok := b.(bool)
		return ok
	case uint64:
		_, ok := b.(uint64)
		return ok
	}
	_, ok := b.(string)
	return ok
}
