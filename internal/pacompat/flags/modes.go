package flags

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/redline-bench/redline/internal/convert"
	"github.com/redline-bench/redline/internal/option"
	"github.com/redline-bench/redline/internal/pace"
	"github.com/redline-bench/redline/internal/pacompat/flags/cxx"
	"github.com/redline-bench/redline/internal/plan"
)

// modeNames are what perf_analyzer's messages call the load modes.
var modeNames = map[plan.Mode]string{
	plan.Concurrency: "Concurrency", plan.RequestRate: "RequestRate", plan.CustomIntervals: "CustomIntervals",
	plan.PeriodicConcurrency: "PeriodicConcurrency", plan.SessionConcurrency: "SessionConcurrency", plan.FixedSchedule: "FixedSchedule",
}

// loadOptions are the options of perf_analyzer's names of the load modes.
var loadOptions = map[string]string{
	"Concurrency": "--concurrency-range", "DeprecatedConcurrency": "the concurrency of -t, -c and -d", "RequestRate": "--request-rate-range", "CustomIntervals": "--request-intervals",
	"PeriodicConcurrency": "--periodic-concurrency-range", "SessionConcurrency": "--session-concurrency", "FixedSchedule": "--fixed-schedule",
}

// rangeForm is how a range of levels is written.
const rangeForm = " is START, START:END, START:END:STEP or a list, such as 8, 1:16:4 or 1,4,16"

// take claims the load mode for an option; only one option may.
func (r *raw) take(m plan.Mode, hasValue bool) error {
	if err := r.exclusive(modeNames[m], hasValue); err != nil {
		return err
	}
	r.mode = m
	return nil
}

// takeOld notes the use of -t, -c or -d. They may come before another mode, and then win over it.
func (r *raw) takeOld(name string, hasValue bool) error {
	r.warnDeprecated(name, "--concurrency-range")
	if err := r.exclusive("DeprecatedConcurrency", hasValue); err != nil {
		return err
	}
	r.old = true
	return nil
}

// exclusive fails when a load mode is taken already. perf_analyzer looks the names up in a table that lacks
// RequestRate, and so blames the value of the second option instead; without a value it aborts.
func (r *raw) exclusive(name string, hasValue bool) error {
	if r.mode == "" {
		return nil
	}
	if r.mode == plan.RequestRate && hasValue && r.face == plan.PerfAnalyzer {
		return cxx.ErrInvalid
	}
	return &UsageError{
		Text:      fmt.Sprintf("%s and %s exclude each other: leave one out", loadOptions[modeNames[r.mode]], loadOptions[name]),
		original:  fmt.Sprintf("Cannot use both %s and %s inference load modes.", modeNames[r.mode], name),
		ShowUsage: r.mode != plan.RequestRate,
	}
}

func (r *raw) setConcurrency(v string) error {
	if err := r.take(plan.Concurrency, true); err != nil {
		return err
	}
	if strings.Contains(v, ",") && r.face == plan.Redline {
		list, err := option.Ints(v)
		load := &r.plan.Load
		load.Levels = convert.All(list, func(n int) float64 { return float64(n) })
		if err == nil {
			load.Concurrency = plan.IntRange{Start: list[0], End: slices.Max(list), Step: 1}
		}
		return listed("--concurrency-range", err)
	}
	parts := strings.Split(v, ":")
	if len(parts) > 3 {
		return failed("--concurrency-range. The value does not match <start:end:step>.", "--concurrency-range"+rangeForm)
	}
	c := &r.plan.Load.Concurrency
	var err error
	if c.Start, err = level(parts[0]); r.lenient(err) != nil {
		return err
	}
	for i, dst := range []*int{&c.End, &c.Step} {
		if i+1 < len(parts) {
			if *dst, err = bound(parts[i+1]); r.lenient(err) != nil {
				return err
			}
		}
	}
	return r.upward("--concurrency-range", len(parts) > 1 && c.End != 0 && c.End < c.Start, v)
}

func (r *raw) setRate(v string) error {
	if len(r.plan.Load.Stages) > 0 {
		return twoRates()
	}
	if err := r.take(plan.RequestRate, true); err != nil {
		return err
	}
	if strings.Contains(v, ",") && r.face == plan.Redline {
		list, err := option.Floats(v)
		if load := &r.plan.Load; err == nil {
			load.Levels, load.Rate = list, plan.FloatRange{Start: list[0], End: slices.Max(list), Step: 1}
		}
		return listed("--request-rate-range", err)
	}
	parts := strings.Split(v, ":")
	if len(parts) > 3 {
		return failed("--request-rate-range. The value does not match <start:end:step>.", "--request-rate-range"+rangeForm)
	}
	rate := &r.plan.Load.Rate
	for i, dst := range []*float64{&rate.Start, &rate.End, &rate.Step} {
		if i >= len(parts) {
			break
		}
		f, err := finite(parts[i])
		if r.lenient(err) != nil {
			return err
		}
		*dst = f
	}
	return r.upward("--request-rate-range", len(parts) > 1 && rate.End != 0 && rate.End < rate.Start, v)
}

// listed words an error of a list of levels.
func listed(name string, err error) error {
	if err != nil {
		return line("%s %v", name, err)
	}
	return nil
}

// upward refuses a range that falls: perf_analyzer measures its start and ignores the rest.
func (r *raw) upward(name string, falls bool, v string) error {
	if !falls || r.face == plan.PerfAnalyzer {
		return nil
	}
	return line("%s %s ends below its start: write the lower number first", name, v)
}

// twoRates is redline's own: both options set the rate.
func twoRates() error {
	return line("--stages and --request-rate-range exclude each other, and each is given once")
}

// setStages is redline's own.
func (r *raw) setStages(v string) error {
	if r.mode == plan.RequestRate {
		return twoRates()
	}
	if err := r.take(plan.RequestRate, true); err != nil {
		return err
	}
	stages, err := pace.ParseStages(v)
	r.plan.Load.Stages = stages
	return err
}

func (r *raw) setIntervals(v string) error {
	if err := r.take(plan.CustomIntervals, true); err != nil {
		return err
	}
	return existing("--request-intervals. The value must be a valid file path", &r.plan.Load.Intervals).Set(v)
}

func (r *raw) setPeriodic(v string) error {
	if err := r.take(plan.PeriodicConcurrency, true); err != nil {
		return err
	}
	const name = "--periodic-concurrency-range"
	parts := strings.Split(v, ":")
	switch {
	case len(parts) < 2:
		return failed(name+". Both <start> and <end> values must be provided.", name+" is START:END:STEP, such as 1:16:4")
	case len(parts) > 3:
		return failed(name+". The value does not match <start:end:step>.", name+" is START:END:STEP, such as 1:16:4")
	}
	p := &r.plan.Load.Periodic
	p.Step = 1
	var err error
	for i, dst := range []*int{&p.Start, &p.End, &p.Step} {
		if i < len(parts) {
			if *dst, err = bound(parts[i]); r.lenient(err) != nil {
				return err
			}
		}
	}
	switch {
	case p.Step == 0:
		return failed(name+". The <step> value must be > 0.", name+": STEP must be above 0")
	case p.Start > p.End:
		return failed(name+". The <start> must be <= <end>.", name+" ends below its start: write the lower number first")
	case (p.End-p.Start)%p.Step != 0:
		return failed(name+". The <step> value must be a factor of the range size (<end> - <start>).", name+": STEP must divide END - START, as in 1:16:5")
	}
	return nil
}

func (r *raw) setSessions(v string) error {
	if err := r.take(plan.SessionConcurrency, true); err != nil {
		return err
	}
	n, err := bound(v)
	if r.lenient(err) != nil {
		return err
	}
	if n == 0 {
		return failed("--session-concurrency. Session concurrency must be > 0.", "")
	}
	r.plan.Load.Sessions = n
	return nil
}

// settle decides the load mode and what hangs on it, before the rules across options.
func (r *raw) settle() error {
	load, m := &r.plan.Load, &r.plan.Measure
	load.MaxThreadsSet, r.plan.Input.BatchSet = r.table.Given("max-threads"), r.table.Given("b")
	if r.old || r.mode == "" {
		r.mode = plan.Concurrency
	}
	load.Mode = r.mode
	staged := len(load.Stages) > 0
	if r.mode == plan.CustomIntervals || staged && load.Search != plan.Binary {
		load.Search = plan.Single
	}
	if !load.MaxThreadsSet {
		load.MaxThreads = 4
		switch {
		case r.mode == plan.Concurrency:
			load.MaxThreads = max(16, load.Concurrency.End)
		case staged: // a spike must not wait for slots
			load.MaxThreads = stagedThreads
		}
	}
	if r.mode == plan.FixedSchedule {
		n, err := r.scheduleLength()
		if err != nil {
			return err
		}
		m.RequestCount = n
	}
	if m.RequestCount != 0 {
		m.Window, m.MinRequests = plan.CountWindows, m.RequestCount
	}
	return nil
}

// stagedThreads is the default of --max-threads with --stages.
const stagedThreads = 64

// scheduleLength counts the requests of a fixed schedule. perf_analyzer aborts at each of these faults.
func (r *raw) scheduleLength() (int, error) {
	if r.plan.Measure.RequestCount != 0 {
		return 0, aborted("Cannot specify `--request-count` when using `--fixed-schedule`. The request count will be "+
			"equal to the number of requests in the input data minus the warmup request count.",
			"--fixed-schedule and --request-count exclude each other: every request of the input data is sent")
	}
	if len(r.paths) == 0 {
		return 0, aborted("When using `--fixed-schedule`, you must provide a dataset using `--input-data`.", "--fixed-schedule needs its requests and their times: add --input-data FILE")
	}
	total := 0
	for _, p := range r.paths {
		if !isFile(p) {
			return 0, aborted("'"+p+"' is not a file. When using `--fixed-schedule`, all paths passed to --input-data must be files.", "--input-data "+p+" is not a file: --fixed-schedule reads JSON files")
		}
		n, err := payloads(p)
		if err != nil {
			return 0, err
		}
		total += n
	}
	if total == 0 {
		return 0, aborted("The dataset provided is empty. When using `--fixed-schedule`, the dataset must contain at least one payload.", "--fixed-schedule: the input data has no requests")
	}
	if r.plan.Measure.WarmupCount >= total {
		return 0, aborted("The warmup request count must be less than the total number of payloads in the dataset.", "--warmup-request-count must be lower than the number of requests in the input data")
	}
	return total - r.plan.Measure.WarmupCount, nil
}

// payloads counts the entries of a data set: an object with the one member "data".
func payloads(path string) (int, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return 0, line("--input-data %s cannot be read: %v", path, err)
	}
	var doc any
	if err := json.Unmarshal(b, &doc); err != nil {
		return 0, aborted(fmt.Sprintf("JSON parse error: %v. Review JSON file for formatting errors: '%s'", err, path), fmt.Sprintf("--input-data %s is not valid JSON: %v", path, err))
	}
	obj, _ := doc.(map[string]any)
	data, ok := obj["data"].([]any)
	if !ok || len(obj) != 1 {
		return 0, aborted("Input data JSON file must contain an object with a single 'data' member that is an array. Review JSON file: '"+path+"'", "--input-data "+path+" must be {\"data\": [...]} and nothing else")
	}
	return len(data), nil
}
