package flags

import (
	"math"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/redline-bench/redline/internal/pacompat/flags/cxx"
	"github.com/redline-bench/redline/internal/pacompat/manners"
	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/secret"
)

// raw is a command line half read: the plan as far as it is known, and beside it what the rules across options
// ask about but the plan does not keep.
type raw struct {
	face  plan.Program
	plan  plan.Plan
	notes Notes

	secrets *secret.Set
	headers bool // -H was used

	mode plan.Mode // the load mode taken, "" before any
	old  bool      // -t, -c or -d was used

	protocol        string // as written
	urlSet          bool
	async, sync     bool
	zero            bool
	paths           []string
	percentile      int
	startID         int
	idsSet          bool // --sequence-id-range
	outputFormatSet bool
	metricsURL      string
	metricsURLSet   bool
	metricsIntSet   bool
	metricsEvery    time.Duration
	compressionSet  bool
	latencyFrom     string
	grpcTLS         plan.TLS
	httpTLS         plan.TLS
}

// use is one option as it was given.
type use struct {
	row         *Row
	form, value string
}

// newRaw holds the defaults of every option.
func newRaw(face plan.Program) *raw {
	r := &raw{
		face:         face,
		plan:         plan.Default(),
		protocol:     string(plan.HTTP),
		percentile:   -1,
		startID:      1,
		metricsURL:   defaultMetricsURL,
		metricsEvery: time.Second,
	}
	t := &r.plan.Target
	r.httpTLS, t.TLS, t.URL = t.TLS, plan.TLS{}, "" // the rules choose them by the protocol
	t.SignatureName, t.ServerDirectory = "serving_default", "/opt/tritonserver"
	r.plan.Load.Period = 10
	r.plan.Input.SequenceIDRange = math.MaxUint32
	if face == plan.PerfAnalyzer {
		manners.PerfAnalyzer(&r.plan)
	}
	return r
}

const defaultMetricsURL = "localhost:8002/metrics"

func (r *raw) warn(text string) { r.notes.Warnings = append(r.notes.Warnings, text) }

func (r *raw) warnDeprecated(name, instead string) {
	r.warn("Warning: " + name + " is deprecated and will be removed in an upcoming version. Use " + instead + " instead.")
}

// The setters below cover most rows; each returns a function for Row.set. dst says where the value lands.

func flag(dst func(*raw) *bool) func(*raw, string) error {
	return func(r *raw, _ string) error { *dst(r) = true; return nil }
}

func text(dst func(*raw) *string) func(*raw, string) error {
	return func(r *raw, v string) error { *dst(r) = v; return nil }
}

// integer takes a whole number that is not below least, or fails with the message.
func integer(least int, message string, dst func(*raw) *int) func(*raw, string) error {
	return func(r *raw, v string) error {
		n, err := cxx.Stoi(v)
		if err != nil {
			return err
		}
		if n < least {
			return usagef("%s", message)
		}
		*dst(r) = n
		return nil
	}
}

// millis is integer for a time in milliseconds.
func millis(least int, message string, dst func(*raw) *time.Duration) func(*raw, string) error {
	return func(r *raw, v string) error {
		var n int
		if err := integer(least, message, func(*raw) *int { return &n })(r, v); err != nil {
			return err
		}
		*dst(r) = time.Duration(n) * time.Millisecond
		return nil
	}
}

// choice takes one of some words. said is how the original lists them, slips of the pen included.
func choice[T ~string](name, said string, dst func(*raw) *T, words ...T) func(*raw, string) error {
	return func(r *raw, v string) error {
		if !slices.Contains(words, T(v)) {
			return unsupported(r, name, v, said, words)
		}
		*dst(r) = T(v)
		return nil
	}
}

func unsupported[T ~string](r *raw, name, v, said string, words []T) error {
	if r.face != plan.PerfAnalyzer {
		list := make([]string, len(words))
		for i, w := range words {
			list[i] = "'" + string(w) + "'"
		}
		said = "Choose one of " + strings.Join(list, ", ") + "."
	}
	return usagef("Failed to parse %s. Unsupported type provided: '%s'. %s", name, v, said)
}

// existing takes the name of a file that is there.
func existing(message string, dst func(*raw) *string) func(*raw, string) error {
	return func(r *raw, v string) error {
		if !isFile(v) {
			return usagef("%s", message)
		}
		*dst(r) = v
		return nil
	}
}

// isFile reports whether path is there and no directory.
func isFile(path string) bool {
	st, err := os.Stat(path)
	return err == nil && !st.IsDir()
}

func isDir(path string) bool {
	st, err := os.Stat(path)
	return err == nil && st.IsDir()
}

// finite reads a double that is a number: what cannot be counted with is no value.
func finite(v string) (float64, error) {
	f, err := cxx.Stod(v)
	if err == nil && (math.IsNaN(f) || math.IsInf(f, 0)) {
		err = cxx.ErrInvalid
	}
	return f, err
}

// level reads a number of requests to hold in flight. What no machine can hold is out of range; the original
// would try.
func level(v string) (int, error) {
	n, err := cxx.Stoull(v)
	if err == nil && n > math.MaxInt32 {
		err = cxx.ErrRange
	}
	return int(n), err
}

// bound reads an end or a step of levels. The original lets "-1" wrap to the largest number; that many levels
// are as good as endless, and so is the bound it becomes here.
func bound(v string) (int, error) {
	n, err := cxx.Stoull(v)
	return int(min(n, math.MaxInt32)), err
}
