package tune

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/redline-bench/redline/internal/command"
	"github.com/redline-bench/redline/internal/command/outcome"
	"github.com/redline-bench/redline/internal/command/search"
	"github.com/redline-bench/redline/internal/command/target"
	"github.com/redline-bench/redline/internal/convert"
	"github.com/redline-bench/redline/internal/find"
	"github.com/redline-bench/redline/internal/option"
	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/result"
	"github.com/redline-bench/redline/internal/scrape"
	"github.com/redline-bench/redline/internal/service"
	"github.com/redline-bench/redline/internal/service/kserve"
	"github.com/redline-bench/redline/internal/tune"
	"github.com/redline-bench/redline/internal/unit"
)

// session is one search from the options to the exit code.
type session struct {
	*command.IO
	sigs *command.Signals
	opts *options
	what string   // profile or llm
	file string   // of a scenario; empty without one
	rest []string // the options of the traffic
	args []string // the options of the traffic as the user gave them, without secrets
	// together are the models or classes that get the load together; empty for one model. turn is the model of one of several searches,
	// which has this place among them; it is empty for a single search.
	together      []share
	turn          string
	place, places int
	base          search.Traffic // the traffic without a candidate; it is never started
	server        string         // its address
	tiers         []find.Tier
	outcome       *outcome.Outcome
	silent        *outcome.Outcome // gets the requests of candidates, which go to no file and to no other tool
	began         time.Time

	control    *control        // nil without model control
	noControl  string          // why there is none, although something of the server may be varied
	changed    bool            // something at the server may have been changed
	warned     bool            // that no note can be written
	gpus       []scrape.Config // pages with metrics of GPUs
	gpuMissing bool            // it was said that there are no metrics of GPUs
	given      []knob          // those of --vary
	space      *space
	note       *note
	journal    *journal
	search     *tune.Search
	entries    map[string]entry      // the last one of each candidate, by its values
	started    bool                  // a candidate's traffic could be started
	single     time.Duration         // latency of single requests
	resumed    int                   // measurements that were taken from the journal
	winner     *result.TuneCandidate // the best candidate; nil if there is none
}

// restoreTime limits the restoration of the server at the end.
const restoreTime = 2 * time.Minute

func (s *session) run() (int, error) {
	opts, json := s.base.Outcome()
	switch {
	case opts.OTLP != "" || opts.RemoteWrite != "":
		return 0, command.Usage(errors.New("remove --otlp and --prometheus-remote-write: tune reports candidates, not their requests"))
	case opts.OwnMetrics:
		return 0, command.Usage(errors.New("give --server-metrics the URL of a page with metrics of GPUs: tune reads nothing else of it"))
	}
	s.gpus = gpuPages(s.base.Plan(), opts)
	out, err := outcome.Open(s.IO, opts, "tune", option.CommandLine("redline tune", s.allArguments()))
	if err != nil {
		return 0, err
	}
	s.outcome = out
	defer s.outcome.Close()
	if s.silent, err = outcome.Open(s.quiet(), plan.DefaultOutcome(), "tune", ""); err != nil {
		return 0, err
	}
	defer s.silent.Close()
	sample := s.base.Sample()
	sample.Find = &result.Find{By: "rate"}
	if err := out.CheckRules(sample); err != nil {
		return 0, command.Usage(err)
	}
	if err := s.Files.Writable(json, s.opts.csv); err != nil {
		return 0, err
	}
	s.IO = s.IO.ForRun(opts, s.sigs)
	s.began = time.Now()
	var embedded bool
	if s.server, embedded = s.base.Server(); embedded {
		return 0, command.Usage(errors.New("--embedded starts a server for each candidate, so that none can be changed: start 'redline serve --model-control-mode explicit --load-model MODEL', and name it with -u"))
	}
	unlock, err := s.lock()
	if err != nil {
		return s.failed(err), nil
	}
	defer unlock()
	if err = s.prepare(s.sigs.Soft); err == nil {
		s.sigs.Enter(command.Loading)
		err = s.searchAll(s.sigs.Soft)
		s.Line.Clear()
	}
	s.sigs.Enter(command.Writing)
	restored := s.restore()
	var code int
	if s.search == nil || err != nil && len(s.entries) == 0 && s.sigs.Soft.Err() == nil {
		code = s.failed(err) // nothing was measured
	} else {
		code = s.finish(json, err)
	}
	if restored != nil {
		code = command.ExitError
	}
	return code, nil
}

// failed prints why the search could not start and returns the exit code.
func (s *session) failed(err error) int {
	if s.sigs.Soft.Err() != nil {
		return command.ExitInterrupted
	}
	fmt.Fprintf(s.Stderr, "redline tune: %s\n", line(err))
	return command.ExitError
}

// prepare restores what an earlier search left, asks the server what it has, and settles what is varied.
func (s *session) prepare(ctx context.Context) error {
	if err := s.honor(ctx); err != nil {
		return err
	}
	if err := s.connect(ctx); err != nil {
		return err
	}
	if err := s.settle(); err != nil {
		return err
	}
	if err := s.checkConfigFile(); err != nil {
		return err
	}
	s.entries = map[string]entry{}
	s.journal = s.openJournal()
	if s.opts.apply != "" {
		s.keepNote()
	}
	conf := tune.Config{Present: s.present(), Seed: s.opts.seed, Budget: s.opts.budget, Resolution: s.opts.resolution}
	conf.Knobs = convert.All(s.space.knobs, func(k knob) tune.Knob { return k.Knob })
	of := func(x float64) time.Duration { return time.Duration(x * float64(s.opts.probe)) }
	conf.Expect = [...]time.Duration{of(7), of(20), of(35) + s.opts.confirm}
	s.search = tune.New(conf)
	s.head()
	return nil
}

// connect opens the control of the server's models, if something of the server may be varied.
func (s *session) connect(ctx context.Context) error {
	pl := s.base.Plan()
	switch {
	case pl == nil:
		s.noControl = "'redline tune llm' changes the server with --apply only"
		return nil
	case s.opts.apply != "":
		s.noControl = "--apply changes the server"
		return nil
	case len(s.given) > 0 && !slices.ContainsFunc(s.given, func(k knob) bool { return k.part == ofServer }):
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, s.opts.ready)
	defer cancel()
	svc, err := open(pl)
	if err != nil {
		return err
	}
	c, err := newControl(svc)
	if err == nil {
		s.control = c
		err = c.read(ctx, s.models(), func() {
			s.sigs.Enter(command.Loading) // from now on an interrupt must leave time to restore the server
			s.changed = true
			s.keepNote()
		})
	}
	if err == nil || c != nil && c.touched {
		return err
	}
	s.control, s.changed = nil, false // the server has what it had
	defer svc.Close()
	if none := (noControlError{}); errors.As(err, &none) {
		s.noControl = none.why
		return s.dropNote()
	}
	if e, ok := errors.AsType[*service.Error](err); ok {
		e.Op = kserve.OpMetadata
		pl = pl.With(func(pl *plan.Plan) { pl.Target.Model = c.reading })
		err = errors.New(target.Explain(ctx, svc, &pl.Target, target.Options{Protocol: "-i"}, e))
	}
	return errors.Join(err, s.dropNote())
}

// present is the candidate that the server and the command line have now; nil if it is not known.
func (s *session) present() tune.Point {
	var p tune.Point
	for _, k := range s.space.knobs {
		switch {
		case k.part == ofCommand:
			return nil
		case k.present == "": // the command line has no shape, and the model may need one
			p = append(p, 0)
		default:
			p = append(p, slices.Index(k.Values, k.present)) // -1 is tune.NotListed
		}
	}
	return p
}

// values are those of a point. A value that is not listed is the present one.
func (s *session) values(p tune.Point) []string {
	out := make([]string, len(p))
	for i, at := range p {
		out[i] = s.space.knobs[i].present
		if at != tune.NotListed {
			out[i] = s.space.knobs[i].Values[at]
		}
	}
	return out
}

// searchAll measures candidates until the search is over. The error is why it ended early.
func (s *session) searchAll(ctx context.Context) error {
	for {
		step, more := s.search.Next()
		if !more {
			return nil
		}
		e, known := s.journal.find(s.values(step.Point), step.Stage)
		if known {
			s.resumed++
		} else {
			var err error
			if e, err = s.measure(ctx, step); err != nil {
				s.search.Stop(line(err))
				return err
			}
			if ctx.Err() != nil {
				s.search.Stop("interrupted")
				return ctx.Err()
			}
			if !e.cut {
				s.journal.add(e)
			}
		}
		s.entries[strings.Join(e.Values, "\n")] = s.merged(e)
		s.search.Observe(e.measurement(known))
		s.row(step, &e, known)
	}
}

// merged keeps the figures of an earlier stage where a later one has none.
func (s *session) merged(e entry) entry {
	old, ok := s.entries[strings.Join(e.Values, "\n")]
	if ok && e.Figures.P99Ms == 0 && e.Failed == "" {
		e.Figures = old.Figures
	}
	e.Run = cmp.Or(e.Run, old.Run)
	return e
}

// measurement is what the search is told. A measurement of an earlier run costs nothing.
func (e *entry) measurement(known bool) tune.Measurement {
	m := tune.Measurement{Low: e.Low, High: math.Inf(1), Reached: e.Reached, Value: e.Value, Failed: e.Failed, Probes: e.Probes, Known: known}
	if e.High != nil {
		m.High = *e.High
	}
	m.Took = time.Duration(e.Seconds * float64(time.Second))
	return m
}

// restore puts back what the server had. It runs after every kind of end.
func (s *session) restore() error {
	ctx, cancel := context.WithTimeout(context.Background(), restoreTime)
	defer cancel()
	if !s.changed {
		if s.control != nil {
			s.control.close()
		}
		return s.dropNote()
	}
	defer context.AfterFunc(s.sigs.Hard, func() {
		fmt.Fprintf(s.Stderr, "restoring the server; if this is stopped, %s\n", s.later())
	})()
	var err error
	if s.control != nil {
		defer s.control.close()
		if err = awaitServer(ctx, s.control.svc, min(s.opts.ready, restoreTime/2)); err == nil {
			err = s.putBack(ctx, s.control)
		}
	}
	if s.opts.restore != "" {
		err = s.shell(ctx, s.opts.restore, nil)
	}
	if err != nil {
		fmt.Fprintf(s.Stderr, "redline tune: the server could not be restored: %s; %s\n", line(err), s.later())
		return err
	}
	if err := s.dropNote(); err != nil {
		fmt.Fprintf(s.Stderr, "redline tune: the server is restored, but the note about it could not be removed: %s; remove the file\n", line(err))
		return err
	}
	switch {
	case s.search == nil: // nothing was searched
	case s.control != nil:
		fmt.Fprintf(s.Stdout, "\nThe server has its own configuration again.\n")
	case s.opts.restore == "":
		fmt.Fprintf(s.Stdout, "\nThe server keeps the last candidate: --restore COMMAND would undo --apply at the end.\n")
	}
	return nil
}

// later says what restores a server that this process does not restore.
func (s *session) later() string {
	if s.note == nil {
		return "load its models again yourself"
	}
	return "the next 'redline tune' with -u " + s.address() + " restores it"
}

// putBack gives the models of a control the configurations back that they had.
func (s *session) putBack(ctx context.Context, c *control) error {
	changed, err := c.restore(ctx)
	for _, m := range changed {
		fmt.Fprintf(s.Stderr, "warning: the configuration of the model %q in the server's repository is not the one from before the search; the server has that of the repository\n", m)
	}
	return err
}

// quiet is an IO without output: the traffic of a candidate prints nothing.
func (s *session) quiet() *command.IO {
	io2 := *s.IO
	io2.Stdout, io2.Line = io.Discard, nil
	return &io2
}

// allArguments are all options without secrets, the traffic first.
func (s *session) allArguments() []string {
	return slices.Concat([]string{cmp.Or(s.file, s.what)}, s.opts.table.Arguments(), s.args)
}

// number writes a load with four digits.
func number(v float64) string { return unit.Digits(v, 4) }
