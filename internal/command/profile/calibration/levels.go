package calibration

import (
	"fmt"
	"math"
	"os"
	"time"

	"github.com/redline-bench/redline/internal/calibrate"
	"github.com/redline-bench/redline/internal/calibrate/standin"
	"github.com/redline-bench/redline/internal/command/profile/traffic"
	"github.com/redline-bench/redline/internal/kind"
	"github.com/redline-bench/redline/internal/measure"
	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/report"
	"github.com/redline-bench/redline/internal/result"
	"github.com/redline-bench/redline/internal/run"
)

// The longest times for which the server holds an answer: all together, and for each request in flight, so that some 50
// requests a second are answered. Slower runs are calibrated at this pace.
const (
	longestHold = 300 * time.Millisecond
	holdEach    = time.Second / calibrate.SlowPace
)

// AfterRun measures the error of each level at its own pace after the run, for --calibrate. It loads a server of our
// own, never the user's.
func AfterRun(s *traffic.Traffic, levels []result.Level) {
	if !s.Plan.Measure.Calibrate || s.Sigs.Soft.Err() != nil {
		return
	}
	err := calibrateLevels(s, levels)
	if s.Sigs.Soft.Err() != nil {
		err = run.ErrInterrupted // whatever it interrupted
	}
	if err != nil {
		fmt.Fprintf(s.Stdout, "Measurement error: not calibrated: %v\n", err)
	}
}

func calibrateLevels(s *traffic.Traffic, levels []result.Level) error {
	if err := Possible(s.Plan); err != nil {
		return err
	}
	if path := s.Plan.Load.Intervals; s.Plan.Load.Mode == plan.CustomIntervals {
		if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() {
			return fmt.Errorf("%s cannot be read again: give the intervals in a file", path)
		}
	}
	if s.Plan.Input.SharedMemory != plan.NoSharedMemory { // the calibration needs regions of the same names
		s.Disconnect()
	}
	var found []calibrate.Floor
	defer func() {
		if err := s.KeepFloors(found); err != nil { // the run is complete without
			s.Warn("warning: " + err.Error())
		}
	}()
	fmt.Fprintln(s.Stdout, "Measurement error: the client's latency minus the server's log, on a reference server at the pace of each level")
	for i := range levels {
		lv := &levels[i]
		if lv.Client.Requests == 0 {
			continue
		}
		f, err := calibrateLevel(s, lv)
		if err != nil {
			return err
		}
		found = append(found, f)
		one := &calibrate.Table{Floors: []calibrate.Floor{f}}
		if e, ok := one.Find(trafficOf(s.Plan, lv)); ok {
			lv.Health.Error = measure.StatedError(e, lv)
			fmt.Fprint(s.Stdout, report.MeasurementError("  ", measure.LevelName(lv), lv.Health.Error))
		}
	}
	return nil
}

// calibrateLevel measures the error of one level. A first try may miss the pace, because the client and the reference server
// add to a short hold, or the size of answers, because only their bytes on the wire are known. A second try corrects both.
func calibrateLevel(s *traffic.Traffic, lv *result.Level) (calibrate.Floor, error) {
	hold, bytes := holdFor(lv), int64(lv.Client.ResponseBytes)
	f, err := calibrateAt(s, lv, hold, bytes)
	if err != nil {
		return f, err
	}
	shorter, over := shorterHold(hold, f.PerSecond, lv), int64(f.ResponseBytes)-int64(lv.Client.ResponseBytes)
	if !sizable(kind.Of(s.Plan.Target.Kind)) || calibrate.SameSize(f.ResponseBytes, lv.Client.ResponseBytes) {
		over = 0
	}
	if shorter == hold && over == 0 {
		return f, nil
	}
	return calibrateAt(s, lv, shorter, bytes-over)
}

// sizable tells whether the reference server can be told how large the responses of a kind of server are.
func sizable(row *kind.Row) bool { return row.ModelMetadata || row.Method }

// standIn is the model of a reference server that answers as the run's server did: the same number of responses to a request,
// of so many bytes all together.
func standIn(s *traffic.Traffic, lv *result.Level, bytes int64) *standin.Model {
	m := &standin.Model{}
	switch row := kind.Of(s.Plan.Target.Kind); {
	case row.ModelMetadata:
		m.Responses = int(math.Round(float64(lv.Client.Responses) / float64(lv.Client.Requests)))
		m.Spec, m.Answer = s.Model, standin.AnswerOf(s.Model, s.Plan.Input.Batch, bytes/int64(max(1, m.Responses)))
	case row.Method:
		m.MethodBytes = max(1, int(bytes))
	}
	return m
}

// calibrateAt measures the error of a level with a server that holds answers of so many bytes for a time.
func calibrateAt(s *traffic.Traffic, lv *result.Level, hold time.Duration, bytes int64) (calibrate.Floor, error) {
	pl := *s.Plan
	pl.Load.Concurrency = plan.IntRange{Start: lv.Concurrency, End: lv.Concurrency, Step: 1}
	pl.Load.Rate = plan.FloatRange{Start: lv.Rate, End: lv.Rate, Step: 1}
	run, done, err := newPaceRun(s.IO, s.Sigs, &pl, standIn(s, lv, bytes))
	if err != nil {
		return calibrate.Floor{}, err
	}
	defer done()
	run.hold, run.pauses = hold, min(1, pacePerSecond(lv)/calibrate.SlowPace)
	if pl.Target.Kind == plan.DynamicGRPC {
		run.own = s
	}
	floors, err := run.floors()
	if err != nil {
		return calibrate.Floor{}, err
	}
	return floors[0], nil
}

// shorterHold is the hold with which a calibration that reached so many requests a second comes nearer to the pace of a
// closed loop; the same hold where the pace is near enough.
func shorterHold(hold time.Duration, reached float64, lv *result.Level) time.Duration {
	wanted := pacePerSecond(lv)
	if open(lv) || lv.Mode == plan.PeriodicConcurrency || reached <= 0 || reached*calibrate.PaceBucket >= wanted {
		return hold
	}
	// In a closed loop each request takes concurrency / pace.
	n := float64(lv.Concurrency) * float64(time.Second)
	return max(0, hold-time.Duration(n/reached-n/wanted))
}

// holdFor is how long the server must hold its answers so that requests have the pace of a level: its mean latency.
func holdFor(lv *result.Level) time.Duration {
	mean, most := lv.Client.Sent.Avg, longestHold
	if !open(lv) {
		most = min(most, holdEach*time.Duration(max(lv.Concurrency, 1)))
	}
	return min(time.Duration(max(mean, 0)), most)
}

// open tells whether the requests of a level follow a schedule.
func open(lv *result.Level) bool { return lv.Rate > 0 || lv.Mode == plan.FixedSchedule }
