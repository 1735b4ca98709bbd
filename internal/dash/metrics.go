package dash

import (
	"context"
	"fmt"
	"math"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/redline-bench/redline/internal/measure"
	"github.com/redline-bench/redline/internal/result"
	"github.com/redline-bench/redline/internal/secret"
)

// Metrics serves the metrics of the run in progress to Prometheus, at /metrics.
type Metrics struct {
	addr string
	srv  *http.Server
	done sync.WaitGroup

	mu    sync.Mutex
	model string
	level *result.Level
}

// ListenMetrics starts serving. Close must be called.
func ListenMetrics(ctx context.Context, address string, secrets *secret.Set) (*Metrics, error) {
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("serve the metrics: %w", err)
	}
	m := &Metrics{addr: l.Addr().String()}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /metrics", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
		m.mu.Lock()
		defer m.mu.Unlock()
		_, _ = w.Write([]byte(exposition(m.model, m.level))) // an error means that the scraper has gone
	})
	m.srv = &http.Server{Handler: redacted(secrets, mux), ReadHeaderTimeout: 5 * time.Second}
	m.done.Go(func() { _ = m.srv.Serve(l) }) // Close ends it
	return m, nil
}

// URL is the address of the metrics.
func (m *Metrics) URL() string { return "http://" + m.addr + "/metrics" }

// Show makes lv the level in progress.
func (m *Metrics) Show(model string, lv *result.Level) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.model, m.level = model, lv
}

// Close ends the server at once.
func (m *Metrics) Close() error {
	err := m.srv.Close()
	m.done.Wait()
	return err
}

// exposition is the level in Prometheus' text format.
func exposition(model string, lv *result.Level) string {
	var b strings.Builder
	if lv == nil {
		return "# no level is in progress yet\n"
	}
	labels := fmt.Sprintf(`model=%s,level=%s`, quoted(model), quoted(measure.LevelName(lv)))
	one := func(name, help string, value float64) {
		fmt.Fprintf(&b, "# HELP redline_%s %s\n# TYPE redline_%s gauge\nredline_%s{%s} %g\n", name, help, name, name, labels, value)
	}
	one("requests", "Requests of the level that ended well.", float64(lv.Client.Requests))
	one("failed", "Requests of the level that failed.", float64(lv.Client.Failed))
	one("throughput", "Inferences per second in the window in progress.", lv.Client.InferPerSec)
	one("in_flight", "Requests in flight.", lv.Health.AchievedInFlight)
	one("asked_in_flight", "Concurrency of the load; 0 if the load has a schedule.", lv.Health.AskedInFlight)
	one("asked_rate", "Request rate of the schedule, per second; 0 if the load has no schedule.", lv.Health.AskedRate)
	fmt.Fprintf(&b, "# HELP redline_latency_seconds Latency from the start of the level until now.\n# TYPE redline_latency_seconds gauge\n")
	for _, p := range lv.Client.Latency.Percentiles {
		fmt.Fprintf(&b, "redline_latency_seconds{%s,quantile=\"%g\"} %g\n", labels, math.Round(p.P*1e4)/1e6, float64(p.Ns)/1e9)
	}
	return b.String()
}

// quoted escapes a label's value for Prometheus.
func quoted(text string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(text) + `"`
}
