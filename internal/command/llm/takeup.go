package llm

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/redline-bench/redline/internal/command"
	"github.com/redline-bench/redline/internal/command/coordinator"
	"github.com/redline-bench/redline/internal/command/outcome"
	"github.com/redline-bench/redline/internal/fleet"
	"github.com/redline-bench/redline/internal/llm/load"
	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/result"
	"github.com/redline-bench/redline/internal/run"
)

// Taken is a run of a fleet whose coordinator is gone.
type Taken struct {
	Args    []string     // its options with their secrets
	Outcome plan.Outcome // of the command that takes it up, with its rules; the run's own rules and label are added
	JSON    string
	Line    string // the command line without secrets
	Bus     *coordinator.Bus
	Run     *fleet.Run
}

// read reads the options of the run.
func (t *Taken) read(p *command.IO) (traffic, error) {
	out, err := read(t.Args, p.Secrets)
	if err != nil {
		return out, fmt.Errorf("the options of run %s: %w", t.Run.Result().Run, err)
	}
	own := out.opts.Outcome
	out.opts = out.opts.with(func(p *Plan) {
		p.Outcome, p.JSON = t.Outcome, t.JSON
		p.Outcome.Asserts = slices.Concat(own.Asserts, t.Outcome.Asserts)
		p.Outcome.Label = cmp.Or(t.Outcome.Label, own.Label)
	})
	out.save = ""
	return out, nil
}

func (t *Taken) workers() workers { return workers{bus: t.Bus, run: t.Run, taken: true, keep: true} }

// TakeUp goes on with a run.
func TakeUp(p *command.IO, sigs *command.Signals, t *Taken) (int, error) {
	traffic, err := t.read(p)
	if err != nil {
		w := t.workers()
		w.close()
		return 0, err
	}
	return start(p, sigs, traffic, t.Line, t.workers())
}

// Collect reports what a run had measured.
func Collect(p *command.IO, sigs *command.Signals, t *Taken) (int, error) {
	r := &session{workers: t.workers()}
	defer r.close()
	var err error
	if r.traffic, err = t.read(p); err != nil {
		return 0, err
	}
	r.IO, r.sigs = p.ForRun(r.opts.Outcome, sigs), sigs
	r.urls = r.opts.addresses()
	r.plan = &plan.Plan{Target: plan.Target{Kind: plan.OpenAI, URL: r.urls[0], Model: r.opts.model()}}
	if r.outcome, err = outcome.Open(p, r.opts.Outcome, "llm", t.Line); err == nil {
		err = r.outcome.CheckRules(r.opts.sample(r.load.Goodput))
	}
	if err == nil {
		err = r.Files.Writable(r.opts.JSON)
	}
	if err != nil {
		return 0, err
	}
	r.open()
	r.outcome.Begin(r.plan)
	limits, err := r.collect()
	r.res.Interrupted = true
	return r.outcome.Finish(r.res, r.end(limits, "", err)), nil
}

// collect takes in the levels that were over, and what NATS has of the next one.
func (r *session) collect() (limits [][]result.Reason, err error) {
	known := r.workers.known()
	for i, s := range r.opts.steps(false) {
		if i < len(known) {
			limits = append(limits, r.takeKnown(known[i], s.Level))
			continue
		}
		head := &result.Level{Mode: s.Level.Mode, Concurrency: s.Level.Concurrency, Rate: s.Level.Rate, Prompts: s.Level.Prompts}
		cfg := load.Config{Options: r.load, Tap: r.tap(head, 0)}
		out, err := load.Collect(cfg, s.Level, r.workers.run.Leftover)
		if err != nil || out == nil {
			return limits, err
		}
		r.res.Levels, limits = append(r.res.Levels, out.Level), append(limits, out.Reasons)
		r.show(out, s.Level)
		break
	}
	return limits, nil
}

// takeKnown takes a level into the result that was over when the run was taken up, and returns why the client limited it.
func (r *session) takeKnown(d run.Done, lv load.Level) []result.Reason {
	r.res.Levels = append(r.res.Levels, d.Level)
	r.show(&load.Outcome{Level: d.Level, Reasons: d.Limits}, lv)
	return d.Limits
}

// levelEnded lets go of the records of a level that is over. A class of a scenario cannot be taken up, so its level is not kept.
func (r *session) levelEnded(out *load.Outcome) error {
	if r.together != nil || out.Stopped != "" || out.Interrupted {
		return r.workers.levelEnded(r.sigs.Soft, nil, nil)
	}
	return r.workers.levelEnded(r.sigs.Soft, &out.Level, out.Reasons)
}
