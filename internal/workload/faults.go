package workload

import (
	"errors"
	"fmt"
)

// DataError says what is wrong with the input data.
type DataError struct {
	Fault Fault // empty where Err says it all
	Args  []any
	Path  string // the file, where there is one
	Err   error  // the cause, if any
}

func (e *DataError) Error() string {
	if e.Fault == "" {
		return e.Err.Error()
	}
	return fmt.Sprintf(string(e.Fault), e.Args...)
}

// Unwrap returns the cause.
func (e *DataError) Unwrap() error { return e.Err }

func dataError(f Fault, args ...any) error { return &DataError{Fault: f, Args: args} }

// ErrNoSteps is the cause where the data is well-formed and holds nothing to send.
var ErrNoSteps = errors.New("the input data has no steps")

// Fault is what can be wrong with input data: a sentence with places for its arguments, as in fmt.
type Fault string

// The faults that code above tells apart.
const (
	Misaligned  Fault = `"validation_data" must have one entry for each entry of "data"`
	OtherShape  Fault = "the shape %s does not fit input %s, which has the shape %s"
	OtherSize   Fault = "the data of %s must have %d bytes, but it has %d"
	OtherInputs Fault = "the requests of one batch must have data for the same inputs: use -b 1, or give the same optional inputs in every step"
)

// The faults that are stated in several places.
const (
	malformed Fault = `"data" must be a list of objects, each with the inputs of one request by name, or a list of such lists`
	badShape  Fault = `"shape" must be a list of whole numbers`
	noData    Fault = "there is no data for input %s"
)
