package plan_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/redline-bench/redline/internal/plan"
)

func TestPublicHidesSecretsAndKeepsTheRest(t *testing.T) {
	p := &plan.Plan{Target: plan.Target{
		URL: "https://me:s3cret@host:8000/v1?key=s3cret", Endpoint: "v1/chat?api-key=s3cret", Model: "simple",
		Headers: []plan.Header{{Name: "Authorization", Value: "Bearer s3cret"}, {Name: "X-Api-Key", Value: "s3cret"}, {Name: "Accept", Value: "text/html"}},
	}}
	text, err := json.Marshal(p.Public())
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(text), "s3cret") {
		t.Errorf("a secret is left in %s", text)
	}
	for _, want := range []string{"host:8000/v1", "Authorization", "text/html", "simple", "v1/chat"} {
		if !strings.Contains(string(text), want) {
			t.Errorf("%q is missing from %s", want, text)
		}
	}
	if p.Target.Headers[0].Value != "Bearer s3cret" {
		t.Error("the plan itself was changed")
	}
}
