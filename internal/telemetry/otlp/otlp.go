// Package otlp sends the numbers of a run to an OpenTelemetry collector while the run goes on, with the official SDK.
//
// The SDK's periodic reader asks for the points of a tally once per interval and exports them in its own goroutine. At most one
// export is under way and nothing is queued, so a slow or dead collector costs the load nothing and memory does not grow. Failed
// exports are counted. The variables OTEL_* are read by the SDK.
package otlp

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetricgrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetrichttp"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/resource"
	"google.golang.org/grpc/credentials"

	"github.com/redline-bench/redline/internal/result"
	"github.com/redline-bench/redline/internal/secret"
	"github.com/redline-bench/redline/internal/telemetry"
)

// Interval is the time between two exports, unless OTEL_METRIC_EXPORT_INTERVAL gives another one.
const Interval = time.Second

// lastExport limits the last export of a run.
const lastExport = 3 * time.Second

// Config says where points go.
type Config struct {
	Endpoint string // see parse
	Protocol string // OTEL_EXPORTER_OTLP_PROTOCOL
	Headers  map[string]string
	// CA is a PEM file of the authorities that the collector's certificate is checked against; empty: those of the system.
	CA string
	// Interval is 0 if OTEL_METRIC_EXPORT_INTERVAL decides.
	Interval time.Duration
	// Patience limits the last export of the run, which the user waits for; 0 means three seconds.
	Patience time.Duration
	Run      Run
}

// Run identifies the run in everything that is sent. What is empty is left out.
type Run struct {
	Service                            string // redline, or the reference server
	ID, Command, Label, Model, Version string
}

// Exporter sends the points of one run.
type Exporter struct {
	address  string
	patience time.Duration
	provider *metric.MeterProvider
	sends    *sends
}

// collector is where a configuration sends to.
type collector struct {
	target
	secure  *tls.Config // nil: the exporter's own settings hold
	headers map[string]string
}

// Check reports what is wrong with the endpoint or the certificates.
func Check(cfg *Config) error {
	_, err := cfg.collector()
	return err
}

func (c *Config) collector() (collector, error) {
	to, err := parse(c.Endpoint, c.Protocol)
	if err != nil || c.CA == "" {
		return collector{to, nil, c.Headers}, err
	}
	if to.insecure {
		return collector{}, errors.New("names an address without TLS, and --otlp-ca needs TLS: use grpcs:// or https://")
	}
	secure, err := clientTLS(c.CA)
	return collector{to, secure, c.Headers}, err
}

// Open starts to send. It connects in the background: a collector that is not there is found out later and reported by Close.
func Open(ctx context.Context, cfg Config, tally *telemetry.Tally) (*Exporter, error) {
	to, err := cfg.collector()
	if err != nil {
		return nil, err
	}
	inner, err := newExporter(ctx, to)
	if err != nil {
		return nil, fmt.Errorf("send to %s: %w", cfg.address(), err)
	}
	res, err := cfg.Run.resource(ctx)
	if err != nil {
		return nil, err
	}
	e := &Exporter{address: cfg.address(), patience: cfg.patience(), sends: &sends{Exporter: inner}}
	options := []metric.PeriodicReaderOption{metric.WithProducer(producer{tally.NewReader()})}
	if cfg.Interval > 0 {
		options = append(options, metric.WithInterval(cfg.Interval))
	}
	e.provider = metric.NewMeterProvider(metric.WithResource(res), metric.WithReader(metric.NewPeriodicReader(e.sends, options...)))
	return e, nil
}

// address names the collector without secrets.
func (c *Config) address() string {
	if c.Endpoint == Env {
		return "the collector of the OTEL_ variables"
	}
	return secret.PublicURL(c.Endpoint)
}

func (c *Config) patience() time.Duration { return cmp.Or(c.Patience, lastExport) }

// resource is the run in everything that is sent, with the attributes of OTEL_RESOURCE_ATTRIBUTES.
func (r Run) resource(ctx context.Context) (*resource.Resource, error) {
	res, err := resource.New(ctx, resource.WithFromEnv(), resource.WithTelemetrySDK(), resource.WithAttributes(r.attributes()...))
	if err != nil && !errors.Is(err, resource.ErrPartialResource) {
		return nil, err
	}
	return res, nil
}

func (r Run) attributes() []attribute.KeyValue {
	var list []attribute.KeyValue
	for name, v := range map[string]string{
		"service.name": r.Service, "service.version": r.Version, "redline.run.id": r.ID, "redline.command": r.Command, "redline.label": r.Label, "redline.model": r.Model,
	} {
		if v != "" {
			list = append(list, attribute.String(name, v))
		}
	}
	return list
}

// clientTLS reads the authorities of a file.
func clientTLS(file string) (*tls.Config, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("cannot read the certificates of --otlp-ca: %w", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("cannot use --otlp-ca: %s has no certificate in PEM form", file)
	}
	return &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}, nil
}

func newExporter(ctx context.Context, to collector) (metric.Exporter, error) {
	if to.grpc {
		secure := func(c *tls.Config) otlpmetricgrpc.Option {
			return otlpmetricgrpc.WithTLSCredentials(credentials.NewTLS(c))
		}
		return otlpmetricgrpc.New(ctx, options(to, "", otlpmetricgrpc.WithRetry(retries),
			otlpmetricgrpc.WithEndpointURL, secure, otlpmetricgrpc.WithHeaders)...)
	}
	return otlpmetrichttp.New(ctx, options(to, "/v1/metrics", otlpmetrichttp.WithRetry(otlpmetrichttp.RetryConfig(retries)),
		otlpmetrichttp.WithEndpointURL, otlpmetrichttp.WithTLSClientConfig, otlpmetrichttp.WithHeaders)...)
}

// retries are those of one export. The SDK has a type of its own for each of its four clients.
var retries = otlpmetricgrpc.RetryConfig{Enabled: true, InitialInterval: 200 * time.Millisecond, MaxInterval: time.Second, MaxElapsedTime: 3 * time.Second}

// options are those of one of the SDK's clients. What the configuration does not say, the OTEL_ variables decide.
func options[O any](to collector, path string, retry O, at func(string) O, secure func(*tls.Config) O, headers func(map[string]string) O) []O {
	list := []O{retry}
	if to.address != "" {
		list = append(list, at(to.url(path)))
	}
	if to.secure != nil {
		list = append(list, secure(to.secure))
	}
	if len(to.headers) > 0 {
		list = append(list, headers(to.headers))
	}
	return list
}

// Close sends the last points, waits a short time for the collector, and reports what arrived.
func (e *Exporter) Close(ctx context.Context) result.Sent {
	ctx, cancel := context.WithTimeout(ctx, e.patience)
	defer cancel()
	err := e.provider.Shutdown(ctx)
	return e.sends.report(result.Sent{To: "OTLP metrics", Address: e.address}, err)
}

// report adds what is known of the exports. last is the error of the end.
func (s *sends) report(out result.Sent, last error) result.Sent {
	s.mu.Lock()
	defer s.mu.Unlock()
	out.Sends, out.Failed, out.Complete = s.n, s.failed, s.lastOK && last == nil
	if err := cmp.Or(s.first, last); err != nil {
		out.Error = err.Error()
	}
	return out
}
