package kserve

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"

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

// TraceSettings holds the trace settings of the server, and decides which requests are traced.
type TraceSettings struct {
	recorder trace.Recorder

	mu           sync.Mutex
	now          settings
	seen, traced int // requests since the settings changed
}

// NewTraceSettings makes the settings of a server that starts: only now can the file be set. Levels are separated by "+".
func NewTraceSettings(start map[string]string) (*TraceSettings, error) {
	t := &TraceSettings{now: defaultTrace()}
	t.now["trace_file"] = []string{start["trace_file"]}
	changes := settings{}
	for name, value := range start {
		if t.now[name] == nil {
			return nil, fmt.Errorf("there is no trace setting %q; use one of %v", name, slices.Sorted(maps.Keys(t.now)))
		}
		if name != "trace_file" {
			changes[name] = strings.Split(value, "+")
		}
	}
	_, err := t.update(changes)
	return t, err
}

// Sample decides whether a request is traced; nil if not.
func (t *TraceSettings) Sample() *trace.Trace {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !slices.Contains(t.now["trace_level"], "TIMESTAMPS") {
		return nil
	}
	number := func(name string) int {
		n, _ := strconv.Atoi(t.now[name][0]) // checked when it was set
		return n
	}
	t.seen++
	most := number("trace_count")
	if t.seen%max(number("trace_rate"), 1) != 0 || most >= 0 && t.traced >= most {
		return nil
	}
	t.traced++
	return t.recorder.Start(t.now["trace_file"][0], number("log_frequency"))
}

// update changes settings, and returns what holds then; no values bring back the default. Traces that are not written yet are written
// when settings change, as by Triton.
func (t *TraceSettings) update(changes settings) (settings, error) {
	for name, values := range changes {
		if err := checkTrace(name, values); err != nil {
			return nil, err
		}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for name, values := range changes {
		switch known := defaultTrace(); {
		case known[name] == nil || name == "trace_file": // Triton ignores what it does not know
		case len(values) == 0:
			t.now[name] = known[name]
		default:
			t.now[name] = values
		}
	}
	var err error
	if len(changes) > 0 {
		t.seen, t.traced = 0, 0
		err = t.recorder.Close(t.now["trace_file"][0])
	}
	return maps.Clone(t.now), err
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
	return t.recorder.Close(t.now["trace_file"][0])
}
