package flags

import (
	"math"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/redline-bench/redline/internal/pacompat/flags/cxx"
	"github.com/redline-bench/redline/internal/plan"
)

// The words of --latency-from.
const (
	fromScheduled = "scheduled"
	fromSend      = "send"
)

func measureRows() []Row {
	return []Row{
		{
			Long: "measurement-interval", Short: 'p', Arg: "N", Section: Measurement, Default: "5000", Unit: "ms",
			Help: "Length of a measurement window. A level is measured until three consecutive windows agree; a slow model needs " +
				"longer windows.",
			set: millis(1, "Failed to parse --measurement-interval (-p). The value must be > 0 msec.",
				func(r *raw) *time.Duration { return &r.plan.Measure.Interval }),
		}, {
			Long: "measurement-mode", Arg: "MODE", Section: Measurement, Default: "time_windows",
			Hint: values("time_windows", "count_windows"),
			Help: "What ends a window: time (time_windows), or --measurement-request-count responses (count_windows).",
			set: choice("--measurement-mode", "The available options are 'time_windows' or 'count_windows'.",
				func(r *raw) *plan.WindowMode { return &r.plan.Measure.Window }, plan.TimeWindows, plan.CountWindows),
		}, {
			Long: "measurement-request-count", Arg: "N", Section: Measurement, Default: "50",
			Help: "Number of responses in a count window. High percentiles need more responses.",
			set: integer(1, "Failed to parse --measurement-request-count. The value must be > 0.",
				func(r *raw) *int { return &r.plan.Measure.MinRequests }),
		}, {
			Long: "stability-percentage", Short: 's', Arg: "PCT", Section: Measurement, Default: "10", Unit: "%",
			Help: "Largest difference of throughput and latency between the last three windows of a stable level.",
			set:  setStability,
		}, {
			Long: "max-trials", Short: 'r', Arg: "N", Section: Measurement, Default: "10",
			Help: "Largest number of windows of a level; a level that is not stable by then is unstable.",
			set: integer(1, "Failed to parse --max-trials (-r). The value must be > 0.",
				func(r *raw) *int { return &r.plan.Measure.MaxTrials }),
		}, {
			Long: "percentile", Arg: "N", Section: Measurement, Default: "-1, the average",
			Help: "Use this percentile of latency, 1 to 99, for stability and -l instead of the average, and report it.",
			set: func(r *raw, v string) error {
				r.percentile = cxx.Atoi(v)
				return nil
			},
		}, {
			Long: "request-count", Arg: "N", Section: Measurement, Default: "0, no fixed number",
			Help: "Measure exactly this number of requests in one window. For comparing runs request by request.",
			set:  setRequestCount,
		}, {
			Long: "warmup-request-count", Arg: "N", Section: Measurement, Default: "0",
			Help: "Number of warm-up requests before the measurement, which are in no result: they fill caches and load models.",
			set: integer(0, "Failed to parse --warmup-request-count. The value must be >= 0.",
				func(r *raw) *int { return &r.plan.Measure.WarmupCount }),
		}, {
			Long: "latency-from", Arg: "WHEN", Section: Measurement, Face: RedlineOnly, Default: fromScheduled,
			Hint: values(fromScheduled, fromSend),
			Help: "Open loop: start of a request's latency: its due time (scheduled), which does not hide a slow client, or its " +
				"send time (send). Every export contains both.",
			set: func(r *raw, v string) error {
				if v != fromScheduled && v != fromSend {
					return line("--latency-from is %s or %s, not '%s'", fromScheduled, fromSend, v)
				}
				r.latencyFrom = v
				return nil
			},
		}, {
			Long: "max-error-rate", Arg: "PCT", Section: Measurement, Face: RedlineOnly, Unit: "%",
			Default: "1, and stop when all of the last 100 failed",
			Help: "Share of failed requests of a level above which the run is not valid (verdict server-failed, exit code 99). If " +
				"the option is given, the run also ends there. Failures are counted and reported.",
			set: setMaxErrorRate,
		}, {
			Long: "calibrate", Section: Measurement, Face: RedlineOnly,
			Help: "After the run, measure the error of its times: send the run's traffic at the pace of each level to a reference " +
				"server on this machine and compare with that server's log. Takes about 1.5 seconds per level, up to 20 for slow " +
				"loads; the run's own server gets no request.",
			set: flag(func(r *raw) *bool { return &r.plan.Measure.Calibrate }),
		},
	}
}

func setStability(r *raw, v string) error {
	pct, err := cxx.Stof(v)
	if err != nil {
		return err
	}
	if math.IsNaN(pct) || pct < 0 {
		return usagef("Failed to parse --stability-percentage (-s). The value must be >= 0.0.")
	}
	// "inf" is a way to say that anything is stable; JSON has no word for it.
	r.plan.Measure.Stability = min(pct, math.MaxFloat32) / 100
	return nil
}

// setRequestCount keeps the first of several, as the original does, but checks them all.
func setRequestCount(r *raw, v string) error {
	var n int
	err := integer(1, "Failed to parse --request-count. The value must be > 0.", func(*raw) *int { return &n })(r, v)
	if err == nil && r.plan.Measure.RequestCount == 0 {
		r.plan.Measure.RequestCount = n
	}
	return err
}

func setMaxErrorRate(r *raw, v string) error {
	pct, err := strconv.ParseFloat(strings.TrimSuffix(v, "%"), 64)
	if err != nil || !(pct >= 0 && pct <= 100) {
		return line("--max-error-rate is a percentage from 0 to 100, not '%s'", v)
	}
	r.plan.Measure.MaxErrorRate, r.plan.Measure.ValidErrorRate = pct/100, pct/100
	return nil
}

func setTimeout(r *raw, v string) error {
	d, err := time.ParseDuration(v)
	if err != nil || d <= 0 {
		return line("--request-timeout is a time such as 500ms, 30s or 2m, not '%s'", v)
	}
	r.plan.Target.Timeout = d
	return nil
}

func setMaxResponse(r *raw, v string) error {
	n, err := strconv.ParseInt(v, 10, 64)
	if err != nil || n < 1 || n > plan.MostResponse {
		return line("--max-response-bytes is a number of bytes from 1 to %d, not '%s'", int64(plan.MostResponse), v)
	}
	r.plan.Target.MaxResponse = n
	return nil
}

func setSeed(r *raw, v string) error {
	n, err := strconv.ParseUint(v, 10, 64)
	if err != nil {
		return line("--seed is a whole number from 0 to 2^64-1, not '%s'", v)
	}
	r.plan.Load.Seed, r.plan.Input.Seed = n, n
	return nil
}

func outputRows() []Row {
	return []Row{
		{
			Short: 'f', Arg: "FILE", Section: Output, Hint: files(),
			Help: "Write a CSV report with one row per level, for spreadsheets and Model Analyzer.",
			set:  text(func(r *raw) *string { return &r.plan.Output.CSV }),
		}, {
			Long: "verbose-csv", Section: Output,
			Help: "Add average, percentile and response columns to the CSV report.",
			set:  flag(func(r *raw) *bool { return &r.plan.Output.VerboseCSV }),
		}, {
			Long: "profile-export-file", Arg: "FILE", Section: Output, Hint: files(),
			Help: "Write the times of every request as JSON, for GenAI-Perf or your own analysis. The file must not exist yet.",
			set: func(r *raw, v string) error {
				if _, err := os.Stat(v); err == nil {
					return usagef("Failed to parse --profile-export-file. Path must not already exist.")
				}
				r.plan.Output.Export = v
				return nil
			},
		}, {
			Long: "json", Arg: "FILE", Section: Output, Face: RedlineOnly, Hint: files(),
			Help: "Write the whole result as one JSON tree: plan, machine, levels, windows, server statistics, client health, verdict.",
			set:  text(func(r *raw) *string { return &r.plan.Output.ResultJSON }),
		}, {
			Short: 'v', Section: Output,
			Help: "Print each window and all numbers of each level. Twice (-v -v): also the steps of each request.",
			set: func(r *raw, _ string) error {
				r.plan.Verbose = min(2, r.plan.Verbose+1)
				return nil
			},
		}, {
			Long: "help", Short: 'h', Section: Output,
			Help: "Print this text.",
			set:  func(*raw, string) error { return ErrHelp },
		}, {
			Long: "version", Section: Output,
			Help: "Print the version.",
			set:  func(*raw, string) error { return ErrVersion },
		},
	}
}
