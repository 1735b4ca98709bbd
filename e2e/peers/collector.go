package peers

import (
	"context"
	"path/filepath"
)

// InstallCollector returns the path of an OpenTelemetry Collector that receives OTLP and writes what it got as lines of JSON. It is
// built from the official modules; see e2e/peers/collector.
func InstallCollector(ctx context.Context) (string, error) {
	dir, err := Fill(ctx, "otel-collector-0.156.0", "collector", "e2e/peers/collector.sh")
	return filepath.Join(dir, "collector"), err
}
