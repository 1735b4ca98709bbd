package inspect

import (
	"errors"
	"fmt"
	"time"

	"github.com/redline-bench/redline/internal/kind"
	"github.com/redline-bench/redline/internal/option"
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

// Rows are the options that set a.
func (a *Access) Rows() []option.Row {
	a.Timeout = 5 * time.Second
	return option.Group("Server", []option.Row{
		{Long: "url", Short: 'u', Arg: "HOST[:PORT]", Help: "address of the server; without a port, 8000 is tried, then 8001 for gRPC", Secret: secret.URL, To: option.Text(&a.URL)},
		{Long: "protocol", Short: 'i', Arg: "PROTOCOL", Default: "try both", Help: "protocol: http or grpc", To: option.OneOf(&a.Protocol, string(plan.HTTP), string(plan.GRPC))},
		{Long: "service-kind", Arg: "KIND", Default: "try all", Help: "kind of server: triton (KServe v2), openai or tfserving", To: option.OneOf(&a.Kind, kind.Names(true)...)},
		{Long: "header", Short: 'H', Arg: "NAME:VALUE", Repeat: true, Help: "HTTP header or gRPC metadata to send with every request", Secret: secret.Header, To: plan.AppendHeader(&a.Headers)},
		{Long: "api-key-env", Arg: "VARIABLE", Help: "environment variable that contains the API key, sent as Authorization: Bearer KEY", To: option.Text(&a.KeyVariable)},
		{Long: "ca-file", Arg: "FILE", Help: "PEM file of certificate authorities to trust, instead of the system's", To: option.Text(&a.CAFile)},
		{Long: "insecure", Help: "do not verify the certificate of an HTTPS server", To: option.Switch(&a.Insecure)},
		{Long: "timeout", Arg: "TIME", Help: "time limit for each response", To: option.Time(&a.Timeout, time.Second)},
	})
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
