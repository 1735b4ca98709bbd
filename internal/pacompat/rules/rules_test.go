package rules_test

import (
	"testing"

	"github.com/redline-bench/redline/internal/pacompat/rules"
	"github.com/redline-bench/redline/internal/plan"
)

// perf_analyzer's sentence about gRPC stands in perf_analyzer mode alone.
func TestProtocol(t *testing.T) {
	f := func(program plan.Program, kind plan.Kind, protocol plan.Protocol, want string) {
		t.Helper()
		p := plan.Default()
		p.Program, p.Target.Kind, p.Target.Protocol = program, kind, protocol
		got := ""
		if err := rules.Protocol(&p); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%s, %s, %s: %q, want %q", program, kind, protocol, got, want)
		}
	}
	f(plan.Redline, plan.OpenAI, plan.HTTP, "")
	f(plan.Redline, plan.Triton, plan.GRPC, "")
	f(plan.Redline, plan.OpenAI, plan.GRPC, "-i grpc: a server of the kind openai has no gRPC; use -i http")
	f(plan.PerfAnalyzer, plan.OpenAI, plan.GRPC, "failed to create triton client backend: perf_analyzer does not support gRPC protocol with OpenAI endpoints")
	f(plan.PerfAnalyzer, plan.TorchServe, plan.GRPC, "failed to create triton client backend: perf_analyzer does not support gRPC protocol with TorchServe")
}
