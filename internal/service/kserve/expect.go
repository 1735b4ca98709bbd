package kserve

import (
	"bytes"

	"github.com/redline-bench/redline/internal/record"
	"github.com/redline-bench/redline/internal/service"
	"github.com/redline-bench/redline/internal/tensor"
)

// The two ways in which an answer can differ from the expected one.
var (
	ErrOutputSize = &service.Error{Op: OpInfer, Class: record.Mismatch, Err: service.OutputSize.With()}
	ErrOutput     = &service.Error{Op: OpInfer, Class: record.Mismatch, Err: service.OutputDiffers.With()}
)

// Match compares one output with what was expected of it; nil means that they are equal. A missing output is
// one of size zero.
func Match(want *tensor.Tensor, got []byte) *service.Error {
	if len(got) != len(want.Data) {
		return ErrOutputSize
	}
	if !bytes.Equal(got, want.Data) {
		return ErrOutput
	}
	return nil
}
