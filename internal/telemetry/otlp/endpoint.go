package otlp

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"

	"github.com/redline-bench/redline/internal/secret"
)

// Env is the endpoint that takes everything from the OTEL_ variables.
const Env = "env"

// target is where points go. An empty address means that the OTEL_ variables name it.
type target struct {
	grpc     bool
	insecure bool
	address  string // HOST:PORT for gRPC
	base     string // URL for HTTP, without /v1/metrics
}

// parse reads an endpoint. protocol is the value of OTEL_EXPORTER_OTLP_PROTOCOL, which decides where the endpoint does not:
// grpc:// and grpcs:// mean gRPC, http:// and https:// mean HTTP unless protocol is grpc. Without a scheme, port 4318 means HTTP,
// any other port gRPC.
func parse(endpoint, protocol string) (target, error) {
	switch protocol {
	case "", "grpc", "http/protobuf":
	default:
		return target{}, fmt.Errorf("cannot use the protocol %q of OTEL_EXPORTER_OTLP_PROTOCOL: set it to grpc or http/protobuf", protocol)
	}
	if endpoint == Env {
		return target{grpc: protocol == "grpc"}, nil
	}
	scheme, rest, ok := strings.Cut(endpoint, "://")
	if !ok {
		scheme, rest = "", endpoint
	}
	t := target{grpc: protocol == "grpc", insecure: scheme != "https" && scheme != "grpcs"}
	switch scheme {
	case "grpc", "grpcs":
		t.grpc = true
	case "http", "https":
	case "":
		_, port, err := net.SplitHostPort(endpoint)
		if err != nil {
			return t, notAnAddress(endpoint)
		}
		t.grpc = t.grpc || protocol == "" && port != "4318"
	default:
		return t, fmt.Errorf("starts with grpc://, grpcs://, http:// or https://, not with %s://", scheme)
	}
	web := "http"
	if !t.insecure {
		web = "https"
	}
	u, err := url.Parse(web + "://" + rest)
	if err != nil || u.Host == "" {
		return t, notAnAddress(endpoint)
	}
	switch {
	case u.User != nil:
		return t, errors.New("takes no user and password: give them as a header, --otlp-header 'Authorization: Basic ...'")
	case u.RawQuery != "":
		return t, errors.New("takes no query after the address: give keys as headers, --otlp-header 'NAME: VALUE'")
	case t.grpc && strings.Trim(u.Path, "/") != "":
		return t, fmt.Errorf("takes no path with gRPC: leave out %s", u.Path)
	}
	t.address, t.base = u.Host, strings.TrimSuffix(u.String(), "/")
	if t.grpc && u.Port() == "" {
		t.address = net.JoinHostPort(u.Hostname(), "4317")
	}
	return t, nil
}

func notAnAddress(endpoint string) error {
	return fmt.Errorf("is an address such as grpc://collector:4317 or http://collector:4318, not %q", secret.PublicURL(endpoint))
}

// url is the address as the SDK reads it: with the path for HTTP, and with http or https for gRPC too.
func (t *target) url(path string) string {
	switch {
	case !t.grpc:
		return t.base + path
	case t.insecure:
		return "http://" + t.address
	}
	return "https://" + t.address
}
