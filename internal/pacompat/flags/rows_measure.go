package flags

import (
	"cmp"
	"fmt"
	"math"
	"os"
	"strconv"
	"time"

	"github.com/redline-bench/redline/internal/option"
	"github.com/redline-bench/redline/internal/plan"
)

// The words of --latency-from.
const (
	fromScheduled = "scheduled"
	fromSend      = "send"
)

func (r *raw) measureRows() []option.Row {
	m := &r.plan.Measure
	return option.Group("Measurement", []option.Row{
		{
			Long: "measurement-interval", Short: 'p', Arg: "TIME",
			Help: "length of a measurement window. A level is measured until three consecutive windows agree; a slow model needs " +
				"longer windows",
			To: r.millis(1, &m.Interval),
		}, {
			Long: "duration", Arg: "TIME", RedlineOnly: true,
			Help: "measure each level for this long, such as 30s, in one window, instead of until three windows agree",
			To:   option.Time(&r.duration, time.Second),
		}, {
			Long: "measurement-mode", Arg: "MODE",
			Help: "what ends a window: time (time_windows), or --measurement-request-count responses (count_windows)",
			To:   option.Word(&m.Window, plan.TimeWindows, plan.CountWindows),
		}, {
			Long: "measurement-request-count", Arg: "N", Unit: "responses",
			Help: "number of responses in a count window. High percentiles need more responses",
			To:   option.Int(&m.MinRequests, 1),
		}, {
			Long: "stability-percentage", Short: 's', Arg: "PCT", Default: "10", Unit: "%",
			Help: "largest difference of throughput and latency between the last three windows of a stable level",
			To:   option.Func(r.setStability),
		}, {
			Long: "max-trials", Short: 'r', Arg: "N",
			Help: "largest number of windows of a level; a level that is not stable by then is unstable",
			To:   option.Int(&m.MaxTrials, 1),
		}, {
			Long: "percentile", Arg: "N", Default: "-1, the average",
			Help: "use this percentile of latency, 1 to 99, for stability and -l instead of the average, and report it",
			To:   option.Parsed(&m.Percentile, percentile),
		}, {
			Long: "request-count", Arg: "N", Default: "0, no fixed number",
			Help: "measure exactly this number of requests in one window. For comparing runs request by request",
			To:   option.Func(r.setRequestCount),
		}, {
			Long: "warmup-request-count", Arg: "N",
			Help: "number of warm-up requests before the measurement, which are in no result: they fill caches and load models",
			To:   option.Int(&m.WarmupCount, 0),
		}, {
			Long: "latency-from", Arg: "WHEN", RedlineOnly: true,
			Help: "open loop: start of a request's latency: its due time (scheduled), which does not hide a slow client, or its " +
				"send time (send). Every export contains both",
			To: option.OneOf(&r.latencyFrom, fromScheduled, fromSend),
		}, {
			Long: "max-error-rate", Arg: "PCT", RedlineOnly: true, Unit: "%",
			Default: "1, and stop when all of the last 100 failed",
			Help: "share of failed requests of a level above which the run is not valid (verdict server-failed, exit code 99). If " +
				"the option is given, the run also ends there. Failures are counted and reported",
			To: option.Percent(&m.ValidErrorRate, 100),
		}, {
			Long: "calibrate", RedlineOnly: true,
			Help: "after the run, measure the error of its times: send the run's traffic at the pace of each level to a reference " +
				"server on this machine and compare with that server's log. Takes about 1.5 seconds per level, up to 20 seconds for slow loads; the run's own " +
				"server gets no request",
			To: option.Switch(&m.Calibrate),
		},
	})
}

// percentile reads a percentile of latency; -1 is none, and 0 in the plan.
func percentile(v string) (int, error) {
	n, err := strconv.Atoi(v)
	if err != nil || n != -1 && (n < 1 || n > 99) {
		return 0, fmt.Errorf("is a whole number from 1 to 99, or -1 for the average, not %q", v)
	}
	return max(n, 0), nil
}

// setStability takes "inf", with which every level is stable; JSON has no such number.
func (r *raw) setStability(v string) error {
	pct, err := r.percent(v)
	r.plan.Measure.Stability = min(pct, math.MaxFloat32) / 100
	return err
}

// setRequestCount keeps the first of several, but checks them all.
func (r *raw) setRequestCount(v string) error {
	n := r.plan.Measure.RequestCount
	err := option.Int(&n, 1).Set(v)
	r.plan.Measure.RequestCount = cmp.Or(r.plan.Measure.RequestCount, n)
	return err
}

func (r *raw) outputRows() []option.Row {
	out := &r.plan.Output
	return option.Group("Output", []option.Row{
		{
			Short: 'f', Word: "csv", Arg: "FILE", Writes: true,
			Help: "write a CSV report with one row per level, for spreadsheets and Model Analyzer",
			To:   option.Text(&out.CSV),
		},
		{
			Long: "verbose-csv",
			Help: "add average, percentile and response columns to the CSV report",
			To:   option.Switch(&out.VerboseCSV),
		},
		{
			Long: "profile-export-file", Arg: "FILE", Writes: true,
			Help: "write the times of every request as JSON, for GenAI-Perf or your own analysis. The file must not exist yet",
			To: option.Func(func(v string) error {
				if _, err := os.Stat(v); err == nil {
					return fmt.Errorf("names a file that exists: remove %s, or give another name", v)
				}
				out.Export = v
				return nil
			}),
		},
		{
			Long: "json", Arg: "FILE", Writes: true, RedlineOnly: true,
			Help: "write the whole result as one JSON tree: plan, machine, levels, windows, server statistics, client health, verdict",
			To:   option.Text(&out.ResultJSON),
		},
		{
			Long: "save-scenario", Arg: "FILE", Writes: true, RedlineOnly: true,
			Help: "save the run as a scenario: 'redline run FILE' repeats it",
			To:   option.Text(&r.notes.SaveScenario),
		},
		{
			Short: 'v', Word: "verbose", Repeat: true,
			Help: "print each window and all numbers of each level. Twice (-v -v): also the steps of each request",
			To:   option.Count(&r.plan.Verbose),
		},
		option.HelpRow(),
		{
			Long: "version",
			Help: "print the version",
			To:   option.Func(func(string) error { return ErrVersion }),
		},
	})
}
