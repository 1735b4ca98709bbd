package tfserving_test

import (
	"testing"

	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/refserver"
	"github.com/redline-bench/redline/internal/service"
	"github.com/redline-bench/redline/internal/service/tfserving"
	"github.com/redline-bench/redline/internal/testkit/suite"
)

func TestSuite(t *testing.T) {
	srv, err := refserver.Start(t.Context(), refserver.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer srv.Close()
	suite.Run(t, suite.Kind{
		Addr: srv.Addresses().TFServing, Inputs: suite.SimpleInputs(),
		New: func(t *testing.T, addr string, f suite.Fault) service.Service {
			tg := plan.Target{Kind: plan.TFServing, Protocol: plan.GRPC, URL: addr, Model: "simple", Headers: f.Headers(), SignatureName: "serving_default"}
			s, err := tfserving.New(tg, plan.Input{Batch: 1})
			if err != nil {
				t.Fatal(err)
			}
			return s
		},
	})
}
