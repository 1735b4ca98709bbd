package kind

import (
	"time"

	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/service"
	"github.com/redline-bench/redline/internal/service/dynamicgrpc"
	"github.com/redline-bench/redline/internal/service/kserve/rest"
	"github.com/redline-bench/redline/internal/service/kserve/rpc"
	"github.com/redline-bench/redline/internal/service/openai"
	"github.com/redline-bench/redline/internal/service/tfserving"
	"github.com/redline-bench/redline/internal/service/torchserve"
	"github.com/redline-bench/redline/internal/service/tritoncapi"
)

// rows is the table, in the order of the help text. A new kind is one more row.
var rows = []Row{
	{
		Name: plan.Triton,
		New: func(p *plan.Plan) (service.Service, error) {
			if p.Target.Protocol == plan.GRPC {
				return rpc.New(p.Target, p.Input)
			}
			return rest.New(p.Target, p.Input)
		},
		Traits: Traits{
			Protocols: []plan.Protocol{plan.HTTP, plan.GRPC}, GRPCAddress: "localhost:8001", Path: "v2",
			ModelMetadata: true, ModelList: true, HTTPStreams: true, SharedStreams: true, SharedMemory: true, Metrics: true, MetricsPage: ":8002/metrics", Embedded: true,
			Reference: Reference{Hold: holdModel},
		},
		Words: Words{API: "KServe v2"},
	},
	{
		Name: plan.OpenAI,
		New:  func(p *plan.Plan) (service.Service, error) { return openai.New(p.Target) },
		Traits: Traits{
			Protocols: []plan.Protocol{plan.HTTP}, Path: "v1", HTTP2: true, ModelList: true, Endpoints: true, Streams: true, Sessions: true,
			Reference: Reference{Port: "openai", Hold: func(_ string, hold time.Duration) []string {
				return []string{"--ttft", hold.String(), "--itl", "0s"}
			}},
		},
		Words: Words{API: "OpenAI API"},
	},
	{
		Name: plan.TFServing,
		New:  func(p *plan.Plan) (service.Service, error) { return tfserving.New(p.Target, p.Input) },
		Traits: Traits{
			Protocols: []plan.Protocol{plan.GRPC}, GRPCAddress: "localhost:8500", ModelMetadata: true, Signature: true, Unbatched: true,
			MetricsPage: ":8501/monitoring/prometheus/metrics",
			Reference:   Reference{Port: "tfserving", Hold: holdModel},
		},
		Words: Words{API: "TensorFlow Serving"},
	},
	{
		Name: plan.TorchServe,
		New:  func(p *plan.Plan) (service.Service, error) { return torchserve.New(p.Target) },
		Traits: Traits{
			Protocols: []plan.Protocol{plan.HTTP}, Path: "predictions", Synchronous: true, MetricsPage: ":8082/metrics",
			Reference: Reference{Port: "torchserve", Hold: func(_ string, hold time.Duration) []string {
				return holdModel("torchserve", hold)
			}},
		},
	},
	{
		Name: plan.TritonCAPI,
		New:  func(p *plan.Plan) (service.Service, error) { return tritoncapi.New(p.Target, p.Input) },
		Traits: Traits{
			ModelMetadata: true, SharedMemory: true,
			Reference: Reference{Missing: "a Triton in this process has no connection, and no server logs its side of a request"},
		},
		Words: Words{Native: "--service-kind triton_c_api loads libtritonserver.so"},
	},
	{
		Name: plan.DynamicGRPC,
		New:  func(p *plan.Plan) (service.Service, error) { return dynamicgrpc.New(p.Target) },
		Traits: Traits{
			Protocols: []plan.Protocol{plan.GRPC}, NoModelName: true, Method: true, Streams: true,
			Reference: Reference{Hold: func(_ string, hold time.Duration) []string { return holdModel("any-method", hold) }},
		},
	},
}

// holdModel lets the reference server delay the responses of one model.
func holdModel(model string, hold time.Duration) []string {
	return []string{"--delay", model + "=" + hold.String()}
}
