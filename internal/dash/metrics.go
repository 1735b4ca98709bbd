package dash

import (
	"context"
	"fmt"
	"math"
	"net"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	dto "github.com/prometheus/client_model/go"

	"github.com/redline-bench/redline/internal/measure"
	"github.com/redline-bench/redline/internal/result"
	"github.com/redline-bench/redline/internal/secret"
	"github.com/redline-bench/redline/internal/telemetry"
	"github.com/redline-bench/redline/internal/telemetry/prom"
)

// Metrics serves the metrics of the run in progress to Prometheus, at /metrics.
type Metrics struct {
	addr  string
	srv   *http.Server
	done  sync.WaitGroup
	tally *telemetry.Reader
	run   []prom.Label
	// secrets are removed from the labels: the form of a page in protobuf does not allow it later.
	secrets *secret.Set

	mu    sync.Mutex
	model string
	level *result.Level
}

// ListenMetrics starts serving the counts of tally and the level that Show gives, with the labels of the run. Close must be called.
func ListenMetrics(ctx context.Context, address string, secrets *secret.Set, tally *telemetry.Tally, run ...prom.Label) (*Metrics, error) {
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("serve the metrics: %w", err)
	}
	m := &Metrics{addr: l.Addr().String(), tally: tally.NewReader(), run: run, secrets: secrets}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /metrics", func(w http.ResponseWriter, r *http.Request) { prom.Serve(w, r, m.families()) })
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

// families are the level in progress, and what counts of the whole run.
func (m *Metrics) families() []*dto.MetricFamily {
	m.mu.Lock()
	model, lv := m.model, m.level
	m.mu.Unlock()
	run := append(slices.Clone(m.run), prom.Label{Name: "model", Value: model})
	for i := range run {
		run[i].Value = m.secrets.Redact(run[i].Value)
	}
	list := prom.Families(m.tally, run...)
	if lv == nil {
		return list
	}
	labels := append(slices.Clone(run), prom.Label{Name: "level", Value: measure.LevelName(lv)})
	for _, g := range []struct {
		name, help string
		value      float64
	}{
		{"requests", "Requests of the level that ended well.", float64(lv.Client.Requests)},
		{"failed", "Requests of the level that failed.", float64(lv.Client.Failed)},
		{"throughput", "Inferences per second in the window in progress.", lv.Client.InferPerSec},
	} {
		list = append(list, prom.Gauge("redline_"+g.name, g.help, g.value, labels...))
	}
	var quantiles *dto.MetricFamily
	for _, p := range lv.Client.Latency.Quantiles {
		q := strconv.FormatFloat(math.Round(p.P*1e4)/1e6, 'g', -1, 64)
		f := prom.Gauge("redline_latency_seconds", "Latency from the start of the level until now.", p.V/1e9, append(labels, prom.Label{Name: "quantile", Value: q})...)
		if quantiles == nil {
			quantiles = f
			list = append(list, f)
		} else {
			quantiles.Metric = append(quantiles.Metric, f.Metric...)
		}
	}
	return list
}
