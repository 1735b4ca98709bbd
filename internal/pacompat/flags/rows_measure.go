package flags

import (
	"math"
	"os"

	"github.com/redline-bench/redline/internal/option"
	"github.com/redline-bench/redline/internal/pacompat/flags/cxx"
	"github.com/redline-bench/redline/internal/plan"
)

// The words of --latency-from.
const (
	fromScheduled = "scheduled"
	fromSend      = "send"
)

func (r *raw) measureRows() []option.Row {
	m := &r.plan.Measure
	return option.Group("Measurement: what counts, and when it is enough", []option.Row{
		{
			Long: "measurement-interval", Short: 'p', Arg: "N", Unit: "ms",
			Help: "how long a window lasts. A level is measured window by window until three in a row agree; a slow model needs " +
				"longer ones",
			To: millis(1, "Failed to parse --measurement-interval (-p). The value must be > 0 msec.", &m.Interval),
		}, {
			Long: "measurement-mode", Arg: "MODE",
			Help: "what ends a window: time (time_windows), or --measurement-request-count responses (count_windows)",
			To: choice(r, "--measurement-mode", "The available options are 'time_windows' or 'count_windows'.",
				&m.Window, plan.TimeWindows, plan.CountWindows),
		}, {
			Long: "measurement-request-count", Arg: "N", Unit: "responses",
			Help: "the length of a count window. Use more to trust the high percentiles",
			To:   integer(1, "Failed to parse --measurement-request-count. The value must be > 0.", &m.MinRequests),
		}, {
			Long: "stability-percentage", Short: 's', Arg: "PCT", Default: "10", Unit: "%",
			Help: "how far throughput and latency of the last three windows may lie apart and still count as stable",
			To:   option.Func(r.setStability),
		}, {
			Long: "max-trials", Short: 'r', Arg: "N",
			Help: "report a level as unstable after this many windows",
			To:   integer(1, "Failed to parse --max-trials (-r). The value must be > 0.", &m.MaxTrials),
		}, {
			Long: "percentile", Arg: "N", Default: "-1, the average",
			Help: "judge stability and -l by this percentile of latency, 1 to 99, instead of the average, and report it",
			To:   option.Func(func(v string) error { r.percentile = cxx.Atoi(v); return nil }),
		}, {
			Long: "request-count", Arg: "N", Default: "0, no fixed number",
			Help: "measure exactly this many requests, once, and end: to compare runs request by request",
			To:   option.Func(r.setRequestCount),
		}, {
			Long: "warmup-request-count", Arg: "N",
			Help: "send this many requests first that do not count, to fill caches and finish lazy loading",
			To:   integer(0, "Failed to parse --warmup-request-count. The value must be >= 0.", &m.WarmupCount),
		}, {
			Long: "latency-from", Arg: "WHEN", RedlineOnly: true,
			Help: "open loop: count a request's latency from the time it was due (scheduled), so that a slow client cannot hide its lag, or " +
				"from its send. Both are in every export",
			To: option.OneOf(&r.latencyFrom, fromScheduled, fromSend),
		}, {
			Long: "max-error-rate", Arg: "PCT", RedlineOnly: true, Unit: "%",
			Default: "1, and stop when all of the last 100 failed",
			Help: "a run in which more than this share of a level's requests failed is not valid (verdict server-failed, exit code 99). " +
				"When given, the run also ends there. Failures are counted and reported",
			To: option.Percent(&m.ValidErrorRate, 100),
		}, {
			Long: "calibrate", RedlineOnly: true,
			Help: "after the run, measure the error of its times: send the same traffic at the pace of each level to a reference server " +
				"on this machine and compare with that server's log. About 1.5 seconds a level; the run's own server gets no request",
			To: option.Switch(&m.Calibrate),
		},
	})
}

func (r *raw) setStability(v string) error {
	pct, err := cxx.Stof(v)
	if err != nil {
		return err
	}
	if math.IsNaN(pct) || pct < 0 {
		return usagef("Failed to parse --stability-percentage (-s). The value must be >= 0.0.")
	}
	// "inf" means that every level is stable; JSON has no such number.
	r.plan.Measure.Stability = min(pct, math.MaxFloat32) / 100
	return nil
}

// setRequestCount keeps the first of several, as perf_analyzer does, but checks them all.
func (r *raw) setRequestCount(v string) error {
	n, err := wholeNumber(1, "Failed to parse --request-count. The value must be > 0.", v)
	if err == nil && r.plan.Measure.RequestCount == 0 {
		r.plan.Measure.RequestCount = n
	}
	return err
}

func (r *raw) outputRows() []option.Row {
	out := &r.plan.Output
	return option.Group("Output: where results go, and how much is said", []option.Row{
		{
			Short: 'f', Arg: "FILE",
			Help: "write a CSV report, one row a level, for spreadsheets and for Model Analyzer",
			To:   option.Text(&out.CSV),
		},
		{
			Long: "verbose-csv",
			Help: "add average, percentile and response columns to the CSV report",
			To:   option.Switch(&out.VerboseCSV),
		},
		{
			Long: "profile-export-file", Arg: "FILE",
			Help: "write every request's times as JSON, for GenAI-Perf or your own analysis. The file must not exist yet",
			To: option.Func(func(v string) error {
				if _, err := os.Stat(v); err == nil {
					return usagef("Failed to parse --profile-export-file. Path must not already exist.")
				}
				out.Export = v
				return nil
			}),
		},
		{
			Long: "json", Arg: "FILE", RedlineOnly: true,
			Help: "write the whole result as one JSON tree: plan, machine, levels, windows, server statistics, client health, verdict",
			To:   option.Text(&out.ResultJSON),
		},
		{
			Short: 'v', Repeat: true,
			Help: "print each window and all figures of each level; twice (-v -v), also the course of each request",
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
