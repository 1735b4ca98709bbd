package text

import (
	"errors"
	"fmt"

	"github.com/redline-bench/redline/internal/record"
	"github.com/redline-bench/redline/internal/service"
	"github.com/redline-bench/redline/internal/workload"
)

// searched are the sentences about faults of input data that the scripts of Triton's own tests search for. Every other error is
// in Redline's words alone.
var searched = map[workload.Fault]string{
	workload.Misaligned:  "The 'validation_data' field doesn't align with 'data' field in the json file",
	workload.OtherSize:   "mismatch in the data provided for %s. Expected: %d bytes, Got: %d bytes",
	workload.OtherShape:  "The supplied shape of %s for input \"%s\" is incompatible with the model's input shape of %s",
	workload.OtherInputs: "For batch sizes larger than 1, the same set of inputs must be specified for each batch. You cannot use different set of optional inputs for each individual batch.",
}

// mismatch is the sentence about a wrong response that those scripts search for.
const mismatch = "Output doesn't match expected output"

// Searched is an error with the sentence before it that scripts search for, where there is one. said is the error in Redline's words.
func Searched(err error, said string) string {
	if e, ok := errors.AsType[*workload.DataError](err); ok && searched[e.Fault] != "" {
		return fmt.Sprintf(searched[e.Fault], e.Args...) + ": " + said
	}
	if e, ok := errors.AsType[*service.Error](err); ok && e.Class == record.Mismatch {
		return mismatch + ": " + said
	}
	return said
}
