package workload

import (
	"errors"

	"github.com/redline-bench/redline/internal/service"
)

// DataError says what is wrong with the input data.
type DataError struct {
	*service.SentenceError        // nil where Err says it all
	Path                   string // the file, where there is one
	// Code and Offset are the parser's error number and place where the file is not JSON; else Code is 0.
	Code, Offset int
	Err          error // the cause, if any
}

func (e *DataError) Error() string {
	if e.SentenceError == nil {
		return e.Err.Error()
	}
	return e.SentenceError.Error()
}

// Unwrap returns the fault and the cause.
func (e *DataError) Unwrap() []error {
	if e.SentenceError == nil {
		return []error{e.Err}
	}
	return []error{e.SentenceError, e.Err}
}

// BatchError says why steps cannot be sent in one batch.
type BatchError struct{ *service.SentenceError }

// Unwrap returns the fault.
func (e *BatchError) Unwrap() error { return e.SentenceError }

func dataError(s service.Sentence, args ...any) error {
	return &DataError{SentenceError: s.With(args...)}
}

// ErrNoSteps is the cause where the data is well-formed and holds nothing to send.
var ErrNoSteps = errors.New("the input data has no steps")

// What can be wrong with input data.
const (
	Unreadable      service.Sentence = "the file cannot be read: %v"
	NotJSON         service.Sentence = "not valid JSON at byte %d: check the file with a JSON validator"
	NoDataMember    service.Sentence = `the file has no "data": write {"data": [...]}`
	Malformed       service.Sentence = `"data" must be a list of objects, each with the inputs of one request by name, or a list of such lists`
	Misaligned      service.Sentence = `"validation_data" must have one entry for each entry of "data"`
	Mixed           service.Sentence = `"data" has both objects and lists: write objects for one stream, or lists for several`
	NoData          service.Sentence = "there is no data for input %s"
	NoTensor        service.Sentence = "there is no tensor %s in step %[3]d of stream %[2]d"
	UnknownTensor   service.Sentence = "the model has no input or output %q"
	NoContent       service.Sentence = `a tensor in step %[2]d of stream %[1]d has neither "content" nor "b64"`
	BadShape        service.Sentence = `"shape" must be a list of whole numbers`
	BadValues       service.Sentence = `a tensor in step %[2]d of stream %[1]d must be a list of values, or {"b64": "..."}`
	BadBase64       service.Sentence = `"b64" in step %[2]d of stream %[1]d must be a string`
	OpenShape       service.Sentence = `input %s has the variable shape %s: add "shape" to its data, or use --shape`
	OtherShape      service.Sentence = "the shape %s does not fit input %s, which has the shape %s"
	OtherSize       service.Sentence = "the data of %s must have %d bytes, but it has %d"
	UnreadFolder    service.Sentence = "the folder %s cannot be read"
	StrangeFile     service.Sentence = "the file %s has the name of no input or output of the model: rename or remove it"
	FolderForTensor service.Sentence = "%s is a folder: a tensor needs a file"
	UnreadTensor    service.Sentence = "the file %s cannot be opened"
	EmptyFile       service.Sentence = "the file %s is empty"
	FileElements    service.Sentence = "the data of %s %s has %d elements, but the model needs %d"
	FileBytes       service.Sentence = "the data of %s %s has %d bytes, but the model needs %d"
	NoShapeValues   service.Sentence = "no data can be made for the shape tensor %s: give it with --input-data"
	NoRandom        service.Sentence = "no data can be made for input %s of type %s: give it with --input-data"
	VariableShape   service.Sentence = "input %s has a variable shape: give its dimensions with --shape"
	SeveralStreams  service.Sentence = `"data" must have one stream: write the steps into "data" itself, not into lists inside of it`
	FewSessions     service.Sentence = "the input data has %d sessions, fewer than --session-concurrency %d: add sessions, or lower the number"
	NoDelay         service.Sentence = `step %d has no "delay", but its session has a later step`
	NoMessages      service.Sentence = "a request is not a JSON object with a list \"messages\": %s"

	SharedOptional service.Sentence = "every input needs data with --shared-memory, also optional inputs"
	MixedOptional  service.Sentence = "the requests of one batch must have data for the same inputs: use -b 1, or give the same optional inputs in every step"
	MixedShapes    service.Sentence = "input %s has the shapes %s and %s, which cannot be in one batch: use -b 1"
	ShapeBytes     service.Sentence = "shape tensors of one batch must be equal, but their sizes differ"
	ShapeContent   service.Sentence = "shape tensors of one batch must be equal, but their values differ"
)
