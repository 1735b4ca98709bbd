package profile

import (
	"errors"
	"fmt"

	"github.com/redline-bench/redline/internal/command"
	"github.com/redline-bench/redline/internal/command/target"
	"github.com/redline-bench/redline/internal/convert"
	"github.com/redline-bench/redline/internal/engine"
	"github.com/redline-bench/redline/internal/measure"
	"github.com/redline-bench/redline/internal/pacompat/kinds"
	"github.com/redline-bench/redline/internal/pacompat/rules"
	"github.com/redline-bench/redline/internal/pacompat/text"
	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/profile"
	"github.com/redline-bench/redline/internal/report"
	"github.com/redline-bench/redline/internal/result"
	"github.com/redline-bench/redline/internal/run"
	"github.com/redline-bench/redline/internal/scrape"
	"github.com/redline-bench/redline/internal/service"
	"github.com/redline-bench/redline/internal/service/dynamicgrpc"
	"github.com/redline-bench/redline/internal/service/tritoncapi"
	"github.com/redline-bench/redline/internal/workload"
)

// startFailed prints why the run could not start and returns the exit code.
func (s *session) startFailed(err error) int {
	if s.Sigs.Soft.Err() != nil {
		return command.ExitInterrupted
	}
	if s.Plan.Program == plan.Redline {
		fmt.Fprintf(s.Stderr, "redline profile: %s\n", s.Advise(err))
		return command.ExitError
	}
	var se *rules.StartError
	if !errors.As(err, &se) {
		fmt.Fprintln(s.Stderr, err)
		if errors.As(err, new(rules.PlainError)) {
			fmt.Fprintln(s.Stderr) // perf_analyzer prints its exception, which has no text
		}
		return command.ExitError
	}
	var data *workload.DataError
	if errors.As(err, &data) && data.Code != 0 {
		fmt.Fprintf(s.Stderr, "cb::Error  : %d\nOffset : %d\n", data.Code, data.Offset)
	}
	detail := text.ErrorText(se.Err, s.Plan.Target.Protocol)
	if f, ok := errors.AsType[*tritoncapi.LibraryError](err); ok {
		detail = text.Sentence(f.What)
		fmt.Fprintf(s.Stdout, "error: %s: %s - %s\n", detail, f.Code, f.Text) // perf_analyzer prints it here
	}
	(&text.Console{Err: s.Stderr}).StartFailed(se.What, detail)
	if se.Blank {
		fmt.Fprintln(s.Stderr)
	}
	if why := target.Inside(&s.Plan.Target, err); why != "" {
		fmt.Fprintln(s.Stderr, "cause: "+why)
	}
	return command.ExitError
}

// nothingToSend ends a run at its first request, of which there is none: each worker of the first level fails.
func (s *session) nothingToSend() int {
	load := &s.Plan.Load
	lv := &result.Level{Mode: load.Mode, Concurrency: load.Concurrency.Start, Rate: load.Rate.Start}
	workers := load.MaxThreads
	if load.Mode == plan.Concurrency {
		workers = lv.Concurrency
		if s.Async {
			workers = min(workers, load.MaxThreads)
		}
		if w := s.Plan.Measure.WarmupCount; w > 0 {
			s.Console.Header(&result.Level{Mode: load.Mode, Concurrency: min(w, lv.Concurrency)})
		}
	}
	s.Console.Header(lv)
	failures := make([]result.Failure, workers)
	for i := range failures {
		failures[i] = result.Failure{Slot: i, Text: text.ErrorText(s.NoSteps, s.Plan.Target.Protocol)}
	}
	(&text.Console{Err: s.Stderr}).LoadFailed(failures)
	return command.ExitError
}

// explainEnd prints the last words.
func (s *session) explainEnd(res *result.Result, err error) {
	if s.Plan.Program == plan.Redline {
		report.Fleet(s.Stdout, res.Fleet)
		report.Verdict(s.Stdout, res, s.Style())
		s.explainRedline(res, err)
		return
	}
	var load *profile.LoadError
	var stats *profile.StatsError
	switch {
	case err == nil, errors.Is(err, run.ErrInterrupted):
	case errors.As(err, &load):
		for _, worker := range load.Workers {
			if f, ok := errors.AsType[*tritoncapi.LibraryError](worker.Err); ok {
				s.Console.Say(fmt.Sprintf("error: %s: %s - %s", text.Sentence(f.What), f.Code, f.Text))
			}
		}
		s.Console.LoadFailed(s.threads(load))
		if load.Stall != nil {
			s.Console.Warn("cause: " + load.Stall.Error())
		}
		s.networkCause(load.Workers)
	case errors.Is(err, profile.ErrUnstable):
		s.Console.End(text.UnstableEnd)
	case errors.Is(err, profile.ErrNoRequests):
		s.Console.End(text.NoValidRequests)
	case errors.Is(err, measure.ErrNoVersion):
		s.Console.End(text.VersionNotFound)
	case errors.As(err, &stats):
		s.Console.End(text.ErrorText(stats.Err, s.Plan.Target.Protocol))
	case errors.Is(err, engine.ErrEarlyEnd):
		s.Console.End(text.EarlyEnd)
	case errors.Is(err, scrape.ErrConnect):
		s.Console.End(text.MetricsUnreachable(s.Plan.Target.Metrics.URL))
	case errors.Is(err, scrape.ErrStatus):
		s.Console.End(text.MetricsFailed)
	case errors.As(err, new(*service.Error)):
		s.Console.LoadFailed([]result.Failure{{Text: s.threadText(err)}})
		s.networkCause([]engine.WorkerError{{Err: err}})
	default:
		s.Console.End(err.Error())
	}
}

// threads are the failures of each worker in perf_analyzer's words.
func (s *session) threads(e *profile.LoadError) []result.Failure {
	return convert.All(e.Workers, func(f engine.WorkerError) result.Failure {
		return result.Failure{Slot: f.Worker, Text: s.threadText(f.Err)}
	})
}

// networkCause adds what the network did, or a generator of messages, where perf_analyzer's words do not tell.
func (s *session) networkCause(workers []engine.WorkerError) {
	if len(workers) > 0 {
		if e, ok := errors.AsType[*dynamicgrpc.GeneratorError](workers[0].Err); ok {
			if e.Said != "" {
				s.Console.Warn(e.Said)
			}
			s.Console.Warn("cause: " + e.Error())
		}
	}
	failure := kinds.Of(s.Plan.Target.Kind).Failure
	if failure == nil || len(workers) == 0 {
		return
	}
	_, hidden := failure(workers[0].Err)
	if e, ok := errors.AsType[*service.Error](workers[0].Err); ok && hidden {
		s.Console.Warn("cause: " + target.Reason(e))
	}
}

func (s *session) threadText(err error) string {
	if failure := kinds.Of(s.Plan.Target.Kind).Failure; failure != nil {
		if words, _ := failure(err); words != "" {
			return words
		}
	}
	if f, ok := errors.AsType[*tritoncapi.LibraryError](err); ok {
		return text.Sentence(f.What)
	}
	if s.Async {
		return text.AsyncErrorText(err, s.Plan.Target.Protocol)
	}
	return text.ErrorText(err, s.Plan.Target.Protocol)
}

func (s *session) explainRedline(res *result.Result, err error) {
	var last result.Level
	if n := len(res.Levels); n > 0 {
		last = res.Levels[n-1]
	}
	switch {
	case (err == nil || errors.Is(err, profile.ErrUnstable)) && res.Verdict.State == result.ServerFailed:
		fmt.Fprintln(s.Stderr, "redline profile: too many requests failed, see the verdict; --max-error-rate PCT allows more")
	case err == nil, errors.Is(err, profile.ErrUnstable), errors.Is(err, run.ErrInterrupted):
	case errors.Is(err, profile.ErrNoRequests) && len(last.Failures) > 0 && last.Client.Requests > 0:
		f := last.Failures[len(last.Failures)-1]
		fmt.Fprintf(s.Stderr, "redline profile: the server stopped answering after %d requests: %s\n", last.Client.Requests, f.Text)
	case errors.Is(err, profile.ErrNoRequests) && len(last.Failures) > 0:
		fmt.Fprintf(s.Stderr, "redline profile: no request succeeded: %s\n", last.Failures[0].Text)
	case errors.Is(err, profile.ErrNoRequests):
		fmt.Fprintln(s.Stderr, "redline profile: no request ended within a window: use a larger --measurement-interval, or --measurement-mode count_windows")
	default:
		fmt.Fprintf(s.Stderr, "redline profile: %s\n", s.Advise(err))
	}
}
