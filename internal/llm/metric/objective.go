package metric

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redline-bench/redline/internal/unit"
)

// Objective is a bound that a good request meets: at most Bound, or at least Bound if a higher value is better. Times are
// milliseconds.
type Objective struct {
	ID    ID
	Bound float64
}

// ParseGoodput reads "ttft:200 itl:20" or "ttft:0.2s itl:20ms": names are tags or their short forms. A bound is in the metric's
// unit; a time may have a unit of its own.
func ParseGoodput(text string) ([]Objective, error) {
	var out []Objective
	for part := range strings.FieldsFuncSeq(text, func(r rune) bool { return r == ' ' || r == ',' }) {
		name, value, ok := strings.Cut(part, ":")
		if !ok {
			return nil, fmt.Errorf("is a list of NAME:BOUND, such as \"ttft:200ms itl:20ms\", not %q", text)
		}
		id, err := lookup(name)
		if err != nil {
			return nil, err
		}
		bound, err := strconv.ParseFloat(value, 64)
		if d, bad := unit.Time(value, time.Millisecond); definitions[id].Unit == "ms" {
			bound, err = float64(d)/1e6, bad
		}
		if err != nil || !(bound >= 0) {
			return nil, fmt.Errorf("has the bound %q of %s, which is in %s: write a number such as \"ttft:200\", or a time as \"ttft:200ms\"", value, name, definitions[id].Unit)
		}
		out = append(out, Objective{id, bound})
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("is a list of NAME:BOUND, such as \"ttft:200ms itl:20ms\", not %q", text)
	}
	return out, nil
}

// Bounds words objectives in one way, whatever names and order they were given in: "inter_token_latency:20".
func Bounds(list []Objective) string {
	words := make([]string, len(list))
	for i, o := range list {
		words[i] = fmt.Sprintf("%s:%g", definitions[o.ID].Tag, o.Bound)
	}
	slices.Sort(words)
	return strings.Join(words, " ")
}

// lookup finds a quantity by tag or short name.
func lookup(name string) (ID, error) {
	var known []string
	for id, d := range definitions {
		if d.Tag == name || slices.Contains(d.Alias, strings.ToLower(name)) {
			return ID(id), nil
		}
		if d.Plain {
			known = append(known, append(d.Alias, d.Tag)[0])
		}
	}
	return 0, fmt.Errorf("has no metric %q; use one of %s", name, strings.Join(known, ", "))
}

// meets reports whether a request meets every bound. A request without the value does not.
func meets(list []Objective, v *Values) bool {
	for _, o := range list {
		x := v[o.ID]
		if math.IsNaN(x) || definitions[o.ID].Higher && x < o.Bound || !definitions[o.ID].Higher && x > o.Bound {
			return false
		}
	}
	return true
}

// target is compiled on first use: most runs do not need it.
var target = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^\s*([a-z0-9_]+?)(?:\.(avg|mean|p50|p90|p95|p99))?\s*(?:±|\+-|\+/-)\s*([0-9.]+)\s*%\s*$`)
})

// ParseTarget reads "ttft.p99 ± 5 %"; +- is accepted for ±.
func ParseTarget(text string) (Target, error) {
	m := target().FindStringSubmatch(strings.ToLower(text))
	if m == nil {
		return Target{}, fmt.Errorf("is METRIC.STAT ± WIDTH %%, such as \"ttft.p99 ± 5 %%\", not %q", text)
	}
	id, err := lookup(m[1])
	if err != nil {
		return Target{}, err
	}
	if !slices.Contains(ranged, id) {
		return Target{}, fmt.Errorf("has no interval for %s: use ttft, ttfo, ttst, itl, latency or osl", m[1])
	}
	share, err := strconv.ParseFloat(m[3], 64)
	if err != nil || share <= 0 {
		return Target{}, fmt.Errorf("needs a width above 0, not %q", m[3])
	}
	stat := m[2]
	if stat == "" || stat == "mean" {
		stat = "avg"
	}
	return Target{ID: id, Stat: stat, Share: share / 100}, nil
}
