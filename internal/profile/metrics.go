package profile

import (
	"context"
	"fmt"

	"github.com/redline-bench/redline/internal/scrape"
)

// MetricsError means that the server's metrics, which the plan asks for, cannot be had.
type MetricsError struct{ Err error }

func (e *MetricsError) Error() string { return e.Err.Error() }
func (e *MetricsError) Unwrap() error { return e.Err }

// startMetrics begins to poll the server's metrics endpoint where the plan asks for it.
func (m *levelRun) startMetrics(ctx context.Context) error {
	conf := &m.Plan.Target.Metrics
	if !conf.Collect || m.poller != nil && m.polling {
		return nil
	}
	if m.poller == nil {
		m.poller = scrape.New(scrape.Config{
			URL: conf.URL, Interval: conf.Interval, Keep: scrape.IsGPUMetric, Expect: scrape.GPUMetrics(),
		})
	}
	if err := m.poller.Start(ctx); err != nil {
		return &MetricsError{err}
	}
	m.polling = true
	return nil
}

// takeMetrics hands the pages of a window to its pass and passes on what the poller has to remark.
func (m *levelRun) takeMetrics(p *pass) {
	if !m.polling {
		return
	}
	p.metrics = m.poller.Take()
	for _, name := range p.metrics.Missing {
		m.Observer.Warn(Warning{Kind: MetricMissing, Text: name})
	}
	if s := p.metrics.Slow; s != nil {
		m.Observer.Warn(Warning{Kind: MetricsSlow, Took: s.Took, Interval: s.Interval})
	}
	if err := p.metrics.Err; err != nil {
		m.Observer.Warn(Warning{Kind: MetricsFailed, Text: fmt.Sprintf("%d polls of the metrics failed: %v", p.metrics.Failed, err)})
	}
}

// stopMetrics ends the polling of a level and merges what the used windows saw.
func (m *levelRun) stopMetrics() {
	if !m.polling {
		return
	}
	m.poller.Stop()
	m.polling = false
	var windows []scrape.Window
	for _, p := range m.used() {
		windows = append(windows, p.metrics)
	}
	m.lv.GPU = scrape.GPU(windows...)
}
