package measure

import (
	"fmt"

	"github.com/redline-bench/redline/internal/calibrate"
	"github.com/redline-bench/redline/internal/result"
)

// StatedError converts a calibrated error to the form that a level's report states.
func StatedError(f calibrate.Found, lv *result.Level) *result.MeasurementError {
	e := &result.MeasurementError{
		P50Ns: f.P50Ns, P99Ns: f.P99Ns, AtLeast: f.AtLeast, Exact: f.Exact, Of: f.Of, PerSecond: f.PerSecond, Requests: f.Requests, Notes: doubts(f.Floor, lv),
	}
	if f.Tokens != nil {
		e.Tokens = &result.TokenError{TTFTNs: f.Tokens.TTFTNs, ITLNs: f.Tokens.ITLNs}
	}
	return e
}

// Limits above which the report doubts a calibration: cores used by other programs during it, and the share of all cores by
// which the machine was busier during the run.
const (
	foreignCores = 0.25
	busierShare  = 0.25
)

// doubts returns reasons why the true error of a level may differ from the calibrated one.
func doubts(f calibrate.Floor, lv *result.Level) []string {
	var out []string
	if f.Foreign > foreignCores {
		out = append(out, fmt.Sprintf("other programs used %.1f cores during the calibration: on a quiet machine the error is smaller", f.Foreign))
	}
	if busy := lv.Health.MachineShare; busy > f.Busy+busierShare {
		out = append(out, fmt.Sprintf("the machine was %.0f %% busy during the run and %.0f %% during the calibration: the error may be larger", 100*busy, 100*f.Busy))
	}
	return out
}
