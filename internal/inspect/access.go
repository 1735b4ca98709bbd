package inspect

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/redline-bench/redline/internal/kind"
	"github.com/redline-bench/redline/internal/optset"
	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/secret"
)

// Access is how to reach a server, as the command line gives it.
type Access struct {
	URL         string
	Protocol    plan.Protocol
	Kind        plan.Kind
	Headers     []plan.Header
	KeyVariable string
	CAFile      string
	Insecure    bool
	Timeout     time.Duration
}

// AddOptions adds the options of a to a table. Secrets in them are collected when the table is read.
func (a *Access) AddOptions(s *optset.Set) {
	a.Timeout = 5 * time.Second
	s.Text(&a.URL, "url,u", "HOST[:PORT]", "address of the server; without a port, 8000 is tried, then 8001 for gRPC")
	optset.OneOf(s, &a.Protocol, "protocol,i", "PROTOCOL", "protocol: http or grpc (default: try both)", string(plan.HTTP), string(plan.GRPC))
	optset.OneOf(s, &a.Kind, "service-kind", "KIND", "kind of server: triton (KServe v2), openai or tfserving (default: try all)", kind.Names(true)...)
	s.Var("header,H", "NAME:VALUE", "", "HTTP header or gRPC metadata to send with every request; may be repeated", func(v string) error {
		name, value, ok := strings.Cut(v, ":")
		if !ok || strings.TrimSpace(name) == "" {
			return errors.New("is NAME:VALUE")
		}
		a.Headers = append(a.Headers, plan.Header{Name: strings.TrimSpace(name), Value: strings.TrimSpace(value)})
		return nil
	})
	s.Text(&a.KeyVariable, "api-key-env", "VARIABLE", "environment variable that contains the API key, sent as Authorization: Bearer KEY")
	s.Text(&a.CAFile, "ca-file", "FILE", "PEM file of certificate authorities to trust, instead of the system's")
	s.Bool(&a.Insecure, "insecure", "do not verify the certificate of an HTTPS server")
	s.Duration(&a.Timeout, "timeout", "TIME", "time limit for each response")
	s.Secret(secret.URL, "url")
	s.Secret(secret.Header, "header")
}

// Target is the server to ask. A key is read with getenv and added to secrets.
func (a *Access) Target(getenv func(string) string, secrets *secret.Set) (plan.Target, error) {
	t := plan.Target{Kind: a.Kind, Protocol: a.Protocol, URL: a.URL, Headers: a.Headers, Call: plan.Auto, Timeout: a.Timeout}
	t.TLS = plan.TLS{CAFile: a.CAFile, CertType: "PEM", KeyType: "PEM", VerifyHostLevel: 2, SkipVerifyPeer: a.Insecure, SkipVerifyHost: a.Insecure}
	if a.Timeout <= 0 {
		return t, errors.New("--timeout must be longer than 0")
	}
	if a.KeyVariable != "" {
		key := getenv(a.KeyVariable)
		if key == "" {
			return t, fmt.Errorf("--api-key-env: the variable %s is not set", a.KeyVariable)
		}
		secrets.Add(key)
		t.Headers = append(t.Headers, plan.Header{Name: "Authorization", Value: "Bearer " + key})
	}
	return t, nil
}
