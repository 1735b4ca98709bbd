package cli

import (
	"errors"
	"fmt"

	"github.com/redline-bench/redline/internal/pacompat/text"
	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/service"
	"github.com/redline-bench/redline/internal/service/kserve/share"
	"github.com/redline-bench/redline/internal/tensor"
)

// stage sets up at the server what requests refer to: shared memory.
func (s *session) stage() error {
	var err error
	if stager, ok := s.svc.(service.Stager); ok {
		err = stager.Stage(s.sigs.Soft)
	} else {
		err = s.noSharing()
	}
	if err == nil {
		return nil
	}
	if s.plan.Face == plan.DropIn {
		s.dataRead() // the original has read the data when it finds out
	}
	return &startError{what: "Unable to init infer data manager", err: err, blank: true}
}

// noSharing refuses shared memory for the kinds of server that have none.
func (s *session) noSharing() error {
	kind := s.plan.Target.Kind
	switch {
	case s.plan.Input.SharedMemory == plan.NoSharedMemory, kind == plan.TritonCAPI: // in process memory is shared as it is
		return nil
	case s.plan.Face == plan.Redline:
		return fmt.Errorf("--shared-memory needs a Triton server; service kind %s has none", kind)
	}
	return fmt.Errorf("client backend of kind %s does not support CreateSharedMemoryRegion()\n\nUnable to unregister all shared memory regions", text.KindName(kind))
}

// unstage says what the server could not be made to forget. Other failures of Close have nobody left to care.
func (s *session) unstage(err error) {
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
