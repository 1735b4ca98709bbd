package main

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"

	"github.com/redline-bench/redline/e2e/binary"
)

// telemetryBar is how many times the CPU of a plain run a run with all telemetry may cost per request.
const telemetryBar = 1.05

// telemetryRows compares a run that reads the server's metrics, sends metrics and spans to a collector, serves them to Prometheus and sends
// them by remote write with the same run without all that. Both run at the same time on one core: what disturbs one disturbs the other, which
// shows differences of less than a percent. Programs that run in turns differ by more than the bar allows.
func telemetryRows(ctx context.Context, e *env) error {
	srv, err := e.null()
	if err != nil {
		return err
	}
	defer srv.Stop()
	sink := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { _, _ = io.Copy(io.Discard, r.Body) })) // it takes everything
	defer sink.Close()
	all := []string{
		"--server-metrics", srv.Metrics, "--otlp", sink.URL, "--trace-requests", "1%", "--prometheus-remote-write", sink.URL + "/api/v1/write", "--metrics-listen", "127.0.0.1:0",
	}
	for _, w := range []work{
		{name: "HTTP infer with all telemetry", protocol: "http", elements: small, inFlight: 64, requests: 1_000_000},
		{name: "gRPC unary infer with all telemetry", protocol: "grpc", elements: small, inFlight: 64, requests: 1_000_000},
	} {
		w.requests = e.requests(w.requests)
		cost := func(more ...string) (float64, error) {
			t := tool{name: "redline", answered: requestCount, argv: func(w work, s *binary.Server, _ payload) []string {
				return append(append([]string{e.bin, "profile"}, profileArgs(w, s)...), more...)
			}}
			s, err := t.run(ctx, w, srv, payload{})
			return s.micros(), err
		}
		b := atMost(telemetryBar, "× without")
		with, without, err := turns(b, func() (with, without float64, err error) {
			var plain error
			var wait sync.WaitGroup
			wait.Go(func() { without, plain = cost() })
			with, err = cost(all...)
			wait.Wait()
			return with, without, errors.Join(err, plain)
		})
		if err != nil {
			return err
		}
		line := row{Work: w.name, InFlight: w.inFlight, Tool: "redline", Unit: "µs CPU"}
		line.compare(b, with, without)
		e.report.add(line, row{Work: w.name, InFlight: w.inFlight, Tool: "redline without telemetry", Figure: median(without), Unit: "µs CPU"})
	}
	return nil
}
