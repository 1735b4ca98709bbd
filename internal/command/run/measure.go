package run

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/redline-bench/redline/internal/command"
	"github.com/redline-bench/redline/internal/command/class"
	"github.com/redline-bench/redline/internal/command/outcome"
	"github.com/redline-bench/redline/internal/convert"
	"github.com/redline-bench/redline/internal/gate"
	"github.com/redline-bench/redline/internal/pace"
	"github.com/redline-bench/redline/internal/record"
	"github.com/redline-bench/redline/internal/result"
	"github.com/redline-bench/redline/internal/scenario"
	"github.com/redline-bench/redline/internal/telemetry"
)

// run is one run of a scenario.
type run struct {
	*command.IO
	sigs     *command.Signals
	opts     *options
	path     string
	line     string // the command line without secrets
	scenario *scenario.Scenario
	classes  []*member
	rules    []gate.Rule
	outcome  *outcome.Outcome
	whole    *whole
	crew     crew
	began    time.Time
}

func (r *run) close() {
	r.outcome.Close()
	r.crew.close()
	for _, m := range r.classes {
		m.load.Close()
	}
}

// start prepares the classes, one after another, and measures them.
func (r *run) start() (int, error) {
	if err := r.Files.Writable(r.opts.json); err != nil {
		return 0, err
	}
	if !r.opts.dry {
		var err error
		if r.outcome, err = outcome.Open(r.IO, r.opts.outcome, "run", r.line); err != nil {
			return 0, err
		}
		if err := r.checkAsserts(); err != nil {
			return 0, command.Usage(err)
		}
		r.outcome.Require(r.rules...)
		if err := r.connectFleet(); err != nil {
			return 0, err
		}
	}
	for _, m := range r.classes {
		err := m.load.Prepare(r.outcome.Tracing(m.Name))
		if r.interrupted() { // whatever the interrupt made of it
			break
		}
		if err != nil {
			return 0, fmt.Errorf("class %s: %w", m.Name, err)
		}
	}
	switch {
	case r.interrupted():
		return command.ExitInterrupted, nil
	case r.opts.dry:
		return r.dryRun()
	}
	err := r.connect()
	if err == nil {
		err = r.gather()
	}
	switch {
	case r.interrupted():
		return command.ExitInterrupted, nil
	case err != nil:
		return 0, err
	}
	r.head()
	r.measure()
	return r.end(), nil
}

// interrupted tells whether the user has ended the run.
func (r *run) interrupted() bool { return r.sigs.Soft.Err() != nil }

// connect starts to read the metrics of the servers, and to send those of the run. Samples of one model are told apart only if the
// classes have one.
func (r *run) connect() error {
	all := r.classes[0].load.Server()
	for _, m := range r.classes[1:] {
		s := m.load.Server()
		if s.Model != all.Model {
			all.Model = ""
		}
		all.Whole = all.Whole || s.Whole
		all.Own, all.More = slices.Concat(all.Own, s.Own), slices.Concat(all.More, s.More)
	}
	return r.outcome.Connect(r.sigs.Soft, r.sigs.Hard, all)
}

// dryRun prints the first request of each class.
func (r *run) dryRun() (int, error) {
	for _, m := range r.classes {
		text, err := m.load.FirstRequest(r.sigs.Soft)
		if err != nil {
			return 0, fmt.Errorf("class %s: %w", m.Name, err)
		}
		fmt.Fprintf(r.Exact(), "# class %s, the first request\n%s\n", m.Name, text)
	}
	return command.ExitOK, nil
}

// measure runs all classes at the same time.
func (r *run) measure() {
	r.began = time.Now()
	r.whole = newWhole(r.crew.workers)
	r.outcome.Begin(nil)
	together := newStart(r.classes, func() int64 {
		at := r.crew.startTime()
		r.whole.begin(at)
		return at
	})
	r.sigs.Enter(command.Loading)
	// Made before the first class starts: all of them change the outcome.
	shared := convert.All(r.classes, func(m *member) class.Together { return r.shared(m, together) })
	var all sync.WaitGroup
	for i, m := range r.classes {
		all.Go(func() {
			m.out = m.load.Measure(shared[i])
			r.whole.ended(m)
			together.arrive(m) // the others do not wait for a class that has failed
		})
	}
	all.Wait()
	r.sigs.Enter(command.Writing)
	r.Line.Clear()
}

// shared is what a class shares with the others.
func (r *run) shared(m *member, s *start) class.Together {
	length := r.length()
	var responses func(*result.Level, *telemetry.Response)
	if m.Command.Name == "llm" {
		responses = r.outcome.Responses(m.Name)
	}
	var levelEnds func(*result.Level)
	if len(r.classes) == 1 {
		levelEnds = func(lv *result.Level) { r.outcome.LevelEnds(r.sigs.Hard, lv) }
	}
	return class.Together{
		Name: m.Name, Responses: responses, LevelEnds: levelEnds, Watch: r.outcome.Watch(),
		Ready: func(ctx context.Context) error {
			at, err := s.wait(ctx, m)
			if m.fleet != nil {
				m.fleet.StartAt(at)
			}
			return err
		},
		Tap: func(fromSend bool) func(lv *result.Level, window int, rec *record.Record) error {
			records := r.outcome.Tap(fromSend)
			return func(lv *result.Level, window int, rec *record.Record) error {
				r.whole.mu.Lock()
				defer r.whole.mu.Unlock()
				r.whole.add(lv, fromSend, rec)
				if records == nil {
					return nil
				}
				return records(lv, window, rec)
			}
		},
		Progress: func(p class.Progress) {
			status, inFlight := r.whole.status(m, p)
			status.Window = length
			r.Line.Show(status)
			r.outcome.InFlight(p.Level, p.InFlight)
			r.outcome.Progress(func() *result.Level { return r.whole.live(status, inFlight) })
		},
	}
}

// length is how long the longest class with stages sends.
func (r *run) length() time.Duration {
	var longest time.Duration
	for _, m := range r.classes {
		longest = max(longest, pace.Length(m.Stages))
	}
	return longest
}

// exitCode is the worst of the classes.
func (r *run) exitCode() int {
	for _, code := range []int{command.ExitInterrupted, command.ExitError, command.ExitNoRequests, command.ExitUnstable} {
		for _, m := range r.classes {
			if m.out.Code == code {
				return code
			}
		}
	}
	return command.ExitOK
}

// failures are why classes failed.
func (r *run) failures() error {
	var list []error
	for _, m := range r.classes {
		if m.out.Err != nil {
			list = append(list, fmt.Errorf("class %s: %w", m.Name, m.out.Err))
		}
	}
	return errors.Join(list...)
}
