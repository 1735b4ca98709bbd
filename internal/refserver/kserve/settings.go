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

func defaultTrace() settings {
	return settings{
		"trace_level": {"OFF"}, "trace_rate": {"1000"}, "trace_count": {"-1"},
		"log_frequency": {"0"}, "trace_file": {""}, "trace_mode": {"triton"},
	}
}

// TraceSettings holds the trace settings of the server and those of single models, and decides which requests are traced.
type TraceSettings struct {
	recorder trace.Recorder
	on       atomic.Bool // some request may be traced

	mu     sync.Mutex
	scopes map[string]*scope // of models that have settings of their own, and of the server under ""
}

// scope is the settings that differ from the default, or for a model from the server's, and how many requests they were for.
type scope struct {
	settings
	seen, traced int
}

// NewTraceSettings makes the settings of a server that starts: only now can the file be set. Levels are separated by "+".
func NewTraceSettings(start map[string]string) (*TraceSettings, error) {
	t := &TraceSettings{scopes: map[string]*scope{"": {settings: settings{}}}}
	changes := settings{}
	for name, value := range start {
		switch known := defaultTrace(); {
		case known[name] == nil:
			return nil, fmt.Errorf("there is no trace setting %q; use one of %v", name, slices.Sorted(maps.Keys(known)))
		case name == "trace_file":
			t.scopes[""].settings[name] = []string{value}
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
	defer t.mu.Unlock()
	now, s := t.of(model), t.scopes[model]
	if s == nil {
		s = t.scopes[""]
	}
	number := func(name string) int {
		n, _ := strconv.Atoi(now[name][0]) // checked when it was set
		return n
	}
	s.seen++
	most := number("trace_count")
	if s.seen%max(number("trace_rate"), 1) != 0 || !slices.Contains(now["trace_level"], "TIMESTAMPS") || most >= 0 && s.traced >= most {
		return nil
	}
	s.traced++
	return t.recorder.Start(trace.Options{File: now["trace_file"][0], Every: number("log_frequency")})
}

// of is the settings that hold for a model, or for the server if it is empty. The caller holds the lock.
func (t *TraceSettings) of(model string) settings {
	now := defaultTrace()
	maps.Copy(now, t.scopes[""].settings)
	if s := t.scopes[model]; s != nil {
		maps.Copy(now, s.settings)
	}
	return now
}

// get is of for callers without the lock.
func (t *TraceSettings) get(model string) settings {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.of(model)
}

// update changes settings of a model, or of the server; no values bring back the default. Traces that are not written yet are written
// first, as Triton does.
func (t *TraceSettings) update(model string, changes settings) error {
	for name, values := range changes {
		if err := checkTrace(name, values); err != nil {
			return err
		}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	s := &scope{settings: settings{}}
	if old := t.scopes[model]; old != nil {
		s.settings = old.settings
	}
	t.scopes[model] = s
	for name, values := range changes {
		switch {
		case defaultTrace()[name] == nil || name == "trace_file": // Triton ignores what it does not know
		case len(values) == 0:
			delete(s.settings, name)
		default:
			s.settings[name] = values
		}
	}
	on := false
	for _, s := range t.scopes {
		on = on || slices.Contains(s.settings["trace_level"], "TIMESTAMPS")
	}
	t.on.Store(on)
	return t.close()
}

func checkTrace(name string, values []string) error {
	for i, v := range values {
		switch name {
		case "trace_rate", "trace_count", "log_frequency":
			if _, err := strconv.Atoi(v); err != nil || i > 0 {
				return bad("%s must be one whole number, not %q", name, values)
			}
		case "trace_file":
			return infer.Errorf(infer.Unsupported, "the trace file can only be set when the server starts")
		case "trace_level":
			if v != "TIMESTAMPS" && v != "TENSORS" {
				values[i] = "OFF" // as Triton takes an unknown level
			}
		}
	}
	return nil
}

// Close writes the traces that are not written yet.
func (t *TraceSettings) Close() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.close()
}

func (t *TraceSettings) close() error { return t.recorder.Close(t.of("")["trace_file"][0]) }
