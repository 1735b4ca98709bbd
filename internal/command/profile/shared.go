package profile

import (
	"errors"
	"fmt"

	"github.com/redline-bench/redline/internal/pacompat/rules"
	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/service"
	"github.com/redline-bench/redline/internal/service/kserve/share"
	"github.com/redline-bench/redline/internal/tensor"
)

// stage sets up at the server what requests refer to: shared memory.
func (s *traffic) stage() error {
	var err error
	if stager, ok := s.svc.(service.Stager); ok {
		err = stager.Stage(s.sigs.Soft)
	} else {
		err = rules.NoSharing(s.plan)
	}
	if err == nil {
		return nil
	}
	if s.plan.Face == plan.DropIn {
		s.dataRead() // the original has read the data when it finds out
	}
	return &rules.StartError{What: "Unable to init infer data manager", Err: err, Blank: true}
}

// unstage says what the server could not be made to forget. Other failures of Close have nobody left to care.
func (s *traffic) unstage(err error) {
	switch {
	case !errors.Is(err, share.ErrUnregister):
	case s.plan.Face == plan.DropIn:
		fmt.Fprintln(s.Stderr, "Unable to unregister all shared memory regions")
	default:
		fmt.Fprintf(s.Stderr, "redline profile: %v\n", err)
	}
}

// withoutData leaves the names of inputs alone for an export.
func withoutData(inputs func(step uint32) []tensor.Tensor) func(step uint32) []tensor.Tensor {
	return func(step uint32) []tensor.Tensor {
		list := inputs(step)
		for i := range list {
			list[i].Data = nil
		}
		return list
	}
}
