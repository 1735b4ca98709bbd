package kserve

import "github.com/redline-bench/redline/internal/plan"

// Setting is one trace setting: a key and its values. Only the level takes several.
type Setting struct {
	Key    string
	Values []string
}

// LevelKey is the one setting that is a list on the wire, also with a single value.
const LevelKey = "trace_level"

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
