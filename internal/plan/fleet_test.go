package plan_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/secret"
)

// A plan for other machines has no secret beside its references, and every value comes back.
func TestWithholdKeepsReferencesAlone(t *testing.T) {
	f := func(url, header, endpoint string, withheld ...string) {
		t.Helper()
		p := plan.Default()
		p.Target.URL, p.Target.Endpoint = url, endpoint
		p.Target.Headers = []plan.Header{{Name: "Authorization", Value: header}}
		public, secrets, names := p.Withhold()
		text, err := json.Marshal(public)
		if err != nil || strings.Contains(string(text), "s3cret") {
			t.Errorf("%v: a secret is left in %s", err, text)
		}
		if got := strings.Join(names, " "); got != strings.Join(withheld, " ") {
			t.Errorf("withheld %q, want %q", got, withheld)
		}
		back, err := public.Restore(secrets, func(name string) string { return "value-of-" + name })
		if err != nil {
			t.Fatal(err)
		}
		value := strings.NewReplacer("${env:K}", "value-of-K")
		if got := back.Target; got.URL != value.Replace(url) || got.Headers[0].Value != value.Replace(header) || got.Endpoint != value.Replace(endpoint) {
			t.Errorf("restored %+v", got)
		}
		var set secret.Set
		back.CollectSecrets(&set)
		if got := set.Redact("the server says value-of-K"); withheld == nil && strings.Contains(got, "value-of-K") {
			t.Errorf("not redacted: %s", got)
		}
	}
	f("host:8000", "Bearer ${env:K}", "v1/chat")
	f("http://me:${env:K}@host:8000", "${env:K}", "v1/chat?key=${env:K}")
	f("http://${env:K}@host:8000", "Bearer ${env:K}", "v1/chat")
	f("host:8000", "Bearer s3cret", "v1/chat", "-H Authorization")
	f("host:8000", "Bearer s3cret-${env:K}", "v1/chat", "-H Authorization")
	f("http://me:s3cret@host:8000?key=${env:K}", "${env:K}", "v1/chat", "-u")
	f("http://me:${env:K}@host:8000?key=s3cret", "${env:K}", "v1/chat", "-u")
	f("host:8000", "${env:K}", "v1/chat?a=${env:K}&key=s3cret", "--endpoint")
}

// Addresses of several NATS servers are masked one by one.
func TestEachAddressOfNATSIsMasked(t *testing.T) {
	p := plan.Default()
	p.Fleet.NATS.URL = "nats://u:s3cret@a:4222,nats://u:s3cret@b:4222"
	if got := p.Public().Fleet.NATS.URL; got != "nats://***@a:4222,nats://***@b:4222" {
		t.Error(got)
	}
}
