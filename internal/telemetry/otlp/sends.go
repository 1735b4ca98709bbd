package otlp

import (
	"context"
	"errors"
	"sync"

	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
)

// sends counts the exports of an exporter. It hides their errors from the SDK, which would print them.
type sends struct {
	metric.Exporter

	mu        sync.Mutex
	n, failed int
	first     error // of the failed
	lastOK    bool
}

// Export implements metric.Exporter.
func (s *sends) Export(ctx context.Context, m *metricdata.ResourceMetrics) error {
	err := s.Exporter.Export(ctx, m)
	if err != nil && errors.Is(ctx.Err(), context.Canceled) {
		return nil // the end of the run canceled it, and sends the totals again
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.n++
	s.lastOK = err == nil
	if err != nil {
		s.failed++
		if s.first == nil {
			s.first = err
		}
	}
	return nil
}
