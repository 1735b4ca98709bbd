package compare_test

import (
	"testing"

	"github.com/redline-bench/redline/internal/compare"
	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/result"
)

// Differences names the options of both commands that decide what is sent, and no others.
func TestDifferences(t *testing.T) {
	f := func(a, b *result.Result, want string) {
		t.Helper()
		if got := compare.Differences(a, b); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	profile := func(edit func(*plan.Plan)) *result.Result {
		p := plan.Default()
		p.Target.Model, p.Target.Protocol, p.Target.URL = "simple", plan.HTTP, "a:8000"
		edit(&p)
		return &result.Result{Command: "profile", Plan: &p}
	}
	llm := func(options ...string) *result.Result { return &result.Result{Command: "llm", Options: options} }
	same := profile(func(*plan.Plan) {})
	f(same, profile(func(p *plan.Plan) { p.Target.URL, p.Output.ResultJSON = "b:8000", "r.json" }), "")
	f(same, profile(func(p *plan.Plan) { p.Input.Batch = 8 }), "-b is 8, not 1")
	f(same, profile(func(p *plan.Plan) { p.Target.Protocol, p.Target.Streaming = plan.GRPC, true }), "-i is grpc, not http; --streaming is true, and was not given")
	f(llm("--model=m", "--osl=8", "--json=a"), llm("--model=m", "--osl=16", "--label=x"), "--osl is 16, not 8")
	f(llm("--streaming"), llm(), "")
	f(llm("--model=m", "--streaming"), llm("--model=m"), "--streaming is not given, but was set")
	f(same, llm("--model=m"), "the command is llm, not profile")
}
