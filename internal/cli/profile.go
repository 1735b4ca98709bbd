package cli

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/redline-bench/redline/internal/engine"
	"github.com/redline-bench/redline/internal/inspect"
	"github.com/redline-bench/redline/internal/mpi"
	"github.com/redline-bench/redline/internal/pacompat/export"
	"github.com/redline-bench/redline/internal/pacompat/flags"
	"github.com/redline-bench/redline/internal/pacompat/text"
	"github.com/redline-bench/redline/internal/pending"
	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/profile"
	"github.com/redline-bench/redline/internal/report"
	"github.com/redline-bench/redline/internal/result"
	"github.com/redline-bench/redline/internal/service"
	"github.com/redline-bench/redline/internal/tensor"
	"github.com/redline-bench/redline/internal/workload"
)

// runProfile is `redline profile`, and the whole program under the name perf_analyzer.
func runProfile(p *IO, face plan.Face, name string, args []string) int {
	sigs := p.watchSignals(preparing)
	defer sigs.stop()
	pl, notes, err := flags.Parse(face, name, args, p.Secrets)
	if err == nil && !native {
		if why := needsNative(pl); why != "" {
			sigs.stop() // the child reports
			return handOver(p, why)
		}
	}
	for _, w := range notes.Warnings {
		fmt.Fprintln(p.Stderr, w)
	}
	if err != nil {
		return usageFailed(p, face, err)
	}
	p = p.dressed(pl.Outcome).withProgress(face)
	sigs.announce(interruptNotice(p, face))
	s := &session{IO: p, plan: pl, notes: notes, sigs: sigs}
	defer s.close()
	return s.run()
}

func usageFailed(p *IO, face plan.Face, err error) int {
	var usage *flags.UsageError
	switch {
	case errors.Is(err, flags.ErrHelp):
		fmt.Fprint(p.Stdout, flags.Help(face, p.columns()))
		return exitOK
	case errors.Is(err, flags.ErrVersion):
		fmt.Fprintln(p.Stderr, flags.VersionLine(face, p.version()))
		return exitOK
	case errors.As(err, &usage):
		fmt.Fprint(p.Stderr, usage.Stderr(p.columns()))
	default:
		fmt.Fprintln(p.Stderr, err)
	}
	return exitError
}

// columns is the width to fold text at.
func (p *IO) columns() int {
	if w := p.Width(); w > 0 {
		return w
	}
	return 100
}

// withProgress puts the progress line under what is printed to the same terminal. The drop-in shows it only when
// nobody reads its output but a person.
func (p *IO) withProgress(face plan.Face) *IO {
	c := *p
	if face == plan.DropIn && !p.OutTerminal {
		c.Line = nil
	}
	c.Stderr = c.Line.Writer(p.Stderr)
	if p.OutTerminal {
		c.Stdout = c.Line.Writer(p.Stdout)
	}
	return &c
}

// style is how our own blocks are dressed.
func (p *IO) style() report.Style {
	return report.Style{Color: p.OutTerminal && p.Getenv("NO_COLOR") == "" && p.Getenv("TERM") != "dumb"}
}

func interruptNotice(p *IO, face plan.Face) func(os.Signal, int) {
	return func(sig os.Signal, nth int) {
		if face == plan.Redline {
			fmt.Fprintln(p.Stderr, [...]string{"", "stopping: what is in flight may end; once more to cut it", "cutting what is in flight", "bye"}[min(nth, 3)])
			return
		}
		if nth == 1 {
			fmt.Fprintf(p.Stdout, "%s\n%s\n", text.Interrupted(signalNumber(sig)), text.Draining)
			return
		}
		fmt.Fprintf(p.Stdout, "%s\n%s\n", text.Interrupted(signalNumber(sig)), text.ExitingNow)
	}
}

// session is one profile run from the plan to the exit code.
type session struct {
	*IO
	plan     *plan.Plan
	notes    flags.Notes
	sigs     *signals
	embedded *embedded
	world    *mpi.World // nil without --enable-mpi
	svc      service.Service
	model    *service.Model
	async    bool
	data     *workload.Data
	requests *workload.Requests
	sessions *workload.Sessions // in place of requests, with --session-concurrency
	console  *text.Console
	noSteps  error // the drop-in's load has nothing to send
	export   *export.Writer
	outcome  *outcome // nil in the drop-in
	// exportErr is why the export cannot be written; the run goes on and fails at its end.
	exportErr error
}

func (s *session) close() {
	s.outcome.close()
	if s.export != nil {
		s.export.Abort() // does nothing after Commit
	}
	if s.svc != nil {
		s.unstage(s.svc.Close())
	}
	if s.embedded != nil {
		s.embedded.stop()
	}
}

func (s *session) run() int {
	for _, step := range []func() error{s.openOutcome, s.joinRanks, s.checkLimits, s.startServer, s.describe, s.check, s.load, s.openOutputs, s.stage} {
		if err := step(); err != nil {
			return s.startFailed(err)
		}
	}
	s.dataRead()
	s.showTraffic()
	s.console.Settings()
	if s.noSteps != nil {
		return s.nothingToSend()
	}
	runner := &profile.Runner{
		Plan: s.plan, Service: s.svc, Model: s.model, Async: s.async, Observer: &watcher{s},
		Feed:  s.feed(),
		Floor: s.floor(), Times: s.data.Times(), Streams: streams(s.plan.Target.Kind),
		Timeline: s.plan.Face == plan.Redline, Tap: s.outcome.tap(),
	}
	if s.outcome != nil {
		s.outcome.fromSend = s.plan.Measure.FromSend
		s.outcome.live.begin("profile", s.plan)
	}
	if s.export != nil {
		runner.Exporter = s.export
	}
	if s.world != nil && s.world.Size() > 1 {
		runner.Ranks = s.world
		if err := s.world.Barrier(s.sigs.soft); err != nil {
			return s.startFailed(err)
		}
	}
	s.sigs.enter(loading)
	res, err := runner.Run(s.sigs.soft, s.sigs.hard)
	s.sigs.enter(writing)
	s.Line.Clear()
	res.Tool, res.Version = "redline", s.version()
	if err == nil || errors.Is(err, profile.ErrUnstable) {
		s.calibrateRun(res)
	}
	return s.finish(res, err)
}

// openOutcome finds out early whether what shall become of the result can be done.
func (s *session) openOutcome() (err error) {
	if s.plan.Face == plan.Redline {
		s.outcome, err = s.IO.openOutcome(s.plan.Outcome, "profile")
	}
	return err
}

// joinRanks makes this process one of several that measure together.
func (s *session) joinRanks() error {
	if !s.plan.Load.MPI {
		return nil
	}
	w, err := mpi.Init()
	if err != nil {
		return err
	}
	s.world = w
	load := &s.plan.Load
	switch {
	case w.Size() == 1:
		return nil
	case load.Mode == plan.RequestRate && (load.Rate.End != 1 || load.Rate.Step != 1):
		return plainError("Cannot specify --request-rate-range when in multi-model mode.")
	case load.Mode == plan.Concurrency && (load.Concurrency.End != 1 || load.Concurrency.Step != 1):
		return plainError("Cannot specify --concurrency-range when in multi-model mode.")
	}
	return nil
}

func (s *session) startServer() error {
	if !s.plan.Target.Embedded {
		return nil
	}
	e, err := startEmbedded(s.sigs.soft, s.IO, s.notes.EmbeddedArgs)
	if err != nil {
		return err
	}
	s.embedded = e
	s.plan.Target.URL = e.address(s.plan.Target.Protocol)
	return nil
}

func (s *session) describe() error {
	svc, err := openService(s.plan)
	if errors.As(err, new(*service.Error)) {
		return s.cannotStart(err)
	}
	if err != nil {
		return &startError{what: "failed to create client factory", err: err}
	}
	s.svc = svc
	if t := &s.plan.Target; t.Model == "" && t.Kind != plan.DynamicGRPC {
		return inspect.Missing(s.sigs.soft, svc)
	}
	s.model, err = svc.Describe(s.sigs.soft)
	if err != nil {
		return s.cannotStart(err)
	}
	return nil
}

// cannotStart names the step that a service failed in before the load.
func (s *session) cannotStart(err error) error {
	what, _ := text.StartText(err, s.plan.Target.Protocol)
	return &startError{what: what, err: err}
}

func (s *session) load() error {
	s.console = &text.Console{Out: s.Stdout, Err: s.Stderr, Plan: s.plan, Model: s.model, Async: s.async}
	mode, unscheduled := s.plan.Load.Mode, false
	if mode == plan.FixedSchedule && s.plan.Target.Kind == plan.DynamicGRPC && s.plan.Face == plan.DropIn {
		mode, unscheduled = plan.RequestRate, true // the original knows no timestamps here
	}
	data, err := workload.LoadFor(s.plan.Input, s.model, mode, s.plan.Measure.WarmupCount)
	if data != nil && s.postponed(err) {
		s.data = data
		return nil
	}
	if err != nil {
		return &startError{what: "Failed to init manager inputs", err: err, blank: true}
	}
	s.data = data
	if err := s.dynamicRules(unscheduled); err != nil {
		if s.plan.Face == plan.DropIn {
			s.dataRead() // the original has read the data when it finds out
		}
		return &startError{what: "Unable to init infer data manager", err: err, blank: true}
	}
	if s.plan.Load.Mode == plan.SessionConcurrency {
		return s.loadSessions()
	}
	s.requests, err = workload.Prepare(s.sigs.soft, s.svc, data, s.plan.Face)
	if g, ok := s.svc.(interface{ Said() []string }); ok {
		for _, words := range g.Said() {
			s.warn(words)
		}
	}
	if errors.As(err, new(*workload.BatchError)) && s.plan.Face == plan.DropIn {
		s.dataRead() // the original has read the data when it finds out
	}
	if err != nil && !s.postponed(err) {
		return &startError{what: "Unable to init infer data manager", err: err, blank: true}
	}
	return nil
}

// loadSessions checks the conversations; their requests are made as they go.
func (s *session) loadSessions() error {
	speaker, ok := s.svc.(workload.Speaker)
	if !ok {
		return plainError("Session concurrency mode is only supported with OpenAI service kind.")
	}
	var err error
	s.sessions, err = s.data.Sessions(speaker, s.plan.Load.Sessions, s.plan.Output.Export != "")
	if err != nil {
		return plainError(err.Error())
	}
	return nil
}

// feed is the source of requests.
func (s *session) feed() func(slot, active int) engine.Feed {
	if s.sessions != nil {
		return func(int, int) engine.Feed { return s.sessions.Talk() }
	}
	return newFeeds(s.requests, s.model, s.plan, s.async).feed
}

// inputs tells an export what a request carried.
func (s *session) inputs() func(step uint32) []tensor.Tensor {
	if s.sessions != nil {
		return s.sessions.Inputs
	}
	if s.plan.Input.SharedMemory != plan.NoSharedMemory {
		return withoutData(s.requests.Inputs)
	}
	return s.requests.Inputs
}

// dataRead reports the size of JSON input data.
func (s *session) dataRead() {
	if s.data.FromJSON {
		s.console.DataRead(s.data.Streams(), s.data.Steps(0))
	}
}

// openOutputs finds out before the load whether the files can be written.
func (s *session) openOutputs() error {
	for _, path := range []string{s.plan.Output.CSV, s.plan.Output.ResultJSON} {
		if err := s.writable(path); err != nil {
			return err
		}
	}
	if s.plan.Output.Export == "" {
		return nil
	}
	w, err := export.Create(s.Files, s.plan.Output.Export, s.exportConfig())
	if err != nil && s.plan.Face == plan.DropIn {
		// The original runs all the same and fails at the end; so that nothing is lost, so do we, but say it now.
		fmt.Fprintln(s.Stderr, err)
		s.exportErr = err
		return nil
	}
	s.export = w
	return err
}

func outputNames(m *service.Model) []string {
	names := make([]string, len(m.Outputs))
	for i, o := range m.Outputs {
		names[i] = o.Name
	}
	return names
}

// finish writes the end of the report and the files, and returns the exit code.
func (s *session) finish(res *result.Result, err error) int {
	if s.outcome != nil {
		s.outcome.sign(res, s.workload())
	}
	s.explain(err)
	s.console.Summary(res.Levels)
	if s.plan.Face == plan.Redline {
		s.shapes(res)
	}
	code := exitCode(err)
	if res.Verdict.State == result.ServerFailed && s.plan.Face == plan.Redline {
		code = exitError
	}
	if ferr := s.writeFiles(res, err); ferr != nil {
		if err == nil || !strings.Contains(err.Error(), ferr.Error()) { // a full disk ends the run, and its file too
			fmt.Fprintln(s.Stderr, ferr)
		}
		code = unwritten(ferr)
	}
	s.explainEnd(res, err)
	if s.world != nil && code == exitOK {
		// A rank that leaves without this ends the others, which is right only where something went wrong.
		if err := s.world.Finalize(s.sigs.hard); err != nil {
			fmt.Fprintln(s.Stderr, err)
		}
	}
	if s.outcome != nil {
		return s.outcome.finish(res, code)
	}
	return code
}

// unwritten is the exit code of a run whose files could not be written.
func unwritten(err error) int {
	if errors.Is(err, pending.ErrInterrupted) {
		return exitInterrupted
	}
	return exitError
}

func exitCode(err error) int {
	switch {
	case err == nil:
		return exitOK
	case errors.Is(err, profile.ErrInterrupted):
		return exitInterrupted
	case errors.Is(err, profile.ErrUnstable):
		return exitUnstable
	case errors.Is(err, profile.ErrNoRequests):
		return exitNoRequests
	default:
		return exitError
	}
}
