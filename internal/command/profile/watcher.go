package profile

import (
	"fmt"
	"time"

	"github.com/redline-bench/redline/internal/measure"
	"github.com/redline-bench/redline/internal/pacompat/text"
	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/profile"
	"github.com/redline-bench/redline/internal/report"
	"github.com/redline-bench/redline/internal/result"
	"github.com/redline-bench/redline/internal/term"
)

// watcher shows a run as it goes: its levels and, unless the report is bare, the client's health and the progress line.
type watcher struct {
	*session
}

// LevelBegins prints the header of a level or of its warm-up.
func (w *watcher) LevelBegins(lv *result.Level, _ bool) { w.Console.Header(lv) }

// Pass prints one line a window on verbose runs.
func (w *watcher) Pass(n int, win *result.Window) {
	if w.mute() {
		return
	}
	if win.Client.Requests == 1 && w.Plan.Policies.BareReport {
		w.Console.Warn(text.SingleRequest)
	}
	w.Console.Pass(n, win)
}

// mute tells whether a bare report has nothing but its export: sessions have no levels.
func (w *watcher) mute() bool {
	return w.Plan.Policies.BareReport && w.Plan.Load.Mode == plan.SessionConcurrency
}

// LevelEnds prints the level, or why there is nothing to print.
func (w *watcher) LevelEnds(lv *result.Level) {
	if !w.Plan.Policies.BareReport {
		w.Line.EndLevel(term.Status{Rate: lv.Client.InferPerSec, Median: time.Duration(lv.Client.Latency.At(50))})
		w.outcome.LevelEnds(w.Sigs.Hard, lv)
		if lv.Idle {
			w.WriteIdle()
			return
		}
		if lv.Client.Requests > 0 {
			w.Console.Level(lv)
		}
		report.Health(w.Stdout, lv, w.Style())
		return
	}
	switch {
	case lv.Accepted && w.mute():
	case lv.Accepted:
		if lv.LatencyUnstable {
			w.Console.Warn(text.NotStabilizing)
		}
		w.Console.Level(lv)
	case lv.Unfinished:
		w.Console.Partial(lv)
	case lv.OverLimit:
		w.Console.Partial(lv)
		w.Console.Warn(text.OverLimit(w.Plan))
	default:
		w.Console.Warn(text.Unstable(w.Plan, lv))
	}
}

// RanksStable is said on verbose runs.
func (w *watcher) RanksStable() {
	if w.Plan.Verbose > 0 {
		w.Console.Say(text.RanksStable)
	}
}

// Progress redraws the progress line.
func (w *watcher) Progress(p profile.Progress) {
	w.Line.Show(term.Status{
		Level: measure.LevelName(p.Level), Number: p.Number, Levels: p.Levels, Left: p.Left, Pass: p.Pass, Passes: p.Passes, Elapsed: p.Elapsed, Window: p.Window,
		Requests: p.Requests, Wanted: p.Wanted, Rate: p.Rate, Median: p.Median, Failed: p.Failed, Workers: p.Workers,
	})
	if w.outcome != nil {
		w.outcome.InFlight(p.Level, p.InFlight)
		w.outcome.Progress(p.Live)
	}
}

// Warn prints a remark.
func (w *watcher) Warn(warning profile.Warning) {
	if !w.Plan.Policies.BareReport {
		warnPlainly(w.Console, warning)
		return
	}
	switch warning.Kind {
	case profile.WarmupExceeded:
		w.Console.Warn(text.WarmupConcurrency)
	case profile.SeveralVersions:
		w.Console.Warn(text.MultipleVersions(warning.Model))
	case profile.MetricMissing:
		w.Console.Warn(text.MetricMissing(warning.Text))
	case profile.MetricsSlow:
		w.Console.Warn(text.MetricsSlow(warning.Took.Milliseconds(), warning.Interval.Milliseconds()))
	case profile.MetricsFailed, profile.StatisticsFailed:
		warnPlainly(w.Console, warning)
	}
}

// warnPlainly prints a remark in our own words.
func warnPlainly(console *text.Console, warning profile.Warning) {
	line := ""
	switch warning.Kind {
	case profile.WarmupExceeded: // the warm-up has its own header with its concurrency
		return
	case profile.SeveralVersions:
		line = fmt.Sprintf("several versions of model %s answer, and the server's statistics count them together: choose one with -x", warning.Model)
	case profile.MetricMissing:
		line = fmt.Sprintf("the server's metrics have no %s", warning.Text)
	case profile.MetricsSlow:
		line = fmt.Sprintf("the server's metrics took %s, longer than --metrics-interval %s: use a longer interval", warning.Took.Round(time.Millisecond), warning.Interval)
	case profile.MetricsFailed:
		line = warning.Text
	case profile.StatisticsFailed:
		line = fmt.Sprintf("the server's statistics of %s are missing from the report: %s", warning.Model, warning.Text)
	}
	console.Warn("warning: " + line)
}
