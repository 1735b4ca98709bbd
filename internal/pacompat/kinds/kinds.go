// Package kinds is what perf_analyzer says of its service kinds, and does for single ones. A kind that perf_analyzer does not
// have needs no row here.
package kinds

import (
	"cmp"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/record"
	"github.com/redline-bench/redline/internal/service"
)

// Row is what perf_analyzer prints for a kind, and when.
type Row struct {
	Name      string // in its settings and errors
	BatchLine bool   // its settings have the batch size also without -b
	// NoStreaming is its error with --streaming, NoBatch its error with -b above 1 after the input data was read; empty: no error.
	NoStreaming, NoBatch string
	NoGRPC               string // its error over gRPC; empty: the kind has gRPC, or perf_analyzer refuses it in other words
	NoTimestamps         bool   // it reads no timestamps of the input data
	ReadsFilesLate       bool   // it reads the files that the input data names with the first request
	// ExportsNames: its export has the names of inputs and outputs without their data; ExportsNoOutputs: of inputs alone.
	ExportsNames, ExportsNoOutputs bool
	// Refuse returns its sentence, and Redline's, about options that the kind cannot have; empty where there is none.
	Refuse func(*Asked) (original, ours string)
	// Failure is its text for a failed request. hidden tells whether the text hides the cause. An empty text is the
	// general one of the protocol.
	Failure func(err error) (text string, hidden bool)
}

// Asked are the options of a command line that a kind may refuse.
type Asked struct {
	Target *plan.Target
	Input  *plan.Input
	Async  bool // --async
	Data   bool // --input-data
}

var rows = map[plan.Kind]Row{
	plan.Triton: {Name: "TRITON", BatchLine: true},
	plan.OpenAI: {
		Name: "OPENAI", NoGRPC: "perf_analyzer does not support gRPC protocol with OpenAI endpoints", Refuse: refuseOpenAI, Failure: failureOpenAI,
	},
	plan.TFServing: {Name: "TENSORFLOW_SERVING", ExportsNames: true, ExportsNoOutputs: true, Refuse: refuseTFServing},
	plan.TorchServe: {
		Name: "TORCHSERVE", NoGRPC: "perf_analyzer does not support gRPC protocol with TorchServe", ReadsFilesLate: true, ExportsNames: true,
		Refuse: refuseTorchServe, Failure: failureTorchServe,
	},
	plan.TritonCAPI: {Name: "TRITON_C_API", Refuse: refuseCAPI},
	plan.DynamicGRPC: {
		Name: "DYNAMIC_GRPC", NoTimestamps: true, ExportsNames: true, Refuse: refuseDynamicGRPC, Failure: failureDynamicGRPC,
		NoStreaming: "DynamicGrpcClientBackend::StartStream is not supported.",
		NoBatch:     "Dynamic gRPC does not support multi-batch at the moment.",
	},
}

// Of returns the row of a kind; a kind that perf_analyzer does not have gets one with its name alone.
func Of(k plan.Kind) Row {
	r := rows[k]
	r.Name = cmp.Or(r.Name, strings.ToUpper(string(k)))
	return r
}

func refuseTFServing(a *Asked) (original, ours string) {
	switch {
	case a.Target.Protocol != plan.GRPC:
		return "perf_analyzer supports only grpc protocol for TensorFlow Serving.", "TensorFlow Serving is measured over gRPC: add -i grpc"
	case a.Target.Streaming:
		return "perf_analyzer does not support streaming for TensorFlow Serving.", "TensorFlow Serving takes no --streaming: leave it out"
	case a.Async:
		return "perf_analyzer does not support async API for TensorFlow Serving.", "TensorFlow Serving takes no --async: leave it out"
	}
	return "", ""
}

func refuseTorchServe(a *Asked) (original, ours string) {
	if !a.Data {
		return "--input-data should be provided with a json file with input data for torchserve.", "--service-kind torchserve needs its requests: add --input-data FILE"
	}
	return "", ""
}

func refuseCAPI(a *Asked) (original, ours string) {
	switch {
	case a.Target.ServerDirectory == "":
		return "--triton-server-path should not be empty when using service-kind=triton_c_api.", "--service-kind triton_c_api needs --triton-server-path"
	case a.Target.ModelRepository == "":
		return "--model-repository should not be empty when using service-kind=triton_c_api.", "--service-kind triton_c_api needs --model-repository"
	case a.Async && a.Target.Streaming && a.Input.SharedMemory != plan.NoSharedMemory:
		return "Cannot use --shared-memory=system or --shared-memory=cuda with --service-kind=triton_c_api and --async and --streaming.", "--service-kind triton_c_api takes no --shared-memory with --async and --streaming: leave it out"
	}
	return "", ""
}

func refuseOpenAI(a *Asked) (original, ours string) {
	switch {
	case !a.Data:
		return "Must supply --input-data for OpenAI service kind.", "--service-kind openai needs its requests: add --input-data FILE, or use 'redline llm', which makes prompts"
	case a.Target.Endpoint == "":
		return "Must supply --endpoint for OpenAI service kind. For example, \"v1/chat/completions\".", "--service-kind openai needs the path of the API: add --endpoint v1/chat/completions"
	case !a.Async:
		return "Only async mode is currently supported for OpenAI service-kind", "--service-kind openai needs --async: add it"
	case a.Input.Batch != 1:
		return "Batching is not currently supported with OpenAI service-kind", "--service-kind openai takes no -b above 1: leave it out"
	}
	return "", ""
}

func refuseDynamicGRPC(a *Asked) (original, ours string) {
	switch {
	case a.Async:
		return "Dynamic gRPC client only supports synchronous RPCs at the moment.", "--service-kind dynamic_grpc takes no --async: leave it out"
	case !a.Data:
		return "Must supply --input-data to provide input data stream for streaming Dynamic gRPC service.", "--service-kind dynamic_grpc needs its requests: add --input-data FILE"
	}
	return "", ""
}

// failureOpenAI: perf_analyzer prints a status for every failure, 400 for a failure of the network and 499 for a missed
// deadline, both with an empty body.
func failureOpenAI(err error) (text string, hidden bool) {
	const code = "OpenAI response returns HTTP code "
	e, ok := errors.AsType[*service.Error](err)
	status, answered := errors.AsType[*service.StatusError](err)
	switch {
	case errors.As(err, new(*service.SentenceError)):
		return "", false
	case answered:
		return fmt.Sprintf("%s%d: %s", code, status.Status, status.Body), false
	case ok && e.Class == record.Timeout:
		return code + "499: ", true
	case ok && e.Text == "":
		return code + "400: ", true
	}
	return err.Error(), false
}

// failureTorchServe: perf_analyzer prints a status and nothing else, 400 for a failure of the network.
func failureTorchServe(err error) (text string, hidden bool) {
	const code = "inference failed with error code "
	e, ok := errors.AsType[*service.Error](err)
	switch {
	case errors.As(err, new(*service.SentenceError)):
		return "", false
	case !ok:
		return err.Error(), false
	case e.Class == record.Timeout:
		return code + "499", true
	case e.Code > 0:
		return code + strconv.Itoa(e.Code), true
	}
	return code + "400", e.Text == ""
}

// failureDynamicGRPC: perf_analyzer does not tell why a connection was refused or lost.
func failureDynamicGRPC(err error) (text string, hidden bool) {
	e, ok := errors.AsType[*service.Error](err)
	if ok && (e.Class == record.Connect || e.Class == record.Transport) {
		return "Failed to write data to the gRPC stream. This could happen when the call is dead or server dropped the channel.", false
	}
	return "", false
}
