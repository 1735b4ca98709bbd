package traffic

import (
	"errors"
	"fmt"

	"github.com/redline-bench/redline/internal/pacompat/rules"
	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/service"
	"github.com/redline-bench/redline/internal/service/kserve/share"
	"github.com/redline-bench/redline/internal/tensor"
)

// Stage sets up at the server what requests refer to: shared memory.
func (s *Traffic) Stage() error {
	var err error
	if stager, ok := s.Service.(service.Stager); ok {
		err = stager.Stage(s.Sigs.Soft)
	} else {
		err = rules.NoSharing(s.Plan)
	}
	if err == nil {
		return nil
	}
	return s.failedAfterData(err)
}

// reportUnregister prints that shared-memory regions could not be unregistered. Other errors of Close are ignored: the run is over.
func (s *Traffic) reportUnregister(err error) {
	switch {
	case !errors.Is(err, share.ErrUnregister):
	case s.Plan.Program == plan.PerfAnalyzer:
		fmt.Fprintln(s.Stderr, "Unable to unregister all shared memory regions")
	default:
		fmt.Fprintf(s.Stderr, "redline profile: %v\n", err)
	}
}

// WithoutData leaves the names of inputs alone for an export.
func WithoutData(inputs func(step uint32) []tensor.Tensor) func(step uint32) []tensor.Tensor {
	return func(step uint32) []tensor.Tensor {
		list := inputs(step)
		for i := range list {
			list[i].Data = nil
		}
		return list
	}
}
