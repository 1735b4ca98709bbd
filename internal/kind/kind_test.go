package kind_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/redline-bench/redline/internal/kind"
	"github.com/redline-bench/redline/internal/plan"
)

func TestEveryKindIsComplete(t *testing.T) {
	seen := map[string]bool{}
	for _, name := range kind.Names(false) {
		row := kind.Of(plan.Kind(name))
		if seen[name] || row.New == nil || row.Reference.Missing == "" && row.Reference.Hold == nil {
			t.Errorf("the row of %s lacks something: %+v", name, row)
		}
		seen[name] = true
	}
	if row := kind.Of("none"); row.New != nil || row.Name != "none" {
		t.Errorf("a row for a kind that does not exist: %+v", row)
	}
	if _, err := kind.Open(&plan.Plan{Target: plan.Target{Kind: "none"}}); err == nil {
		t.Error("a service of a kind that does not exist")
	}
}

func TestCandidates(t *testing.T) {
	var got []string
	for _, c := range kind.Candidates() {
		got = append(got, string(c.Name)+" "+string(c.Protocol))
	}
	if d := cmp.Diff([]string{"triton http", "openai http", "triton grpc", "tfserving grpc"}, got); d != "" {
		t.Error(d)
	}
}
