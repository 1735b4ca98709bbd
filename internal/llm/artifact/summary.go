package artifact

import (
	"bytes"
	"cmp"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/redline-bench/redline/internal/llm/metric"
	"github.com/redline-bench/redline/internal/result"
	"github.com/redline-bench/redline/internal/tensor"
)

// schema is the version of AIPerf's summary that is written, and likeAIPerf the AIPerf that has it.
const (
	schema     = "1.4"
	likeAIPerf = "0.13.0"
)

// wasCanceled is a key in AIPerf's spelling.
const wasCanceled = "was_cancel" + "led"

// object is a JSON object whose fields keep their order. Fields without a value are left out.
type object []field

type field struct {
	key   string
	value any
}

// MarshalJSON writes the fields in order.
func (o object) MarshalJSON() ([]byte, error) {
	b := []byte{'{'}
	for _, f := range o {
		if f.value == nil {
			continue
		}
		if len(b) > 1 {
			b = append(b, ',')
		}
		b = tensor.AppendQuoted(b, f.key)
		b = append(b, ':')
		value, err := encode(f.value)
		if err != nil {
			return nil, err
		}
		b = append(b, value...)
	}
	return append(b, '}'), nil
}

// given is the value of a field that is left out if the value is zero.
func given[T comparable](v T) any {
	var zero T
	if v == zero {
		return nil
	}
	return v
}

func encode(v any) ([]byte, error) { return indented(v, "", "") }

// indented encodes a value; each line below the first begins with the prefix and the indents of its depth.
func indented(v any, prefix, indent string) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent(prefix, indent)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimRight(b.Bytes(), "\n"), nil
}

// number is a value of a metric: null if it is none.
type number float64

// MarshalJSON writes the shortest text that reads the same.
func (n number) MarshalJSON() ([]byte, error) { return appendNumber(nil, float64(n)), nil }

// percentiles are those of AIPerf's files.
var percentiles = []float64{1, 5, 10, 25, 50, 75, 90, 95, 99}

// stats are a metric's numbers. Count and sum are AIPerf's alone.
func stats(m *result.Metric, counts bool) object {
	o := object{{"unit", m.Unit}, {"avg", number(m.Avg)}}
	if !m.Distributed() {
		return o
	}
	for _, p := range percentiles {
		if v, ok := m.Find(p); ok {
			o = append(o, field{"p" + strconv.Itoa(int(p)), number(v)})
		}
	}
	o = append(o, field{"min", number(m.Min)}, field{"max", number(m.Max)}, field{"std", number(m.Std)})
	if counts {
		o = append(o, field{"count", m.Count}, field{"sum", number(m.Sum)})
	}
	return o
}

func metrics(list []result.Metric, counts bool) object {
	var o object
	for i := range list {
		o = append(o, field{list[i].Tag, stats(&list[i], counts)})
	}
	return o
}

// summaryFile is profile_export_aiperf.json.
type summaryFile struct {
	*out
	cfg *Config
}

func newSummary(cfg *Config) (sink, error) {
	o, err := create(cfg, cfg.named("profile_export_aiperf.json", ".json"))
	return &summaryFile{o, cfg}, err
}

func (f *summaryFile) close(o *Outcome) error {
	c := f.cfg
	doc := object{{"schema_version", schema}, {"aiperf_version", likeAIPerf}, {"benchmark_id", c.Run}}
	doc = append(doc, metrics(o.Metrics, true)...)
	doc = append(doc,
		field{"telemetry_data", o.Telemetry},
		field{"input_config", inputConfig(c, o)},
		field{"run_info", object{
			{"benchmark_id", c.Run},
			{"random_seed", c.Seed},
			{"trial", 0},
			{"run_label", c.label()},
			{"variation_label", "base"},
			{"variation_index", 0},
			{"variation_values", object{}},
			{"cli_command", c.Command},
		}},
		field{wasCanceled, o.Canceled}, field{"is_complete", o.Reason == "" && !o.Canceled}, field{"incomplete_reason", given(o.Reason)},
		field{"error_summary", failures(o.Errors)},
	)
	if o.Begin > 0 {
		doc = append(doc, field{"start_time", iso(o.Begin)}, field{"end_time", iso(o.End)})
	}
	doc = append(doc, field{"redline", object{{"version", c.Version}, {"endpoint_type", c.EndpointType}, {"asked", c.Asked}, {"workload", c.Workload}}})
	return writeDocument(f.out, doc)
}

// label names the level.
func (c *Config) label() string {
	switch {
	case c.Concurrency > 0 && c.Rate > 0:
		return fmt.Sprintf("concurrency_%d_request_rate_%g", c.Concurrency, c.Rate)
	case c.Concurrency > 0:
		return fmt.Sprintf("concurrency_%d", c.Concurrency)
	case c.Rate > 0:
		return fmt.Sprintf("request_rate_%g", c.Rate)
	}
	return "fixed_schedule"
}

func writeDocument(o *out, doc any) error {
	text, err := indented(doc, "", "  ")
	if err != nil {
		o.abort()
		return fmt.Errorf("encode %s: %w", o.f.Path(), err)
	}
	return o.finish(append(text, '\n'))
}

// inputConfig is the run as AIPerf's configuration describes one, so that its readers find the model, the endpoint
// and the level where they look for them.
func inputConfig(c *Config, o *Outcome) object {
	endpoint := object{{"urls", strings.Split(c.URL, ",")}, {"type", c.aiperfType()}, {"streaming", c.Streaming}}
	if c.Path != "" {
		endpoint = append(endpoint, field{"path", "/" + strings.TrimPrefix(c.Path, "/")})
	}
	data := object{{"name", "main"}, {"type", "synthetic"}}
	if c.Dataset != "" {
		data = object{{"name", "main"}, {"type", "file"}, {"path", c.Dataset}}
		if slices.Contains(aiperfFormats, c.Format) {
			data = append(data, field{"format", c.Format})
		}
	}
	doc := object{
		{"models", object{{"items", []object{{{"name", c.Model}}}}}},
		{"endpoint", endpoint},
		{"datasets", []object{data}},
		{"phases", []object{phase(c, o)}},
		{"artifacts", object{{"dir", c.Dir}, {"slice_duration", given(number(max(0, c.Slice.Seconds())))}}},
	}
	if c.Tokenizer != "" {
		doc = append(doc, field{"tokenizer", object{{"name", c.Tokenizer}, {"apply_chat_template", given(c.ChatTemplate)}}})
	}
	return doc
}

// phase is the load. AIPerf's must say when it ends; one without a bound of its own ended with its last request.
func phase(c *Config, o *Outcome) object {
	load := "fixed_schedule"
	switch {
	case c.Rate > 0:
		load = cmp.Or(c.Arrival, "poisson")
	case c.Concurrency > 0:
		load = "concurrency"
	}
	n := c.Requests
	if n == 0 && c.Duration == 0 {
		m, _ := metric.Find(o.Metrics, "completed_request_count")
		n = max(int(m.Avg), 1)
	}
	return object{
		{"name", "profiling"},
		{"type", load},
		{"rate", given(number(c.Rate))},
		{"concurrency", given(c.Concurrency)},
		{"requests", given(n)},
		{"duration", given(number(c.Duration.Seconds()))},
	}
}

// aiperfFormats are the forms of files that AIPerf knows too.
var aiperfFormats = []string{"single_turn", "multi_turn", "random_pool", "mooncake_trace", "raw_payload", "inputs_json"}

// aiperfTypes are the endpoints that AIPerf knows.
var aiperfTypes = []string{
	"chat", "completions", "embeddings", "responses", "messages", "cohere_rankings", "hf_tei_rankings", "nim_rankings",
	"huggingface_generate", "template", "raw",
}

// aiperfType is the endpoint's name for AIPerf, whose readers refuse a name that they do not know. The true one
// stands in the field redline.
func (c *Config) aiperfType() string {
	if slices.Contains(aiperfTypes, c.EndpointType) {
		return c.EndpointType
	}
	return "raw"
}

// failures are the errors of a run as AIPerf groups them.
func failures(list []Failure) []object {
	out := []object{}
	for _, f := range list {
		details := object{{"code", given(f.Code)}, {"type", f.Type}, {"message", f.Message}}
		out = append(out, object{{"error_details", details}, {"count", f.Count}})
	}
	return out
}

// tableFile is a CSV of metrics: AIPerf's or GenAI-Perf's.
type tableFile struct {
	*out
	stats []string
	// pick tells which metrics are written and under which name; nil: all, under their own, sorted by tag.
	pick []genaiMetric
}

func newTable(cfg *Config) (sink, error) {
	o, err := create(cfg, cfg.named("profile_export_aiperf.csv", ".csv"))
	return &tableFile{out: o, stats: aiperfStats}, err
}

// aiperfStats are the numbers of a metric in AIPerf's tables, in its order.
var aiperfStats = []string{"avg", "min", "max", "sum", "p1", "p5", "p10", "p25", "p50", "p75", "p90", "p95", "p99", "std"}

func (f *tableFile) close(o *Outcome) error {
	list := slices.Clone(o.Metrics)
	slices.SortFunc(list, func(a, b result.Metric) int { return cmp.Compare(a.Tag, b.Tag) })
	if f.pick != nil {
		list = pickMetrics(o.Metrics, f.pick)
	}
	return f.out.finish(f.encode(list))
}

// encode writes metrics with a distribution, then an empty line and those without.
func (f *tableFile) encode(list []result.Metric) []byte {
	rows, totals := [][]string{append([]string{"Metric"}, f.stats...)}, [][]string{{"Metric", "Value"}}
	for i := range list {
		m := &list[i]
		if !m.Distributed() {
			totals = append(totals, []string{metricName(m), statText(m, "avg")})
			continue
		}
		row := []string{metricName(m)}
		for _, s := range f.stats {
			row = append(row, statText(m, s))
		}
		rows = append(rows, row)
	}
	switch {
	case len(totals) == 1 && len(rows) == 1:
		return nil
	case len(totals) == 1:
		return csvText(rows)
	case len(rows) == 1:
		return csvText(totals)
	}
	return slices.Concat(csvText(rows), []byte("\r\n"), csvText(totals))
}

// csvText is the text of a table.
func csvText(rows [][]string) []byte {
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	w.UseCRLF = true
	_ = w.WriteAll(rows) // a buffer takes everything
	return b.Bytes()
}

// metricName is a metric's name with its unit, except for counts.
func metricName(m *result.Metric) string {
	if m.Unit == "" || m.Unit == "count" || m.Unit == "requests" {
		return m.Name
	}
	return m.Name + " (" + m.Unit + ")"
}

// statText is a number of a metric with two decimals; empty if it has none.
func statText(m *result.Metric, stat string) string {
	v := stat1(m, stat)
	switch {
	case math.IsNaN(v):
		return ""
	case math.IsInf(v, 1): // a latency with failures in it
		return "inf"
	}
	return strconv.FormatFloat(v, 'f', 2, 64)
}

// stat1 is one number of a metric; NaN where it has none.
func stat1(m *result.Metric, stat string) float64 {
	if stat == "avg" {
		return m.Avg
	}
	if !m.Distributed() {
		return math.NaN()
	}
	switch stat {
	case "min":
		return m.Min
	case "max":
		return m.Max
	case "sum":
		return m.Sum
	case "std":
		return m.Std
	}
	if p, err := strconv.ParseFloat(strings.TrimPrefix(stat, "p"), 64); err == nil {
		if v, ok := m.Find(p); ok {
			return v
		}
	}
	return math.NaN()
}
