package rest_test

import (
	"testing"

	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/refserver"
	"github.com/redline-bench/redline/internal/service"
	"github.com/redline-bench/redline/internal/service/kserve/rest"
	"github.com/redline-bench/redline/internal/testkit/suite"
)

func TestSuite(t *testing.T) {
	srv, err := refserver.Start(t.Context(), refserver.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer srv.Close()
	suite.Run(t, suite.Kind{
		Addr: srv.Addresses().HTTP, Inputs: suite.SimpleInputs(),
		New: func(t *testing.T, addr string, f suite.Fault) service.Service {
			tg := plan.Target{Kind: plan.Triton, Protocol: plan.HTTP, URL: addr, Model: "simple", Headers: f.Headers()}
			s, err := rest.New(tg, plan.Input{Batch: 1})
			if err != nil {
				t.Fatal(err)
			}
			return s
		},
	})
}
