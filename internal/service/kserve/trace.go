package kserve

import (
	"context"
	"time"

	"github.com/redline-bench/redline/internal/plan"
)

// Setting is one trace setting: a key and its values. Only the level takes several.
type Setting struct {
	Key    string
	Values []string
}

// LevelKey is the one setting that is a list on the wire, also with a single value.
const LevelKey = "trace_level"

// Tracer sets up the tracer of a server, in the words of one protocol, and takes that back.
type Tracer struct {
	// Read gives the settings in force, Write changes some.
	Read  func(ctx context.Context) (map[string][]string, error)
	Write func(ctx context.Context, settings []Setting) error
	undo  []Setting
}

// Set applies the plan's trace settings once, and remembers those in force before.
func (t *Tracer) Set(ctx context.Context, p plan.Trace) error {
	want := TraceSettings(p)
	if len(want) == 0 || t.undo != nil {
		return nil
	}
	before, err := t.Read(ctx)
	if err != nil {
		return err
	}
	if err := t.Write(ctx, want); err != nil {
		return err
	}
	t.undo = Restore(want, before)
	return nil
}

// restoreWait is how long Restore waits for the server.
const restoreWait = 5 * time.Second

// Restore puts back what Set changed.
func (t *Tracer) Restore() error {
	settings := t.undo
	t.undo = nil
	if len(settings) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), restoreWait)
	defer cancel()
	return t.Write(ctx, settings)
}

// TraceSettings lists what the plan asks of the server's tracer, keys in ascending order. It is empty when
// the plan asks for nothing.
func TraceSettings(t plan.Trace) []Setting {
	var s []Setting
	for _, kv := range [...]struct{ key, value string }{
		{"log_frequency", t.LogFrequency},
		{"trace_count", t.Count},
		{LevelKey, t.Level},
		{"trace_rate", t.Rate},
	} {
		if kv.value != "" {
			s = append(s, Setting{kv.key, []string{kv.value}})
		}
	}
	return s
}

// Restore lists the values that undo the wanted settings, out of those in force before. A setting that the
// server did not name before is left as it is.
func Restore(want []Setting, before map[string][]string) []Setting {
	var s []Setting
	for _, w := range want {
		if v, ok := before[w.Key]; ok {
			s = append(s, Setting{w.Key, v})
		}
	}
	return s
}
