package tune

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redline-bench/redline/internal/command"
	"github.com/redline-bench/redline/internal/command/search"
	"github.com/redline-bench/redline/internal/measure"
	"github.com/redline-bench/redline/internal/report"
	"github.com/redline-bench/redline/internal/result"
	"github.com/redline-bench/redline/internal/tune"
)

// The states of a search, as internal/find names them.
const (
	complete    = "complete"
	interrupted = "interrupted"
	outOfTime   = "out of time"
	failed      = "failed"
)

// finish writes the answer and the files, and returns the exit code. ended is why the search ended early.
func (s *session) finish(json string, ended error) int {
	t := s.result(ended)
	res := &result.Result{Tune: t}
	if best := s.search.Best(); best != nil {
		if e := s.entries[strings.Join(s.values(best.Point), "\n")]; e.Run != nil {
			res = e.Run
			res.Tune = t
		}
	}
	res.Schema, res.Tool, res.Version = result.Schema, "redline", s.Version
	res.StartUnixNs, res.EndUnixNs = s.began.UnixNano(), time.Now().UnixNano()
	res.Options, res.Interrupted = search.Stored(s.allArguments()), t.State == interrupted
	if res.Levels == nil {
		res.Levels = []result.Level{}
	}
	if res.Plan == nil {
		res.Plan = s.base.Plan()
	}
	s.judge(res, ended)
	workload := res.Workload
	s.outcome.Sign(res, workload)
	s.answer(res)
	code := s.exitCode(t)
	if ended != nil && t.State == failed {
		fmt.Fprintf(s.Stderr, "redline tune: %s\n", line(ended))
	}
	if err := s.files(json, res); err != nil {
		fmt.Fprintln(s.Stderr, err)
		code = command.ExitUnwritten(err)
	}
	return s.outcome.Finish(res, code)
}

// judge adds the verdict of the best candidate's confirmation.
func (s *session) judge(res *result.Result, ended error) {
	run := measure.Run{
		Levels: res.Levels, Limits: make([][]result.Reason, len(res.Levels)), MaxErrorRate: s.base.MaxErrorRate(), Interrupted: res.Interrupted,
		Longer: "use a longer --confirm",
	}
	if res.Tune.State == failed {
		run.Error, run.ServerGone = line(ended), true
	}
	if res.Tune.ClientLimited() && run.Error == "" {
		run.Unleveled = []result.Reason{clientReason(res.Tune)}
	}
	res.Verdict, res.Error = measure.Conclude(run), run.Error
	if res.Tune.State == outOfTime && res.Verdict.State == result.Valid {
		res.Verdict = result.Verdict{State: result.Unstable, Reasons: []result.Reason{{What: res.Tune.Reason, Try: "allow more time with --budget, or vary less"}}}
	}
}

// clientReason says of which candidate the client was the limit.
func clientReason(t *result.Tune) result.Reason {
	what := clientLimit + " with a candidate, and no other holds the objectives"
	if t.Best != nil {
		what = fmt.Sprintf("%s, above %s requests/s with the best candidate", clientLimit, number(t.Best.Low))
	}
	return result.Reason{What: what, Try: "run the client on a machine of its own, or give it more CPU"}
}

// exitCode is that of the answer.
func (s *session) exitCode(t *result.Tune) int {
	switch {
	case t.State == interrupted:
		return command.ExitInterrupted
	case t.State == failed:
		return command.ExitError
	case t.State == outOfTime:
		return command.ExitUnstable
	case t.ClientLimited():
		return command.ExitInvalid
	case t.Best == nil:
		return command.ExitAssertion
	}
	return command.ExitOK
}

// result is the search as a result.
func (s *session) result(ended error) *result.Tune {
	t := &result.Tune{
		Objectives: s.objectives(), State: complete, Reason: s.search.Reason(), Remarks: s.space.remarks, Candidates: []result.TuneCandidate{},
		Space: s.search.Size(), Probes: s.search.Probes(),
	}
	if s.base.Plan() != nil {
		t.Model = strings.Join(s.models(), ",")
	}
	best := s.search.Best()
	switch {
	case s.sigs.Soft.Err() != nil:
		t.State = interrupted
	case ended != nil:
		t.State = failed
	case t.Reason != "" && (best == nil || best.Value == 0): // the budget ended the search before a capacity was confirmed
		t.State = outOfTime
	}
	for i, e := range s.search.Effects() {
		t.Knobs = append(t.Knobs, result.TuneKnob{Name: e.Name, Values: s.space.knobs[i].Values, Best: e.Best, Ratio: round(e.Ratio)})
	}
	present := s.present()
	var front []tune.Figure
	at := -1
	for i, c := range s.search.Candidates() {
		out := s.candidateResult(c)
		out.Present = present != nil && slices.Equal(c.Point, present)
		t.Candidates = append(t.Candidates, out)
		front = append(front, tune.Figure{Capacity: out.Inferences, Latency: out.P99Ms})
		if c == best {
			at = i
		}
	}
	for i, on := range tune.Front(front) {
		t.Candidates[i].Pareto = on
	}
	if at >= 0 {
		t.Best = &t.Candidates[at]
		s.winner = t.Best
		s.addConfigs(t, best)
	}
	return t
}

func round(v float64) float64 { return math.Round(v*1000) / 1000 }

// candidateResult is one candidate as a result.
func (s *session) candidateResult(c *tune.Candidate) result.TuneCandidate {
	values := s.values(c.Point)
	e := s.entries[strings.Join(values, "\n")]
	out := e.Figures
	out.Batch = max(1, out.Batch)
	batch := float64(out.Batch)
	out.Knobs = map[string]any{}
	for i, k := range s.space.knobs {
		out.Knobs[k.Name] = plainValue(values[i])
	}
	out.Stage, out.Failed, out.Probes, out.Seconds = c.Stage.String(), c.Failed, c.Probes, round(c.Took.Seconds())
	out.Inferences = round(c.Score())
	low := c.Low
	if c.Value > 0 {
		low = min(low, c.Value) // a confirmation may have lowered the answer
	}
	out.Capacity, out.Low = round(c.Score()/batch), round(low/batch)
	if !math.IsInf(c.High, 1) {
		out.High = new(round(c.High / batch))
	}
	return out
}

// plainValue is a whole number as a number, and anything else as text.
func plainValue(v string) any {
	if n, err := strconv.Atoi(v); err == nil && strconv.Itoa(n) == v {
		return n
	}
	return v
}

// addConfigs adds the complete configurations of the best candidate.
func (s *session) addConfigs(t *result.Tune, best *tune.Candidate) {
	if s.control == nil {
		return
	}
	want, err := s.control.configs(s.space.knobs, s.values(best.Point))
	if err == nil { // it was applied before
		t.Configs = s.control.text(want)
	}
}

// files writes the result, the table and the configuration.
func (s *session) files(json string, res *result.Result) error {
	err := report.WriteFile(s.Files, json, res)
	if s.opts.csv != "" {
		var b bytes.Buffer
		err = errors.Join(err, report.Candidates(&b, res.Tune), s.Files.WriteFile(s.opts.csv, b.Bytes()))
	}
	if s.opts.config == "" {
		return err
	}
	for _, c := range res.Tune.Configs {
		path := s.opts.config
		if s.manyConfigs() {
			path = filepath.Join(s.opts.config, c.Model, "config.pbtxt")
			err = errors.Join(err, os.MkdirAll(filepath.Dir(path), 0o777))
		}
		err = errors.Join(err, s.Files.WriteFile(path, []byte(c.Text)))
	}
	return err
}

// manyConfigs tells whether --best-config is a folder with a configuration for each model.
func (s *session) manyConfigs() bool { return s.turn != "" || s.control.several() }

// checkConfigFile finds out before the search whether --best-config can be written. The server names the steps of an ensemble: a name
// must not lead out of the folder.
func (s *session) checkConfigFile() error {
	switch {
	case s.opts.config == "":
		return nil
	case s.control == nil:
		return errors.New("remove --best-config: no configuration of the server is varied")
	case !s.manyConfigs():
		return s.Files.Writable(s.opts.config)
	}
	for _, m := range s.control.models {
		if !filepath.IsLocal(m) || filepath.Base(m) != m {
			return fmt.Errorf("--best-config: the model %q has no name of a folder", m)
		}
	}
	return os.MkdirAll(s.opts.config, 0o777)
}
