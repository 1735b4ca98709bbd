package target

import (
	"net"
	"net/url"
	"strings"

	"github.com/redline-bench/redline/internal/command"
	"github.com/redline-bench/redline/internal/kind"
	"github.com/redline-bench/redline/internal/plan"
)

// MetricsPages are the pages on which the server of a plan usually reports its own metrics. embedded is nil if the server is none of ours.
func MetricsPages(t *plan.Target, embedded *command.Embedded) []string {
	switch {
	case embedded != nil:
		return []string{embedded.Address("metrics")}
	case kind.Of(t.Kind).InProcess():
		return nil
	}
	return []string{MetricsPage(t.URL, kind.Of(t.Kind).MetricsPage)}
}

// MetricsPage is where a server usually reports its own metrics. page is that of its kind: empty for /metrics at the server's
// address, or a port and a path, as :8002/metrics.
func MetricsPage(address, page string) string {
	if !strings.Contains(address, "://") {
		address = "http://" + address
	}
	u, err := url.Parse(address)
	if err != nil {
		return address
	}
	if strings.HasPrefix(u.Scheme, "grpc") {
		u.Scheme = strings.Replace(u.Scheme, "grpc", "http", 1)
	}
	u.Path, u.RawQuery = "/metrics", ""
	if port, path, ok := strings.Cut(strings.TrimPrefix(page, ":"), "/"); ok {
		u.Scheme, u.Host, u.Path = "http", net.JoinHostPort(u.Hostname(), port), "/"+path
	}
	return u.String()
}
