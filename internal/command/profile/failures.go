package profile

import (
	"errors"
	"fmt"

	"github.com/redline-bench/redline/internal/command"
	"github.com/redline-bench/redline/internal/convert"
	"github.com/redline-bench/redline/internal/engine"
	"github.com/redline-bench/redline/internal/pacompat/text"
	"github.com/redline-bench/redline/internal/profile"
	"github.com/redline-bench/redline/internal/report"
	"github.com/redline-bench/redline/internal/result"
	"github.com/redline-bench/redline/internal/run"
	"github.com/redline-bench/redline/internal/service"
)

// startFailed prints why the run could not start and returns the exit code.
func (s *session) startFailed(err error) int {
	if s.Sigs.Soft.Err() != nil {
		return command.ExitInterrupted
	}
	s.complain(err)
	return command.ExitError
}

// complain says on standard error what went wrong, in one line.
func (s *session) complain(err error) {
	said := s.Advise(err)
	if s.Plan.Policies.BareReport {
		said = text.Searched(err, said)
	}
	fmt.Fprintf(s.Stderr, "%s: %s\n", s.name, said)
}

// explainEnd prints the last words.
func (s *session) explainEnd(res *result.Result, err error) {
	if !s.Plan.Policies.BareReport {
		report.Fleet(s.Stdout, res.Fleet)
		report.Verdict(s.Stdout, res, s.Style())
		s.explainRedline(res, err)
		return
	}
	load, failed := errors.AsType[*profile.LoadError](err)
	_, asked := errors.AsType[*service.Error](err)
	switch {
	case err == nil, errors.Is(err, run.ErrInterrupted):
	case errors.Is(err, profile.ErrUnstable):
		s.Console.End(text.UnstableEnd)
	case errors.Is(err, profile.ErrNoRequests):
		s.Console.End(text.NoValidRequests)
	case failed:
		s.Console.LoadFailed(convert.All(load.Workers, func(f engine.WorkerError) result.Failure {
			return result.Failure{Slot: f.Worker, Text: text.Searched(f.Err, service.Reason(f.Err))}
		}))
		if load.Stall != nil {
			s.complain(load.Stall)
		}
	case asked:
		s.Console.LoadFailed([]result.Failure{{Text: service.Reason(err)}})
	default:
		s.complain(err)
	}
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
		s.complain(err)
	}
}
