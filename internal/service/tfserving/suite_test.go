package tfserving_test

import (
	"testing"

	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/refserver"
	"github.com/redline-bench/redline/internal/service"
	"github.com/redline-bench/redline/internal/service/tfserving"
	"github.com/redline-bench/redline/internal/tensor"
	"github.com/redline-bench/redline/internal/testkit/suite"
)

func TestSuite(t *testing.T) {
	srv, err := refserver.Start(t.Context(), refserver.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer srv.Close()
	in := tensor.Tensor{Type: tensor.Int32, Shape: tensor.Shape{1, 16}, Data: make([]byte, 64)}
	first, second := in, in
	first.Name, second.Name = "INPUT0", "INPUT1"
	suite.Run(t, suite.Kind{
		Addr: srv.Addresses().TFServing, Inputs: service.Inputs{Tensors: []tensor.Tensor{first, second}},
		New: func(t *testing.T, addr string, f suite.Fault) service.Service {
			tg := plan.Target{Kind: plan.TFServing, Protocol: plan.GRPC, URL: addr, Model: "simple", SignatureName: "serving_default"}
			if f != suite.None {
				tg.Headers = []plan.Header{{Name: "x-redline-fault", Value: string(f)}}
			}
			s, err := tfserving.New(tg, plan.Input{Batch: 1})
			if err != nil {
				t.Fatal(err)
			}
			return s
		},
	})
}
