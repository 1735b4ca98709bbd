package flags

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/redline-bench/redline/internal/convert"
	"github.com/redline-bench/redline/internal/option"
	"github.com/redline-bench/redline/internal/pace"
	"github.com/redline-bench/redline/internal/plan"
)

// take claims the load mode for an option; only one option may.
func (r *raw) take(m plan.Mode, name string) error {
	if r.mode != "" {
		return fmt.Errorf("and %s exclude each other: leave one out", r.taken)
	}
	r.mode, r.taken = m, name
	return nil
}

// takeOld notes the use of -t, -c or -d. They may come before another mode, and then win over it.
func (r *raw) takeOld(name string) error {
	r.warnOld(name, "--concurrency-range")
	if r.mode != "" {
		return fmt.Errorf("and %s exclude each other: leave one out", r.taken)
	}
	r.old = true
	return nil
}

func (r *raw) setConcurrency(v string) error {
	if err := r.take(plan.Concurrency, "--concurrency-range"); err != nil {
		return err
	}
	load := &r.plan.Load
	c := &load.Concurrency
	if strings.Contains(v, ",") && !r.compat {
		list, err := option.Ints(v)
		if err == nil {
			load.Levels = convert.All(list, func(n int) float64 { return float64(n) })
			*c = plan.IntRange{Start: list[0], End: slices.Max(list), Step: 1}
		}
		return err
	}
	if err := rangeOf(v, level, &c.Start, &c.End, &c.Step); err != nil {
		return err
	}
	return cmp.Or(when(c.Start == 0, "starts at 1 or above, not %q", v), r.upward(v, float64(c.Start), float64(c.End)))
}

func (r *raw) setRate(v string) error {
	if len(r.plan.Load.Stages) > 0 {
		return errors.New("and --stages exclude each other, and each is given once")
	}
	if err := r.take(plan.RequestRate, "--request-rate-range"); err != nil {
		return err
	}
	load := &r.plan.Load
	if strings.Contains(v, ",") && !r.compat {
		list, err := option.Floats(v)
		if err == nil {
			load.Levels, load.Rate = list, plan.FloatRange{Start: list[0], End: slices.Max(list), Step: 1}
		}
		return err
	}
	if err := rangeOf(v, rate, &load.Rate.Start, &load.Rate.End, &load.Rate.Step); err != nil {
		return err
	}
	return cmp.Or(when(load.Rate.Start <= 0, "starts above 0, not %q", v), r.upward(v, load.Rate.Start, load.Rate.End))
}

// upward refuses a range that falls: perf_analyzer measures its start and ignores the rest.
func (r *raw) upward(v string, start, end float64) error {
	return when(!r.compat && strings.Contains(v, ":") && end != 0 && end < start, "%s ends below its start: write the lower number first", v)
}

// setStages is redline's own.
func (r *raw) setStages(v string) error {
	if r.mode == plan.RequestRate {
		return errors.New("and --request-rate-range exclude each other, and each is given once")
	}
	if err := r.take(plan.RequestRate, "--stages"); err != nil {
		return err
	}
	stages, err := pace.ParseStages(v)
	r.plan.Load.Stages = stages
	return err
}

func (r *raw) setIntervals(v string) error {
	if err := r.take(plan.CustomIntervals, "--request-intervals"); err != nil {
		return err
	}
	return existing(&r.plan.Load.Intervals).Set(v)
}

func (r *raw) setPeriodic(v string) error {
	if err := r.take(plan.PeriodicConcurrency, "--periodic-concurrency-range"); err != nil {
		return err
	}
	p := &r.plan.Load.Periodic
	p.Step = 1
	if err := rangeOf(v, level, &p.Start, &p.End, &p.Step); err != nil {
		return err
	}
	return cmp.Or(
		when(!strings.Contains(v, ":"), "is START:END:STEP, such as 1:16:5, not %q", v),
		when(p.Start > p.End, "ends below its start: write the lower number first"),
		when(p.Step == 0 || (p.End-p.Start)%max(p.Step, 1) != 0, "needs a STEP above 0 that divides END - START, as in 1:16:5"),
	)
}

func (r *raw) setSessions(v string) error {
	if err := r.take(plan.SessionConcurrency, "--session-concurrency"); err != nil {
		return err
	}
	n, err := level(v)
	if err != nil || n == 0 {
		return fmt.Errorf("is a whole number of at least 1, not %q", v)
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

// scheduleLength counts the requests of a fixed schedule.
func (r *raw) scheduleLength() (int, error) {
	if r.plan.Measure.RequestCount != 0 {
		return 0, errors.New("--fixed-schedule and --request-count exclude each other: every request of the input data is sent")
	}
	if len(r.paths) == 0 {
		return 0, errors.New("--fixed-schedule needs its requests and their times: add --input-data FILE")
	}
	total := 0
	for _, p := range r.paths {
		n, err := payloads(p)
		if err != nil {
			return 0, err
		}
		total += n
	}
	if total == 0 {
		return 0, errors.New("--fixed-schedule: the input data has no requests")
	}
	if r.plan.Measure.WarmupCount >= total {
		return 0, errors.New("--warmup-request-count must be lower than the number of requests in the input data")
	}
	return total - r.plan.Measure.WarmupCount, nil
}

// payloads counts the entries of a data set: an object with the one member "data".
func payloads(path string) (int, error) {
	if isDir(path) {
		return 0, fmt.Errorf("--input-data %s is not a file: --fixed-schedule reads JSON files", path)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return 0, fmt.Errorf("--input-data %s cannot be read: %w", path, err)
	}
	var doc any
	if err := json.Unmarshal(b, &doc); err != nil {
		return 0, fmt.Errorf("--input-data %s is not valid JSON: %w", path, err)
	}
	obj, _ := doc.(map[string]any)
	data, ok := obj["data"].([]any)
	if !ok || len(obj) != 1 {
		return 0, fmt.Errorf("--input-data %s must be {\"data\": [...]} and nothing else", path)
	}
	return len(data), nil
}

func isDir(path string) bool {
	st, err := os.Stat(path)
	return err == nil && st.IsDir()
}
