package flags

import (
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redline-bench/redline/internal/convert"
	"github.com/redline-bench/redline/internal/option"
	"github.com/redline-bench/redline/internal/pacompat/flags/cxx"
	"github.com/redline-bench/redline/internal/pacompat/manners"
	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/secret"
)

// raw is a command line that is being read: the plan so far, and values that the rules across options need but the plan does
// not keep.
type raw struct {
	face  plan.Program
	plan  plan.Plan
	notes Notes

	table option.Table

	mode plan.Mode // the load mode taken, "" before any
	old  bool      // -t, -c or -d was used

	protocol     string // as written
	async, sync  bool
	zero         bool
	paths        []string
	percentile   int
	startID      int
	metricsURL   string
	metricsEvery time.Duration
	latencyFrom  string
	reading      string // the option whose value is being read
	duration     time.Duration
	grpcTLS      plan.TLS
	httpTLS      plan.TLS
}

// newRaw holds the default of every option.
func newRaw(face plan.Program, secrets *secret.Set) *raw {
	r := &raw{
		face:         face,
		plan:         plan.Default(),
		protocol:     string(plan.HTTP),
		percentile:   -1,
		startID:      1,
		metricsURL:   defaultMetricsURL,
		metricsEvery: time.Second,
		latencyFrom:  fromScheduled,
	}
	t := &r.plan.Target
	r.httpTLS, t.TLS, t.URL = t.TLS, plan.TLS{}, "" // the rules choose them by the protocol
	t.SignatureName, t.ServerDirectory = "serving_default", "/opt/tritonserver"
	r.plan.Load.Period = 10
	r.plan.Input.SequenceIDRange = math.MaxUint32
	r.plan.Fleet = plan.DefaultFleet()
	if face == plan.PerfAnalyzer {
		manners.PerfAnalyzer(&r.plan)
	}
	rows := slices.Concat(r.targetRows(), r.loadRows(), r.measureRows(), r.inputRows(), r.transportRows(),
		r.sequenceRows(), r.serverRows(), r.outputRows(), r.outcomeRows(), r.kindRows(), r.deprecatedRows(), otherRows())
	r.table = option.Table{Secrets: secrets, Getopt: face == plan.PerfAnalyzer, Rows: slices.DeleteFunc(rows, func(row option.Row) bool {
		return row.RedlineOnly && face == plan.PerfAnalyzer
	})}
	for i := range r.table.Rows {
		r.names(&r.table.Rows[i])
	}
	return r
}

// names makes a row note its name before it reads a value, and reads a number that text follows as the program does.
func (r *raw) names(row *option.Row) {
	set, name := row.To.Set, row.Name()
	row.To.Set = func(v string) error {
		r.reading = name
		return r.lenient(set(v))
	}
}

// outcomeRows are the options that every measuring command of redline has.
func (r *raw) outcomeRows() []option.Row {
	rows := append(r.plan.Outcome.Rows(), r.plan.Fleet.Rows()...)
	for i := range rows {
		rows[i].RedlineOnly = true
	}
	return rows
}

// Rows returns the options of a face, group by group.
func Rows(face plan.Program) []option.Row { return newRaw(face, nil).table.Rows }

const defaultMetricsURL = "localhost:8002/metrics"

func (r *raw) warn(text string) { r.notes.Warnings = append(r.notes.Warnings, text) }

func (r *raw) warnDeprecated(name, instead string) {
	if r.face == plan.Redline {
		r.warn("redline profile: " + name + " is an old option: use " + instead)
		return
	}
	r.warn("Warning: " + name + " is deprecated and will be removed in an upcoming version. Use " + instead + " instead.")
}

// restError means that text follows a number, as in "10abc". The number was read.
type restError struct{ text, rest string }

func (e *restError) Error() string { return fmt.Sprintf("is a number, not %q", e.text) }

// lenient accepts a number that text follows in perf_analyzer mode, with a warning: perf_analyzer ignores the text. redline
// profile refuses it.
func (r *raw) lenient(err error) error {
	e, ok := errors.AsType[*restError](err)
	if !ok || r.face != plan.PerfAnalyzer {
		return err
	}
	r.warn(fmt.Sprintf("WARNING: %s: '%s' is read as %s, because perf_analyzer ignores what follows a number.",
		r.reading, e.text, strings.TrimSuffix(e.text, e.rest)))
	return nil
}

// whole returns err, or an error if text follows a number.
func whole(text, rest string, err error) error {
	if err == nil && rest != "" {
		return &restError{text, rest}
	}
	return err
}

// wholeNumber reads a number that is not below least, or fails with the message.
func wholeNumber(least int, message, v string) (int, error) {
	n, err := cxx.Stoi(v)
	if err == nil && n < least {
		err = failed(message, "")
	}
	return n, whole(v, cxx.AfterInt(v), err)
}

// integer stores a whole number that is not below least.
func integer(least int, message string, to *int) option.Value {
	v := option.Parsed(to, func(v string) (int, error) { return wholeNumber(least, message, v) })
	v.Default = strconv.Itoa(*to)
	return v
}

// millis stores a time that is not below least milliseconds: in perf_analyzer mode a number of milliseconds, in redline profile
// also a time with its unit.
func (r *raw) millis(least int, message string, to *time.Duration) option.Value {
	if r.face == plan.Redline {
		if least > 0 {
			return option.TimeAbove0(to, time.Millisecond)
		}
		return option.Time(to, time.Millisecond)
	}
	v := option.Parsed(to, func(v string) (time.Duration, error) {
		n, err := wholeNumber(least, message, v)
		return time.Duration(n) * time.Millisecond, err
	}).In("ms")
	v.Default = strconv.FormatInt(to.Milliseconds(), 10)
	return v
}

// bytes stores a size: in perf_analyzer mode a number of bytes, in redline profile also a size with its unit.
func (r *raw) bytes(message string, to *int) option.Value {
	if r.face == plan.Redline {
		return option.Bytes(to, 0, math.MaxInt32)
	}
	return integer(0, message, to).In("bytes")
}

// choice stores one of some words. said is how perf_analyzer lists them, misspellings included.
func choice[T ~string](name, said string, to *T, words ...T) option.Value {
	v := option.Value{Default: string(*to), Set: func(v string) error {
		if !slices.Contains(words, T(v)) {
			return unsupported(name, v, said, words)
		}
		*to = T(v)
		return nil
	}}
	v.Words = convert.All(words, func(w T) string { return string(w) })
	return v
}

func unsupported[T ~string](name, v, said string, words []T) error {
	list := convert.All(words, func(w T) string { return "'" + string(w) + "'" })
	return failed(fmt.Sprintf("%s. Unsupported type provided: '%s'. %s", name, v, said), fmt.Sprintf("%s is one of %s, not '%s'", name, strings.Join(list, ", "), v))
}

// existing stores the name of a file that exists.
func existing(message string, to *string) option.Value {
	return option.Parsed(to, func(v string) (string, error) {
		if !isFile(v) {
			return "", failed(message, "")
		}
		return v, nil
	})
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

// finite reads a floating-point number that is neither NaN nor infinite.
func finite(v string) (float64, error) {
	f, err := cxx.Stod(v)
	if err == nil && (math.IsNaN(f) || math.IsInf(f, 0)) {
		err = cxx.ErrInvalid
	}
	return f, whole(v, cxx.AfterFloat(v), err)
}

// percent is finite for a percentage.
func (r *raw) percent(v string) (float64, error) { return finite(r.percentage(v)) }

// percentage is the number of a percentage: redline profile also takes "10%".
func (r *raw) percentage(v string) string {
	if r.face == plan.Redline {
		return strings.TrimSpace(strings.TrimSuffix(v, "%"))
	}
	return v
}

// level reads a concurrency. A number above MaxInt32 is out of range; perf_analyzer would try it.
func level(v string) (int, error) {
	n, err := cxx.Stoull(v)
	if err == nil && n > math.MaxInt32 {
		err = cxx.ErrRange
	}
	return int(n), whole(v, cxx.AfterInt(v), err)
}

// bound reads an end or a step of levels. In perf_analyzer "-1" wraps to the largest number; here it becomes MaxInt32.
func bound(v string) (int, error) {
	n, err := cxx.Stoull(v)
	return int(min(n, math.MaxInt32)), whole(v, cxx.AfterInt(v), err)
}
