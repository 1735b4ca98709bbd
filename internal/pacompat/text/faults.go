package text

import (
	"errors"
	"fmt"
	"strings"

	"github.com/redline-bench/redline/internal/service"
	"github.com/redline-bench/redline/internal/tensor"
	"github.com/redline-bench/redline/internal/workload"
)

// faultTexts are perf_analyzer's sentences for faults that the packages below state in Redline's words. A fault without a
// sentence here has only Redline's: perf_analyzer does not know it.
var faultTexts = map[service.Sentence]string{
	service.OutputSize:        MismatchSize,
	service.OutputDiffers:     Mismatch,
	service.NoStatistics:      "missing statistics for requested model",
	service.NoTensorMetadata:  "no metadata found for %s tensor %s",
	service.StreamClosed:      "Stream has been closed.",
	service.RequestTooLarge:   "Request has byte size %d which exceed gRPC's byte size limit %d.",
	service.NoJSONForm:        "datatype '%s' is not supported with JSON. Please use the binary data format",
	service.EmptyRegion:       "unable to process address space or shared-memory descriptor: 0",
	service.NoGPUMemory:       "unable to allocate memory of %d bytes on gpu for output: %s",
	service.NoSignature:       "Failed to find signature_name %q in the metadata",
	service.BatchUnknownRank:  "Can not specify -b flag for saved model with unknown ranked inputs",
	service.BatchFixedSize:    "Can not specify -b flag for saved model with input not having their first dim as -1",
	service.UnreadableFile:    "Failed to open the specified file `%s`",
	service.NoSuchPath:        "Unable to find filepath: %s",
	service.ServerNotStarted:  "creating server",
	service.RequestRefused:    "running inference",
	service.ResponseFailed:    "inference response error",
	service.NotLoaded:         "Model is not loaded and/or server is not ready",
	service.NoChoices:         "Response body must be an object and have a 'choices' field that is an array with at least one element. Response body:\n\n%s",
	service.NoMessageOfChoice: "Response body 'choices' field's first element must be an object and have a 'message' field that is an object. Response body:\n\n%s",

	workload.Unreadable:      "failed to open file for reading provided data",
	workload.NotJSON:         "failed to parse the specified json file for reading provided data",
	workload.NoDataMember:    "The json file doesn't contain data field",
	workload.Malformed:       "Input data file is malformed.",
	workload.Misaligned:      "The 'validation_data' field doesn't align with 'data' field in the json file",
	workload.Mixed:           "Inconsistency in input-data provided. Can not have a combination of objects and arrays inside of the Data array",
	workload.NoData:          "unable to find data for input '%s'.",
	workload.NoTensor:        "missing tensor %s ( Location stream id: %d, step id: %d)",
	workload.UnknownTensor:   "The input or output '%s' is not found in the model configuration",
	workload.NoContent:       "missing content field. ( Location stream id: %d, step id: %d)",
	workload.BadShape:        "shape values must be integers.",
	workload.BadValues:       "The tensor values are not supported. Expected an array or b64 string ( Location stream id: %d, step id: %d)",
	workload.BadBase64:       "the value of b64 field should be of type string ( Location stream id: %d, step id: %d)",
	workload.OpenShape:       "The variable-sized tensor \"%s\" with model shape %s needs to have its shape fully defined. See the --shape option.",
	workload.OtherShape:      "The supplied shape of %s for input \"%s\" is incompatible with the model's input shape of %s",
	workload.OtherSize:       "mismatch in the data provided for %s. Expected: %d bytes, Got: %d bytes",
	workload.UnreadFolder:    "failed to open directory '%s'",
	workload.StrangeFile:     "Provided data file '%s' does not correspond to a valid model input or output.",
	workload.FolderForTensor: "failed to get size for file '%s'",
	workload.UnreadTensor:    "failed to open file '%s'",
	workload.EmptyFile:       "file '%s' is empty",
	workload.FileElements:    "provided data for %s %s has %d elements, expect %d",
	workload.FileBytes:       "provided data for %s %s has byte size %d, expect %d",
	workload.NoShapeValues:   "can not generate data for shape tensor '%s', user-provided data is needed.",
	workload.NoRandom:        "can not generate data for input '%s' of type %s, user-provided data is needed.",
	workload.VariableShape:   "input %s contains dynamic shape, provide shapes to send along with the request",
	workload.SeveralStreams:  "Expected input data JSON to have one stream. Write the steps into the data array itself, not into arrays inside of it.",
	workload.FewSessions: "The input data file contains %d unique session IDs, which is fewer than the required session concurrency level of %d. " +
		"Add sessions to the file, or lower --session-concurrency.",
	workload.NoDelay:        "Missing 'delay' input for payload with index %d",
	workload.NoMessages:     "Request body must be an object and it must have a 'messages' field that is an array. Request body:\n\n%s",
	workload.SharedOptional: "Shared memory support in Perf Analyzer does not support optional inputs at this time",
	workload.MixedOptional: "For batch sizes larger than 1, the same set of inputs must be specified for each batch. " +
		"You cannot use different set of optional inputs for each individual batch.",
	workload.MixedShapes:  "can not batch tensors with different shapes together (input '%s' expected shape %s and received %s",
	workload.ShapeBytes:   "The shape tensors should be identical in a batch (mismatch in size)",
	workload.ShapeContent: "The shape tensors should be identical in a batch (mismatch in content)",
}

// Sentence is perf_analyzer's form of a sentence without arguments.
func Sentence(s service.Sentence) string { return faultTexts[s] }

// faultText is perf_analyzer's sentence for a fault; false where it has none.
func faultText(err error) (string, bool) {
	if v, ok := errors.AsType[*tensor.ValueError](err); ok {
		return valueText(v.Type), true
	}
	f, ok := errors.AsType[*service.SentenceError](err)
	if !ok {
		return "", false
	}
	format, ok := faultTexts[f.Sentence]
	if strings.Contains(format, "%") {
		format = fmt.Sprintf(format, f.Args...)
	}
	return format, ok
}

// valueText is what perf_analyzer says of an element that does not fit the datatype of its tensor.
func valueText(t tensor.Datatype) string {
	switch t {
	case tensor.FP16, tensor.BF16:
		return "Can not use explicit tensor description for " + strings.ToLower(t.String()) + " datatype"
	case tensor.JSON:
		return "JSON format does not yet support multiple json objects in the input"
	case tensor.FP32:
		return "unable to find float data in json"
	case tensor.Bytes:
		return "unable to find string data in json"
	case tensor.Bool, tensor.FP64:
		return "unable to find " + strings.ToLower(t.String()) + " data in json"
	default:
		return "unable to find " + strings.ToLower(t.String()) + "_t data in json"
	}
}
