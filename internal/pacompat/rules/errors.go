package rules

import (
	"errors"

	"github.com/redline-bench/redline/internal/plan"
)

// StartError is why a run could not start, with perf_analyzer's name for the step.
type StartError struct {
	What  string
	Err   error
	Blank bool // perf_analyzer ends this error with one more empty line
}

func (e *StartError) Error() string { return e.What + ": " + e.Err.Error() }

func (e *StartError) Unwrap() error { return e.Err }

// PlainError is a refusal that perf_analyzer prints without any prefix, with an empty line after it.
type PlainError string

func (e PlainError) Error() string { return string(e) }

// worded is a refusal in the words of the program that a plan stands for.
func worded(p *plan.Plan, original, ours string) error {
	if p.Program == plan.PerfAnalyzer {
		return PlainError(original)
	}
	return errors.New(ours)
}

// LineError is a refusal that perf_analyzer prints without any prefix and without the empty line after it.
type LineError string

func (e LineError) Error() string { return string(e) }
