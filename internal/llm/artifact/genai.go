package artifact

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/redline-bench/redline/internal/clock"
	"github.com/redline-bench/redline/internal/llm"
	"github.com/redline-bench/redline/internal/llm/metric"
	"github.com/redline-bench/redline/internal/result"
)

// appendAnswer adds one event of a response in the form of AIPerf's raw records: the fields of an event, or a text.
func appendAnswer(b []byte, a llm.Answer) []byte {
	b = appendInt(append(b, '{'), "perf_ns", a.At)
	event := bytes.TrimRight(a.Data, "\r\n")
	if !isEvent(event) {
		b = append(b, `,"content_type":"application/json"`...)
		return append(appendText(b, "text", a.Data), '}')
	}
	b = append(b, `,"packets":[`...)
	for line := range bytes.SplitSeq(event, []byte{'\n'}) {
		name, value, ok := bytes.Cut(bytes.TrimRight(line, "\r"), []byte{':'})
		if !ok || len(name) == 0 && len(value) == 0 {
			continue
		}
		if len(name) == 0 {
			name = []byte("comment")
		}
		b = appendText(append(appendComma(b), '{'), "name", name)
		b = appendText(b, "value", bytes.TrimPrefix(value, []byte{' '}))
		b = append(b, '}')
	}
	return append(b, "]}"...)
}

// isEvent reports whether b is a server-sent event, not a body.
func isEvent(b []byte) bool {
	name, _, found := bytes.Cut(b, []byte{':'})
	return found && slices.Contains([]string{"data", "event", "id", "retry", ""}, string(name))
}

// profileFile is profile_export.json in perf_analyzer's form, which GenAI-Perf reads.
type profileFile struct {
	*out
	cfg    *Config
	n      int
	kserve bool // responses are tensors, not texts of HTTP
}

func newProfile(cfg *Config) (sink, error) {
	o, err := create(cfg, "profile_export.json")
	if err != nil {
		return nil, err
	}
	b := []byte(`{"experiments":[{"experiment":{"mode":`)
	if cfg.Concurrency > 0 && cfg.Rate == 0 {
		b = append(b, `"concurrency","value":`...)
		b = strconv.AppendInt(b, int64(cfg.Concurrency), 10)
	} else { // GenAI-Perf looks up schedules as the rate 0.0
		b = append(b, `"request_rate","value":`...)
		b = appendNumber(b, cfg.Rate)
	}
	b = append(b, `},"requests":[`...)
	return &profileFile{cfg: cfg, out: o, kserve: cfg.kserve()}, o.put(b)
}

// sample adds a successful request; perf_analyzer's file has no others.
func (f *profileFile) sample(s *llm.Sample, _ *metric.Values, ok bool) error {
	if !ok || s.Warmup || len(s.Answers) == 0 {
		return nil
	}
	b := f.out.buf
	if f.n > 0 {
		b = append(b, ',')
	}
	f.n++
	b = appendInt(append(b, '{'), "timestamp", clock.Wall(s.Sent))
	b = f.appendInputs(appendName(b, "request_inputs"), s.Payload)
	b = append(b, `,"response_timestamps":[`...)
	b = appendTimes(b, s.Answers)
	b = append(b, `],"response_outputs":[`...)
	for _, a := range s.Answers {
		switch {
		case uncountable(a.Data):
		case f.kserve:
			b = appendTensors(appendComma(b), a.Data)
		default:
			b = appendText(append(appendComma(b), '{'), "response", a.Data)
			b = append(b, '}')
		}
	}
	return f.out.put(append(b, "]}"...))
}

// appendInputs adds what was asked: a body as a string, the inputs of a model as they are.
func (f *profileFile) appendInputs(b, payload []byte) []byte {
	if f.kserve {
		if len(payload) > 0 && payload[0] == '{' && json.Valid(payload) {
			return append(b, payload...)
		}
		return append(b, "{}"...)
	}
	return append(appendText(append(b, '{'), "payload", payload), '}')
}

// uncountable reports whether an event has no choices, like the one with the server's token counts. GenAI-Perf fails on such events, and
// would not count them.
func uncountable(data []byte) bool {
	_, after, ok := bytes.Cut(data, []byte(`"choices":`))
	if !ok {
		return false
	}
	after = bytes.TrimLeft(after, " ")
	if len(after) == 0 || after[0] != '[' {
		return false
	}
	after = bytes.TrimLeft(after[1:], " ")
	return len(after) > 0 && after[0] == ']'
}

func appendTimes(b []byte, list []llm.Answer) []byte {
	var last int64
	for i := range list {
		if !uncountable(list[i].Data) {
			b, last = clock.AppendWall(b, last, list[i].At)
		}
	}
	return b
}

func (f *profileFile) close(o *Outcome) error {
	b := f.out.buf
	b = append(b, `],"window_boundaries":[`...)
	for _, t := range o.Windows {
		b = strconv.AppendInt(appendComma(b), t, 10)
	}
	b = appendText(append(b, "]}]"...), "version", f.cfg.Version)
	if f.kserve {
		b = append(b, `,"service_kind":"triton","endpoint":""`...)
	} else {
		b = append(b, `,"service_kind":"openai"`...)
		b = appendText(b, "endpoint", strings.TrimPrefix(f.cfg.Path, "/")) // as GenAI-Perf compares it
	}
	return f.out.finish(append(b, '}'))
}

// genaiMetric is a metric of GenAI-Perf's reports.
type genaiMetric struct{ tag, name, unit string }

// genaiMetrics are those of its JSON and CSV, in its order and under its names.
var genaiMetrics = []genaiMetric{
	{"request_throughput", "Request Throughput", "per sec"},
	{"request_latency", "Request Latency", "ms"},
	{"request_count", "Request Count", "count"},
	{"time_to_first_token", "Time To First Token", "ms"},
	{"time_to_second_token", "Time To Second Token", "ms"},
	{"inter_token_latency", "Inter Token Latency", "ms"},
	{"output_token_throughput", "Output Token Throughput", "tokens/sec"},
	{"output_token_throughput_per_user", "Output Token Throughput Per User", "tokens/sec/user"},
	{"output_sequence_length", "Output Sequence Length", "tokens"},
	{"input_sequence_length", "Input Sequence Length", "tokens"},
	{"goodput", "Request Goodput", "requests/sec"},
}

func pickMetrics(list []result.Metric, pick []genaiMetric) []result.Metric {
	var out []result.Metric
	for _, p := range pick {
		if m, ok := metric.Find(list, p.tag); ok {
			m.Name, m.Unit = p.name, p.unit
			out = append(out, m)
		}
	}
	return out
}

// genaiFile is profile_export_genai_perf.json and .csv.
type genaiFile struct {
	*tableFile
	cfg  *Config
	json *out
}

func newGenAI(cfg *Config) (sink, error) {
	j, err := create(cfg, "profile_export_genai_perf.json")
	if err != nil {
		return nil, err
	}
	c, err := create(cfg, "profile_export_genai_perf.csv")
	if err != nil {
		j.abort()
		return nil, err
	}
	stats := []string{"avg", "min", "max", "p99", "p95", "p90", "p75", "p50", "p25", "p10", "p5", "p1"}
	return &genaiFile{&tableFile{out: c, pick: genaiMetrics, stats: stats}, cfg, j}, nil
}

func (f *genaiFile) abort() {
	f.json.abort()
	f.tableFile.abort()
}

func (f *genaiFile) close(o *Outcome) error {
	doc := metrics(pickMetrics(o.Metrics, genaiMetrics), false)
	c := f.cfg
	doc = append(doc, field{"input_config", object{
		{"model_names", []string{c.Model}},
		{"endpoint", object{{"type", c.EndpointType}, {"url", c.URL}, {"streaming", c.Streaming}}},
		{"perf_analyzer", object{{"stimulus", object{{"concurrency", given(c.Concurrency)}, {"request_rate", given(number(c.Rate))}}}}},
	}})
	if err := writeDocument(f.json, doc); err != nil {
		f.tableFile.abort()
		return err
	}
	return f.tableFile.close(o)
}
