package dynamicgrpc_test

import (
	"testing"

	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/refserver"
	"github.com/redline-bench/redline/internal/service"
	"github.com/redline-bench/redline/internal/service/dynamicgrpc"
	"github.com/redline-bench/redline/internal/testkit/suite"
)

// TestSuite calls a method of the reference server, which describes itself by reflection.
func TestSuite(t *testing.T) {
	srv, err := refserver.Start(t.Context(), refserver.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer srv.Close()
	suite.Run(t, suite.Kind{
		Addr: srv.Addresses().GRPC, Inputs: messages(`{"model_name":"identity_string","inputs":[{"name":"INPUT0","datatype":"BYTES","shape":[1,1],"contents":{"bytes_contents":["aGk="]}}]}`),
		New: func(t *testing.T, addr string, f suite.Fault) service.Service {
			tg := plan.Target{Kind: plan.DynamicGRPC, Protocol: plan.GRPC, URL: addr, Model: "m", GRPCMethod: "inference.GRPCInferenceService/ModelInfer"}
			if f == suite.Malformed {
				return nil // what a message means is not looked at; breaks of gRPC are the lanes' affair
			}
			tg.Headers = f.Headers()
			s, err := dynamicgrpc.New(tg)
			if err != nil {
				t.Fatal(err)
			}
			return s
		},
	})
}
