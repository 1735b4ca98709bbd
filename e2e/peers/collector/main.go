// Command collector is an OpenTelemetry Collector for the tests: it receives OTLP and writes what it got as lines of JSON.
package main

import (
	"context"
	"log"
	"os"
	"sync"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/confmap/provider/yamlprovider"
	"go.opentelemetry.io/collector/exporter"
	"go.opentelemetry.io/collector/exporter/exporterhelper"
	"go.opentelemetry.io/collector/otelcol"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/receiver"
	"go.opentelemetry.io/collector/receiver/otlpreceiver"
	"go.opentelemetry.io/collector/service/telemetry/otelconftelemetry"
)

func main() {
	settings := otelcol.CollectorSettings{
		BuildInfo: component.BuildInfo{Command: "collector", Version: "test"},
		Factories: func() (otelcol.Factories, error) {
			receivers, err := otelcol.MakeFactoryMap[receiver.Factory](otlpreceiver.NewFactory())
			if err != nil {
				return otelcol.Factories{}, err
			}
			exporters, err := otelcol.MakeFactoryMap[exporter.Factory](lines())
			return otelcol.Factories{Receivers: receivers, Exporters: exporters, Telemetry: otelconftelemetry.NewFactory()}, err
		},
		ConfigProviderSettings: otelcol.ConfigProviderSettings{ResolverSettings: confmap.ResolverSettings{
			URIs: os.Args[1:], ProviderFactories: []confmap.ProviderFactory{yamlprovider.NewFactory()}, DefaultScheme: "yaml",
		}},
	}
	c, err := otelcol.NewCollector(settings)
	if err != nil {
		log.Fatal(err)
	}
	if err := c.Run(context.Background()); err != nil {
		log.Fatal(err)
	}
}

// config is the file of the exporter.
type config struct {
	Path string `mapstructure:"path"`
}

// lines is an exporter that appends every batch to a file as one line of OTLP JSON.
func lines() exporter.Factory {
	typ := component.MustNewType("lines")
	return exporter.NewFactory(typ, func() component.Config { return &config{} },
		exporter.WithMetrics(func(ctx context.Context, set exporter.Settings, cfg component.Config) (exporter.Metrics, error) {
			w := &writer{path: cfg.(*config).Path}
			return exporterhelper.NewMetrics(ctx, set, cfg, func(_ context.Context, m pmetric.Metrics) error {
				return w.write((&pmetric.JSONMarshaler{}).MarshalMetrics(m))
			})
		}, component.StabilityLevelDevelopment),
		exporter.WithTraces(func(ctx context.Context, set exporter.Settings, cfg component.Config) (exporter.Traces, error) {
			w := &writer{path: cfg.(*config).Path}
			return exporterhelper.NewTraces(ctx, set, cfg, func(_ context.Context, t ptrace.Traces) error {
				return w.write((&ptrace.JSONMarshaler{}).MarshalTraces(t))
			})
		}, component.StabilityLevelDevelopment))
}

// writer appends lines to a file.
type writer struct {
	mu   sync.Mutex
	path string
}

func (w *writer) write(line []byte, err error) error {
	if err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	f, err := os.OpenFile(w.path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = f.Write(append(line, '\n'))
	return err
}
