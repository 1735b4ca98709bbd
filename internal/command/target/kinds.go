// Package target is what commands do with the server of a plan before and after the load: open the service of its kind, see
// to it that so many connections can be made, say what to do about its errors, and ask what it is and has.
package target

import (
	"fmt"

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

// Open makes the service of a plan, with the policies of its target.
func Open(p *plan.Plan) (service.Service, error) {
	svc, err := New(p)
	if later, ok := svc.(interface{ ConnectLater() }); ok && err == nil && p.Target.LazyDial {
		later.ConnectLater()
	}
	if strict, ok := svc.(interface{ Strict() }); ok && err == nil && p.Target.StrictRepository {
		strict.Strict()
	}
	return svc, err
}

// New maps a service kind to its constructor. It is the only place that knows them all.
func New(p *plan.Plan) (service.Service, error) {
	switch {
	case p.Target.Kind == plan.Triton && p.Target.Protocol == plan.GRPC:
		return rpc.New(p.Target, p.Input)
	case p.Target.Kind == plan.Triton:
		return rest.New(p.Target, p.Input)
	case p.Target.Kind == plan.OpenAI:
		return openai.New(p.Target)
	case p.Target.Kind == plan.DynamicGRPC:
		return dynamicgrpc.New(p.Target)
	case p.Target.Kind == plan.TFServing:
		return tfserving.New(p.Target, p.Input)
	case p.Target.Kind == plan.TorchServe:
		return torchserve.New(p.Target)
	case p.Target.Kind == plan.TritonCAPI:
		return tritoncapi.New(p.Target, p.Input)
	default:
		return nil, fmt.Errorf("service kind %s is not in this build", p.Target.Kind)
	}
}

// Streams tells whether a request of a kind may have several responses, whatever --streaming says.
func Streams(k plan.Kind) bool { return k == plan.OpenAI || k == plan.DynamicGRPC }
