package llm

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/redline-bench/redline/internal/option"
	"github.com/redline-bench/redline/internal/plan"
)

// seconds stores a time; a bare number counts in seconds.
func seconds(to *time.Duration) option.Value { return option.Time(to, time.Second) }

// endlessSeconds is seconds for a time that may be infinite.
func endlessSeconds(to *time.Duration) option.Value {
	v := seconds(to)
	set := v.Set
	v.Set = func(text string) error {
		if strings.EqualFold(text, "inf") {
			*to = 10 * 365 * 24 * time.Hour
			return nil
		}
		return set(text)
	}
	return v
}

// headers reads NAME:VALUE, or a JSON object of several headers.
func headers(to *[]plan.Header) option.Value {
	one := plan.AppendHeader(to)
	return option.Func(func(v string) error {
		if !strings.HasPrefix(strings.TrimSpace(v), "{") {
			return one.Set(v)
		}
		var m map[string]string
		if err := json.Unmarshal([]byte(v), &m); err != nil {
			return fmt.Errorf("is NAME:VALUE, or a JSON object of texts: %w", err)
		}
		for _, name := range slices.Sorted(maps.Keys(m)) {
			if err := one.Set(name + ":" + m[name]); err != nil {
				return err
			}
		}
		return nil
	})
}

// plainText is the text of a JSON string, or the JSON itself.
func plainText(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	return string(raw)
}

// lengthList reads numbers of tokens, as 100 or 100,200, each of at least least.
func lengthList(least float64) func(string) ([]float64, error) {
	return option.Numbers(fmt.Sprintf("a number from %g to 1e+09, or a list as 100,200", least), func(f float64) bool { return f >= least })
}

// closedLoop is AIPerf's name of a closed loop among the arrival patterns.
const closedLoop = "concurrency_burst"

// addExtra reads name:value, or a JSON object.
func (o *options) addExtra(v string) error {
	if strings.HasPrefix(strings.TrimSpace(v), "{") {
		var m map[string]json.RawMessage
		if err := json.Unmarshal([]byte(v), &m); err != nil {
			return fmt.Errorf("is NAME:VALUE or a JSON object: %w", err)
		}
		o.setExtra(m)
		return nil
	}
	name, value, ok := strings.Cut(v, ":")
	if !ok || name == "" {
		return fmt.Errorf("is NAME:VALUE or a JSON object, not %q", v)
	}
	raw := json.RawMessage(value)
	if !json.Valid(raw) {
		raw, _ = json.Marshal(value) // a string always encodes
	}
	o.setExtra(map[string]json.RawMessage{name: raw})
	return nil
}

// setExtra adds fields. The map of the draft is replaced: a plan may have it.
func (o *options) setExtra(fields map[string]json.RawMessage) {
	all := maps.Clone(o.Extra)
	if all == nil {
		all = map[string]json.RawMessage{}
	}
	maps.Copy(all, fields)
	o.Extra = all
}
