package plan

import (
	"fmt"
	"slices"
	"strings"

	"github.com/redline-bench/redline/internal/option"
	"github.com/redline-bench/redline/internal/secret"
)

// Outcome is what becomes of a result besides the console: pages, records, history, and the gate. Every command that
// measures has these options.
type Outcome struct {
	Report        string   `json:"report,omitempty"`         // HTML page
	Dash          bool     `json:"dash,omitempty"`           // live page
	DashListen    string   `json:"dash_listen,omitempty"`    // its address
	Records       string   `json:"records,omitempty"`        // every request, .parquet or .csv
	HistogramLog  string   `json:"histogram_log,omitempty"`  // HdrHistogram log
	MetricsListen string   `json:"metrics_listen,omitempty"` // Prometheus endpoint during the run
	ServerMetrics []string `json:"server_metrics,omitempty"` // Prometheus endpoints of the server and its GPUs
	// OwnMetrics: the page on which the server itself reports its metrics is one of them.
	OwnMetrics    bool     `json:"own_metrics,omitempty"`
	RemoteWrite   string   `json:"remote_write,omitempty"`      // Prometheus server that gets the run's metrics
	Histograms    string   `json:"remote_histograms,omitempty"` // forms of histograms there: classic, native or both; empty is classic
	OTLP          string   `json:"otlp,omitempty"`              // OpenTelemetry collector that gets the run's metrics
	OTLPHeaders   []Header `json:"otlp_headers,omitempty"`
	OTLPCA        string   `json:"otlp_ca,omitempty"`        // file of certificate authorities
	TraceRequests float64  `json:"trace_requests,omitempty"` // share of the requests that are traced
	Asserts       []string `json:"asserts,omitempty"`
	Baseline      string   `json:"baseline,omitempty"`
	// MaxRegression is the share by which a run may be worse than the baseline: 0.05 for five per cent.
	MaxRegression float64 `json:"max_regression,omitempty"`
	JUnit         string  `json:"junit,omitempty"`
	Summary       string  `json:"summary,omitempty"` // Markdown
	NoHistory     bool    `json:"no_history,omitempty"`
	Label         string  `json:"label,omitempty"` // the run's name in the history
	Quiet         bool    `json:"quiet,omitempty"`
	Progress      string  `json:"progress,omitempty"` // auto, tui, json or none
}

// Threshold is the change that comparisons look for: a run may be so much worse than its baseline, and a comparison that could miss such a
// change cannot tell.
const Threshold = 0.05

// DefaultOutcome is what holds when no option is given.
func DefaultOutcome() Outcome {
	return Outcome{DashListen: "127.0.0.1:0", MaxRegression: Threshold, Progress: "auto"}
}

// Again is the outcome of a run that repeats this one: the same rules, label and metrics of the server. Files are not written again, and
// pages and the terminal are as usual.
func (o *Outcome) Again() Outcome {
	c := DefaultOutcome()
	c.ServerMetrics, c.OwnMetrics, c.Asserts = slices.Clone(o.ServerMetrics), o.OwnMetrics, slices.Clone(o.Asserts)
	c.Baseline, c.MaxRegression, c.Label = o.Baseline, o.MaxRegression, o.Label
	return c
}

// Renew lets the addresses of --server-metrics of a command line replace those of the first run, which may lack their secrets.
func (o *Outcome) Renew(t *option.Table, first *Outcome) {
	if t.Given("server-metrics") {
		o.ServerMetrics = o.ServerMetrics[len(first.ServerMetrics):]
	}
}

// Rows are the options that set o.
func (o *Outcome) Rows() []option.Row {
	return option.Group("Reports, history and rules", slices.Concat([]option.Row{
		{Long: "report", Arg: "FILE", Writes: true, Help: "write the result as one HTML page that opens offline: verdict, curves, tables, plan", To: option.Text(&o.Report)},
		{Long: "records", Arg: "FILE", Writes: true, Help: "write every request, as Parquet (.parquet) or CSV (.csv)", To: option.Parsed(&o.Records, recordsFile)},
		{Long: "histogram-log", Arg: "FILE", Writes: true, Help: "write the latencies as an HdrHistogram log (.hlog), one interval per window", To: option.Text(&o.HistogramLog)},
		{Long: "dash", Help: "show the run on a live page in a browser on this machine; the address is printed", To: option.Switch(&o.Dash)},
		{Long: "dash-listen", Arg: "ADDRESS", Help: "address to listen on for the live page; port 0 picks a free port. Other machines need the token in the printed address", To: option.Text(&o.DashListen)},
		{Long: "metrics-listen", Arg: "ADDRESS", Help: "address to listen on for Prometheus metrics of the run, at /metrics, with native histograms", To: option.Text(&o.MetricsListen)},
		{
			Long: "prometheus-remote-write", Arg: "URL", Secret: secret.URL,
			Help: "send the run's metrics to this Prometheus server once a second and at the end, for runs that are too short to be scraped: http://HOST:9090/api/v1/write",
			To:   option.Text(&o.RemoteWrite),
		},
		{
			Long: "prometheus-histograms", Arg: "FORM", Default: "classic",
			Help: "form of the histograms of --prometheus-remote-write: classic, native (Prometheus stores them only with --enable-feature=native-histograms) or both",
			To:   option.OneOf(&o.Histograms, "classic", "native", "both"),
		},
		{
			Long: "server-metrics", Also: "server-metrics-url server-metrics-urls", Arg: "[URL]", Optional: true, Repeat: true, Secret: secret.URL,
			Help: "read Prometheus metrics from this URL during the run, without a URL from the usual address of the server's own metrics, and report them on the time axis of the latency: queue, batch size, caches, GPU use, power. " +
				"Known are Triton, vLLM, SGLang, TGI, TensorRT-LLM and NVIDIA's DCGM exporter; see docs/telemetry.md",
			To: option.Func(func(v string) error {
				o.OwnMetrics = o.OwnMetrics || v == ""
				o.ServerMetrics = append(o.ServerMetrics, strings.FieldsFunc(v, func(r rune) bool { return r == ',' || r == ' ' })...)
				return nil
			}),
		},
	}, CollectorRows("the run's metrics to this OpenTelemetry collector once a second while the run goes on", &o.OTLP, &o.OTLPHeaders, &o.OTLPCA), []option.Row{
		{
			Long: "trace-requests", Arg: "PCT", Unit: "%", Default: "0",
			Help: "give this share of the requests a W3C traceparent and send their spans to the collector of --otlp, so that the server's own spans appear below them",
			To:   option.Percent(&o.TraceRequests, 100),
		},
		{Long: "assert", Arg: "RULE", Repeat: true, Help: "fail the run (exit code 4) unless the rule holds at every level: 'p99<50ms', 'throughput>900', 'error_rate<0.1%'; with find and tune: 'capacity>900'", To: option.Append(&o.Asserts).In("ms")},
		{Long: "baseline", Arg: "RUN", Help: "compare with an earlier run (an id of redline history, a result file or a folder) and fail (exit code 4) if this run is worse", To: option.Text(&o.Baseline)},
		{Long: "max-regression", Arg: "PCT", Help: "allowed change for the worse from the baseline. A number fails if its whole confidence interval is beyond it", To: option.Percent(&o.MaxRegression, 1e6)},
		{Long: "junit", Arg: "FILE", Writes: true, Help: "write the assertions as JUnit XML, for CI", To: option.Text(&o.JUnit)},
		{Long: "summary", Arg: "FILE", Writes: true, Help: "append a Markdown summary to the file, for CI pages", To: option.Text(&o.Summary)},
		{Long: "label", Arg: "TEXT", Help: "name the run in the history", To: option.Text(&o.Label)},
		{Long: "no-history", Help: "do not keep the run in the history", To: option.Switch(&o.NoHistory)},
		{Long: "quiet", Help: "print only errors and failed assertions", To: option.Switch(&o.Quiet)},
		{Long: "progress", Arg: "HOW", Help: "progress on stderr: auto (a line on a terminal), tui (a view with a row per level), json (one object per line, for programs) or none", To: option.OneOf(&o.Progress, "auto", "tui", "json", "none")},
		{Long: "tui", Help: "show progress as a view on the terminal: every level with the course of its throughput and latency, like --progress tui", To: option.Func(func(string) error { o.Progress = "tui"; return nil })},
	}))
}

// CollectorRows are the options about an OpenTelemetry collector. what says what is sent to it, and when.
func CollectorRows(what string, endpoint *string, headers *[]Header, ca *string) []option.Row {
	return []option.Row{
		{
			Long: "otlp", Arg: "ENDPOINT", Secret: secret.URL,
			Help: "send " + what + ": grpc://HOST:4317, grpcs://, http://HOST:4318, https://, or env for the OTEL_ variables; see docs/telemetry.md",
			To:   option.Text(endpoint),
		},
		{Long: "otlp-header", Arg: "NAME:VALUE", Repeat: true, Secret: secret.Header, Help: "header of every message to the collector of --otlp, such as its API key", To: AppendHeader(headers)},
		{Long: "otlp-ca", Arg: "FILE", Help: "PEM file of certificate authorities for the collector of --otlp (those of the system)", To: option.Text(ca)},
	}
}

func recordsFile(v string) (string, error) {
	if !strings.HasSuffix(v, ".parquet") && !strings.HasSuffix(v, ".csv") {
		return "", fmt.Errorf("ends in .parquet or .csv, which says how it is written, not as %q does", v)
	}
	return v, nil
}

// HTTPVersion stores the value of --http-version; auto is stored as an empty text.
func HTTPVersion(to *string) option.Value {
	text := "auto"
	return option.OneOf(&text, "auto", "1.1", "2").Then(func(string) error {
		*to = strings.TrimPrefix(text, "auto")
		return nil
	})
}

// AppendHeader adds a header that is given as NAME:VALUE; spaces around both are removed.
func AppendHeader(to *[]Header) option.Value {
	return option.Func(func(v string) error {
		name, value, ok := strings.Cut(v, ":")
		name, value = strings.TrimSpace(name), strings.TrimSpace(value)
		if !ok || name == "" {
			return fmt.Errorf("is NAME:VALUE, not %q", v)
		}
		*to = append(*to, Header{Name: name, Value: value})
		return nil
	})
}
