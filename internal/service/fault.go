package service

import "fmt"

// Sentence is why something failed, with places for its arguments as in fmt. Packages declare their sentences as constants, so
// that code above them can tell the reasons apart, and say them in other words.
type Sentence string

// With is the error that the sentence states of args.
func (s Sentence) With(args ...any) *SentenceError { return &SentenceError{Sentence: s, Args: args} }

// SentenceError is an error that states a sentence.
type SentenceError struct {
	Sentence Sentence
	Args     []any
	Err      error // the cause, if any
}

func (f *SentenceError) Error() string { return fmt.Sprintf(string(f.Sentence), f.Args...) }

func (f *SentenceError) Unwrap() error { return f.Err }

// The sentences of service kinds.
const (
	OutputSize    Sentence = `an output is not as large as "validation_data" expects`
	OutputDiffers Sentence = `an output differs from "validation_data"`

	NoStatistics      Sentence = "the server has no statistics of the model"
	NoTensorMetadata  Sentence = "the model's configuration has the %s tensor %s, but its metadata does not"
	StreamClosed      Sentence = "the server closed the stream"
	RequestTooLarge   Sentence = "the request has %d bytes, more than the %d that gRPC can send"
	NoJSONForm        Sentence = "a tensor of datatype %s cannot be sent as JSON: use the binary data format"
	EmptyRegion       Sentence = "shared memory of 0 bytes cannot be made for output %s: give its size with --output-shared-memory-size"
	NoGPUMemory       Sentence = "cannot allocate %d bytes of GPU memory: %s"
	NoSignature       Sentence = "the model has no signature %q: see --model-signature-name"
	BatchUnknownRank  Sentence = "-b needs a model whose inputs have a known number of dimensions: leave -b out"
	BatchFixedSize    Sentence = "-b needs a model whose inputs have the variable first dimension -1: leave -b out"
	UnreadableFile    Sentence = "cannot read the file %s that the input data names"
	NoSuchPath        Sentence = "%s does not exist: see --triton-server-directory and --model-repository"
	ServerNotStarted  Sentence = "Triton did not start"
	RequestRefused    Sentence = "Triton refused the request"
	ResponseFailed    Sentence = "Triton answered with an error"
	NotLoaded         Sentence = "the model is not loaded, or the server is not ready"
	NoChoices         Sentence = "the response is not a JSON object with a non-empty array \"choices\": %s"
	NoMessageOfChoice Sentence = "the first of \"choices\" in the response has no object \"message\": %s"
)
