package llm

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/redline-bench/redline/internal/calibrate"
	"github.com/redline-bench/redline/internal/llm/load"
	"github.com/redline-bench/redline/internal/llm/metric"
	"github.com/redline-bench/redline/internal/measure"
	"github.com/redline-bench/redline/internal/report"
	"github.com/redline-bench/redline/internal/result"
	"github.com/redline-bench/redline/internal/run"
)

// state tells the health of a level of streamed answers where its times come from, and how large the calibrated error is.
func (r *session) state(lv *result.Level) {
	if !r.streams() {
		return
	}
	h := &lv.Health
	if h.Times = "read"; h.ReadLag != nil {
		h.Times = "arrival"
	}
	if h.ErrorLater = r.opts.Calibrate; h.ErrorLater {
		return
	}
	if r.workers.run != nil { // calibrations are those of this machine
		h.ErrorUnknown = "workers made the load, and calibrations are of one machine"
		return
	}
	if r.floors == nil {
		r.floors = r.Calibration(func(text string) { fmt.Fprintln(r.Stderr, "redline llm: "+text) })
	}
	if f, ok := r.floors().Find(r.trafficOf(lv)); ok && f.Tokens != nil {
		h.Error = measure.StatedError(f, lv)
	}
}

// How long a level is calibrated after a run, and how long at most where requests follow a schedule; how long its answers may
// take to the first token and from there on, and how long those in flight may go on at the end.
const (
	tokenRunTime  = time.Second
	tokenRunMost  = 10 * time.Second
	tokenRunTTFT  = 200 * time.Millisecond
	tokenRunTail  = 400 * time.Millisecond
	tokenRunGrace = 2 * time.Second
)

// calibrateRun measures the error of each level's token times after the run, at the pace of the level, for --calibrate. It
// loads a server of our own, never the user's.
func (r *session) calibrateRun() {
	if !r.opts.Calibrate || r.res.Interrupted || r.sigs.Soft.Err() != nil {
		return
	}
	err := r.calibrateLevels()
	if r.sigs.Soft.Err() != nil {
		err = run.ErrInterrupted // whatever it interrupted
	}
	if err != nil {
		fmt.Fprintf(r.Stderr, "redline llm: measurement error: not calibrated: %v\n", err)
	}
}

func (r *session) calibrateLevels() error {
	if !r.streams() {
		return errors.New("responses that are not streamed have no token times: add --streaming")
	}
	quiet := r.opts.blocks() && !r.opts.Verbose
	if !quiet {
		fmt.Fprintln(r.Stdout, "\nMeasurement error: the client's times of tokens minus the server's log, on a reference server at the pace of each level")
	}
	var found []calibrate.Floor
	defer func() {
		if err := r.KeepFloors(found); err != nil {
			fmt.Fprintf(r.Stderr, "redline llm: warning: %v\n", err)
		}
	}()
	for i, s := range r.opts.steps(r.timed)[:len(r.res.Levels)] {
		got, lv := &r.res.Levels[i], s.Level
		if got.Client.Requests == 0 {
			continue
		}
		took, pace := shortenLevel(&lv, got), paceOf(got)
		p := r.opts.with(func(p *Plan) {
			s.alone(p)
			p.Data.Trace.AutoOffset = true // a schedule may begin late
			pace.shorten(p)
		})
		floors, err := pace.run(r, p, took).floors(&lv, func(calibrate.Floor) {})
		if err != nil {
			return err
		}
		found = append(found, floors...)
		if f, ok := (&calibrate.Table{Floors: floors}).Find(r.trafficOf(got)); ok {
			got.Health.Error = measure.StatedError(f, got)
			if !quiet {
				fmt.Fprint(r.Stdout, report.MeasurementError("  ", measure.LevelName(got), got.Health.Error))
			}
		}
	}
	return nil
}

// shortenLevel returns how long a level is calibrated: some requests of a schedule must be due in this time. Stages that
// take longer are shortened to it.
func shortenLevel(lv *load.Level, got *result.Level) time.Duration {
	took := tokenRunTime
	if lv.Open() {
		took = max(took, floorFew*time.Duration(got.Client.DurationNs)/time.Duration(got.Client.Requests))
	}
	if len(lv.Stages) > 0 {
		var all time.Duration
		for _, s := range lv.Stages {
			all += s.Time
		}
		took = min(all, tokenRunMost)
		lv.Stages = slices.Clone(lv.Stages)
		for i := range lv.Stages {
			lv.Stages[i].Time = time.Duration(float64(lv.Stages[i].Time) * float64(took) / float64(all))
		}
	}
	return min(took, tokenRunMost)
}

// tokenPace is when the tokens of an answer come.
type tokenPace struct{ ttft, itl time.Duration }

// paceOf is the pace of a level's answers.
func paceOf(lv *result.Level) tokenPace {
	millis := func(tag string) time.Duration {
		m, _ := metric.Find(lv.Metrics, tag)
		return time.Duration(m.Avg * float64(time.Millisecond))
	}
	return tokenPace{ttft: min(millis("time_to_first_token"), tokenRunTTFT), itl: millis("inter_token_latency")}
}

// shorten makes the answers of a calibration short enough that some end in time.
func (t tokenPace) shorten(p *Plan) {
	if most := float64(tokenRunTail / max(t.itl, 1)); p.Data.Output.Mean > most {
		p.Data.Output.Mean = max(most, 2)
	}
}

func (t tokenPace) run(r *session, p *Plan, took time.Duration) *tokenRun {
	return &tokenRun{IO: r.IO, sigs: r.sigs, opts: p, ttft: t.ttft, itl: t.itl, brief: func(lo load.Options, lv load.Level) load.Options {
		lo = brief(lo, lv)
		lo.Requests, lo.Duration, lo.Grace = floorMany, took, tokenRunGrace
		return lo
	}}
}
