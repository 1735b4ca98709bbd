package kserve

import (
	"fmt"

	"github.com/redline-bench/redline/internal/record"
	"github.com/redline-bench/redline/internal/service"
	"github.com/redline-bench/redline/internal/tensor"
)

// bytesHeader is the length before each element of a BYTES tensor.
const bytesHeader = 4

// Fits tells whether an output of so many elements can have this size in bytes. Elements of BYTES have any length, with
// four bytes before each.
func Fits(t tensor.Datatype, elements, size uint64) bool {
	if width := uint64(t.Size()); width > 0 {
		return size == elements*width
	}
	return size >= elements*bytesHeader && (elements > 0 || size == 0)
}

// SizeError says that an output is not as large as its datatype and shape need. An empty output has a known cause.
func SizeError(name, datatype, shape string, size uint64) *service.Error {
	text := fmt.Sprintf("output %s has %d bytes, which does not fit its datatype and shape, %s %s", name, size, datatype, shape)
	if size == 0 {
		text += ": the model wrote nothing; a Python backend does so when its numpy is 2.x and Triton was built for numpy 1.x"
	}
	return &service.Error{Op: OpInfer, Class: record.Protocol, Text: text}
}
