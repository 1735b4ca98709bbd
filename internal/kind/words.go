package kind

import (
	"errors"
	"strconv"
	"strings"

	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/record"
	"github.com/redline-bench/redline/internal/service"
)

func refuseTFServing(a *Asked) string {
	switch {
	case a.Target.Protocol != plan.GRPC:
		return "perf_analyzer supports only grpc protocol for TensorFlow Serving."
	case a.Target.Streaming:
		return "perf_analyzer does not support streaming for TensorFlow Serving."
	case a.Async:
		return "perf_analyzer does not support async API for TensorFlow Serving."
	}
	return ""
}

func refuseTorchServe(a *Asked) string {
	if !a.Data {
		return "--input-data should be provided with a json file with input data for torchserve."
	}
	return ""
}

func refuseCAPI(a *Asked) string {
	switch {
	case a.Target.ServerDirectory == "":
		return "--triton-server-path should not be empty when using service-kind=triton_c_api."
	case a.Target.ModelRepository == "":
		return "--model-repository should not be empty when using service-kind=triton_c_api."
	case a.Async && a.Target.Streaming && a.Input.SharedMemory != plan.NoSharedMemory:
		return "Cannot use --shared-memory=system or --shared-memory=cuda with --service-kind=triton_c_api and --async and --streaming."
	}
	return ""
}

func refuseOpenAI(a *Asked) string {
	switch {
	case !a.Data:
		return "Must supply --input-data for OpenAI service kind."
	case a.Target.Endpoint == "":
		return "Must supply --endpoint for OpenAI service kind. For example, \"v1/chat/completions\"."
	case !a.Async:
		return "Only async mode is currently supported for OpenAI service-kind"
	case a.Input.Batch != 1:
		return "Batching is not currently supported with OpenAI service-kind"
	}
	return ""
}

func refuseDynamicGRPC(a *Asked) string {
	switch {
	case a.Async:
		return "Dynamic gRPC client only supports synchronous RPCs at the moment."
	case !a.Data:
		return "Must supply --input-data to provide input data stream for streaming Dynamic gRPC service."
	}
	return ""
}

// failureOpenAI: perf_analyzer prints a status for every failure, 400 for a failure of the network and 499 for a missed
// deadline, both with an empty body.
func failureOpenAI(err error) (text string, hidden bool) {
	e, ok := errors.AsType[*service.Error](err)
	switch {
	case ok && e.Class == record.Timeout:
		return "OpenAI response returns HTTP code 499: ", true
	case ok && e.Text == "":
		return "OpenAI response returns HTTP code 400: ", true
	}
	return err.Error(), false
}

// failureTorchServe: perf_analyzer prints a status and nothing else, 400 for a failure of the network.
func failureTorchServe(err error) (text string, hidden bool) {
	const code = "inference failed with error code "
	e, ok := errors.AsType[*service.Error](err)
	switch {
	case !ok, strings.HasPrefix(e.Text, "Failed to open"):
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
