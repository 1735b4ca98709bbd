package traffic

import (
	"errors"

	"github.com/redline-bench/redline/internal/service"
	"github.com/redline-bench/redline/internal/service/kserve/share"
	"github.com/redline-bench/redline/internal/tensor"
)

// Stage sets up at the server what requests refer to: shared memory.
func (s *Traffic) Stage() error {
	if stager, ok := s.Service.(service.Stager); ok {
		return stager.Stage(s.Sigs.Soft)
	}
	return nil
}

// reportUnregister prints that shared-memory regions could not be unregistered. Other errors of Close are ignored: the run is over.
func (s *Traffic) reportUnregister(err error) {
	if errors.Is(err, share.ErrUnregister) {
		s.Warn("redline profile: " + err.Error())
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
