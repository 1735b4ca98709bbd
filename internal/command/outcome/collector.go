package outcome

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"github.com/redline-bench/redline/internal/cleantext"
	"github.com/redline-bench/redline/internal/command"
	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/secret"
	"github.com/redline-bench/redline/internal/telemetry/otlp"
)

// Collector is the OpenTelemetry collector of --otlp, --otlp-header and --otlp-ca; see plan.CollectorRows.
type Collector struct {
	Endpoint string // empty without --otlp
	Headers  []plan.Header
	CA       string
}

// What is sent to a collector, as the OTEL_ variables name it that hold for one of them.
const (
	Metrics = "METRICS"
	Traces  = "TRACES"
)

// Check finds wrong values of the options for what is sent.
func (c Collector) Check(p *command.IO, signals ...string) error {
	if c.Endpoint == "" {
		if len(c.Headers) > 0 || c.CA != "" {
			return command.Usage(errors.New("--otlp-header and --otlp-ca need --otlp"))
		}
		return nil
	}
	for _, signal := range signals {
		if err := otlp.Check(&otlp.Config{Endpoint: c.Endpoint, Protocol: protocol(p, signal), CA: c.CA}); err != nil {
			return command.Usage(fmt.Errorf("--otlp %w", err))
		}
	}
	return nil
}

// Prepare is called before anything is sent: no message shows a secret of the OTEL_ variables, and warnings of the SDK go to stderr.
func (c Collector) Prepare(p *command.IO) {
	hideVariables(p)
	otlp.Report(func(text string) { fmt.Fprintf(p.Stderr, "warning: OpenTelemetry: %s\n", cleantext.Line(text)) })
}

// Config is how a run sends a signal to the collector.
func (c Collector) Config(p *command.IO, signal string, run otlp.Run) otlp.Config {
	cfg := otlp.Config{Endpoint: c.Endpoint, Protocol: protocol(p, signal), Headers: map[string]string{}, CA: c.CA, Run: run}
	for _, h := range c.Headers {
		cfg.Headers[h.Name] = h.Value
	}
	return cfg
}

func protocol(p *command.IO, signal string) string {
	return cmp.Or(p.Getenv("OTEL_EXPORTER_OTLP_"+signal+"_PROTOCOL"), p.Getenv("OTEL_EXPORTER_OTLP_PROTOCOL"))
}

// hideVariables makes the secrets of the OTEL_ variables known, so that no message shows them.
func hideVariables(p *command.IO) {
	for _, name := range []string{"OTEL_EXPORTER_OTLP_", "OTEL_EXPORTER_OTLP_METRICS_", "OTEL_EXPORTER_OTLP_TRACES_"} {
		p.Secrets.Collect(secret.URL, p.Getenv(name+"ENDPOINT"))
		for pair := range strings.SplitSeq(p.Getenv(name+"HEADERS"), ",") {
			header, value, ok := strings.Cut(pair, "=")
			switch {
			case ok:
				p.Secrets.Collect(secret.Header, strings.TrimSpace(header)+": "+strings.TrimSpace(value))
			case strings.TrimSpace(pair) != "": // a header without its name
				p.Secrets.Add(strings.TrimSpace(pair))
			}
		}
	}
}
