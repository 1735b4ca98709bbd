package kserve

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

// settings are values by name; only trace_level may have several.
type settings map[string][]string

// TraceSettings holds the trace settings of the server and those of single models, and decides which requests are traced.
type TraceSettings struct {
	recorder trace.Recorder
	on       atomic.Bool // some request may be traced

	mu     sync.Mutex
	global settings
	models map[string]settings
	seen   map[string]int // requests by model, or by "" if the server's settings apply
	taken  map[string]int // traced requests
}

func defaultTrace() settings {
	return settings{
		"trace_level": {"OFF"}, "trace_rate": {"1000"}, "trace_count": {"-1"},
		"log_frequency": {"0"}, "trace_file": {""}, "trace_mode": {"triton"},
	}
}

// NewTraceSettings makes the settings of a server that starts: only now can the file be set. Levels are separated by "+".
func NewTraceSettings(start map[string]string) (*TraceSettings, error) {
	t := &TraceSettings{global: defaultTrace(), models: map[string]settings{}, seen: map[string]int{}, taken: map[string]int{}}
	changes := settings{}
	for name, value := range start {
		switch {
		case t.global[name] == nil:
			return nil, fmt.Errorf("there is no trace setting %q; use one of %v", name, slices.Sorted(maps.Keys(t.global)))
		case name == "trace_file":
			t.global[name] = []string{value}
		default:
			changes[name] = strings.Split(value, "+")
		}
	}
	return t, t.update("", changes)
}

// Sample decides whether a request of a model is traced; nil if not.
func (t *TraceSettings) Sample(model string) *trace.Trace {
	if !t.on.Load() {
		return nil
	}
	t.mu.Lock()
	now, scope := t.of(model), ""
	if t.models[model] != nil {
		scope = model
	}
	number := func(name string) int {
		n, _ := strconv.Atoi(now[name][0]) // checked when it was set
		return n
	}
	t.seen[scope]++
	due := t.seen[scope]%max(number("trace_rate"), 1) == 0 && slices.Contains(now["trace_level"], "TIMESTAMPS")
	if count := number("trace_count"); count >= 0 && t.taken[scope] >= count {
		due = false
	}
	if due {
		t.taken[scope]++
	}
	t.mu.Unlock()
	if !due {
		return nil
	}
	return t.recorder.Start(trace.Options{File: now["trace_file"][0], Every: number("log_frequency")})
}

// Close writes the traces that are not written yet.
func (t *TraceSettings) Close() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.recorder.Close(t.global["trace_file"][0])
}

// of is the settings that hold for a model, or for the server if it is empty. The caller holds the lock.
func (t *TraceSettings) of(model string) settings {
	now := maps.Clone(t.global)
	maps.Copy(now, t.models[model])
	return now
}

// get is of for callers without the lock.
func (t *TraceSettings) get(model string) settings {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.of(model)
}

// update changes settings of a model, or of the server; no values bring back the default (of the server, for a model's setting).
// Traces that are not written yet are written first, as Triton does.
func (t *TraceSettings) update(model string, changes settings) error {
	for name, values := range changes {
		if err := checkTrace(name, values); err != nil {
			return err
		}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	target := t.global
	if model != "" {
		if t.models[model] == nil {
			t.models[model] = settings{}
		}
		target = t.models[model]
	}
	for name, values := range changes {
		switch {
		case t.global[name] == nil: // Triton ignores what it does not know
		case name == "trace_level" && len(values) > 0:
			target[name] = levels(values)
		case len(values) > 0:
			target[name] = values
		case model != "":
			delete(target, name)
		case name != "trace_file":
			target[name] = defaultTrace()[name]
		}
	}
	delete(t.seen, model)
	delete(t.taken, model)
	on := !slices.Contains(t.global["trace_level"], "OFF")
	for _, m := range t.models {
		on = on || m["trace_level"] != nil && !slices.Contains(m["trace_level"], "OFF")
	}
	t.on.Store(on)
	return t.recorder.Close(t.global["trace_file"][0])
}

// levels keeps the levels that are known; none is OFF.
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

func checkTrace(name string, values []string) error {
	switch name {
	case "trace_rate", "trace_count", "log_frequency":
		for i, v := range values {
			if _, err := strconv.Atoi(v); err != nil || i > 0 {
				return bad("%s must be one whole number, not %q", name, values)
			}
		}
	case "trace_file":
		if len(values) > 0 {
			return infer.Errorf(infer.Unsupported, "the trace file can only be set when the server starts")
		}
	}
	return nil
}

// logSettings holds the log settings: bool, uint32 and string values. They change nothing, because the server writes no log of that kind.
type logSettings struct {
	mu  sync.Mutex
	now map[string]any
}

func newLogSettings() *logSettings {
	return &logSettings{now: map[string]any{
		"log_file": "", "log_info": true, "log_warning": true, "log_error": true, "log_verbose_level": uint32(0), "log_format": "default",
	}}
}

// update changes settings, all or none, and returns what holds then.
func (l *logSettings) update(changes map[string]any) (map[string]any, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	next := maps.Clone(l.now)
	for name, value := range changes {
		old, known := next[name]
		switch {
		case !known:
			continue
		case name == "log_file":
			return nil, infer.Errorf(infer.Unsupported, "the log file can only be set when the server starts")
		case fmt.Sprintf("%T", old) != fmt.Sprintf("%T", value):
			return nil, infer.Errorf(infer.Malformed, "%s must be a value like %v", name, old)
		case name == "log_format" && value != "default" && value != "ISO8601":
			return nil, bad("log_format must be default or ISO8601")
		}
		next[name] = value
	}
	l.now = next
	return maps.Clone(next), nil
}
