//go:build native && cgo && linux

package tritoncapi

import (
	"testing"

	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/service"
	"github.com/redline-bench/redline/internal/tensor"
	"github.com/redline-bench/redline/internal/testkit/suite"
)

func TestSuite(t *testing.T) {
	models := map[suite.Fault]string{suite.None: "echo", suite.Error: "fail", suite.Hang: "slow"}
	suite.Run(t, suite.Kind{
		Inputs: service.Inputs{Tensors: []tensor.Tensor{ints("IN", 1, 2)}},
		New: func(t *testing.T, _ string, f suite.Fault) service.Service {
			model := models[f]
			if model == "" {
				return nil // nothing is parsed: an answer is what the library's functions return
			}
			svc, err := New(plan.Target{Model: model, ServerDirectory: fakeDir(t), ModelRepository: t.TempDir()}, plan.Input{})
			if err != nil {
				t.Fatal(err)
			}
			return svc
		},
	})
}
