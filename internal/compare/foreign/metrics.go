package foreign

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/result"
	"github.com/redline-bench/redline/internal/stats"
)

// stat is a metric as GenAI-Perf and AIPerf write it.
type stat struct {
	Unit  string   `json:"unit"`
	Avg   *float64 `json:"avg"`
	Min   float64  `json:"min"`
	Max   float64  `json:"max"`
	Std   float64  `json:"std"`
	Count float64  `json:"count"`
	Sum   float64  `json:"sum"`
	P     [9]float64
}

var (
	statPercentiles = [9]float64{1, 5, 10, 25, 50, 75, 90, 95, 99}
	statKeys        = [9]string{"p1", "p5", "p10", "p25", "p50", "p75", "p90", "p95", "p99"}
)

// metricJSON reads the JSON of GenAI-Perf or AIPerf: one key per metric.
func metricJSON(top map[string]json.RawMessage) (*result.Result, error) {
	lv := result.Level{Mode: plan.Concurrency, Accepted: true, Stable: true}
	for _, tag := range slices.Sorted(maps.Keys(top)) {
		if m, ok := metricOf(tag, top[tag]); ok {
			lv.Metrics = append(lv.Metrics, m)
		}
	}
	if len(lv.Metrics) == 0 {
		return nil, fmt.Errorf("%w: it is JSON, but not of redline, perf_analyzer, GenAI-Perf or AIPerf", ErrUnknown)
	}
	if lv.Concurrency, lv.Rate = asked(top["input_config"]); lv.Concurrency == 0 && lv.Rate > 0 {
		lv.Mode = plan.RequestRate
	}
	res := &result.Result{Tool: "aiperf", Levels: []result.Level{lv}}
	if _, ok := top["schema_version"]; !ok {
		res.Tool = "genai-perf"
	}
	headline(&res.Levels[0])
	return res, nil
}

func metricOf(tag string, raw json.RawMessage) (result.Metric, bool) {
	var s stat
	var named map[string]json.RawMessage
	if json.Unmarshal(raw, &s) != nil || s.Avg == nil || s.Unit == "" || json.Unmarshal(raw, &named) != nil {
		return result.Metric{}, false
	}
	m := result.Metric{Tag: tag, Name: strings.ReplaceAll(tag, "_", " "), Unit: s.Unit, Avg: *s.Avg, Higher: strings.Contains(tag, "throughput")}
	if _, ok := named["p50"]; ok {
		m.Count, m.Sum, m.Min, m.Max, m.Std = uint64(s.Count), s.Sum, s.Min, s.Max, s.Std
		for i, key := range statKeys {
			if json.Unmarshal(named[key], &s.P[i]) == nil && named[key] != nil {
				m.Quantiles = append(m.Quantiles, result.Quantile{P: statPercentiles[i], V: s.P[i]})
			}
		}
	}
	m.Interval = interval(&m)
	return m, true
}

// interval returns the interval of a mean whose standard deviation and count are known.
func interval(m *result.Metric) *result.Interval {
	const normal95, level = 1.96, 0.95
	if !m.Distributed() || m.Count < 2 || m.Std <= 0 {
		return nil
	}
	half := normal95 * m.Std / math.Sqrt(float64(m.Count))
	return &result.Interval{Low: m.Avg - half, High: m.Avg + half, Level: level}
}

// asked finds the concurrency or the rate anywhere in the configuration of a file: its place differs between tools and
// versions.
func asked(config json.RawMessage) (concurrency int, rate float64) {
	var tree any
	if json.Unmarshal(config, &tree) != nil {
		return 0, 0
	}
	look(tree, func(key string, n float64) {
		switch {
		case key == "concurrency" && concurrency == 0:
			concurrency = int(n)
		case (key == "rate" || key == "request_rate") && rate == 0:
			rate = n
		}
	})
	return concurrency, rate
}

// look calls see for every positive number of a tree with its key, in order.
func look(v any, see func(key string, n float64)) {
	switch v := v.(type) {
	case []any:
		for _, item := range v {
			look(item, see)
		}
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			if n, ok := v[key].(float64); ok && n > 0 {
				see(key, n)
			}
			look(v[key], see)
		}
	}
}

// headline sets the request latency and throughput that every report reads.
func headline(lv *result.Level) {
	if m := lv.Metric("request_throughput"); m != nil {
		lv.Client.InferPerSec = m.Avg
	}
	m := lv.Metric("request_latency")
	if m == nil || !m.Distributed() {
		return
	}
	scale := map[string]float64{"ms": 1e6, "us": 1e3, "ns": 1, "sec": 1e9, "s": 1e9}[m.Unit]
	l := m.In(result.Nanoseconds, scale)
	l.Tag, l.Name, l.Interval = "", "", nil
	lv.Client.Latency = l
	lv.Client.Requests = m.Count
	if n := lv.Metric("request_count"); n != nil {
		lv.Client.Requests = uint64(n.Avg)
	}
	if n := lv.Metric("error_request_count"); n != nil {
		lv.Client.Failed = uint64(n.Avg)
	}
}

// metricCSV reads the CSV of both: a table of distributions, a blank line, a table of single numbers.
func metricCSV(content []byte) (*result.Result, error) {
	rows, err := readCSV(content)
	if err != nil {
		return nil, err
	}
	lv := result.Level{Mode: plan.Concurrency, Accepted: true, Stable: true}
	var header []string
	for _, row := range rows {
		if row[0] == "Metric" {
			header = row
			continue
		}
		if m, ok := csvMetric(header, row); ok {
			lv.Metrics = append(lv.Metrics, m)
		}
	}
	headline(&lv)
	return &result.Result{Tool: "metrics CSV", Levels: []result.Level{lv}}, nil
}

func csvMetric(header, row []string) (result.Metric, bool) {
	name, unit, _ := strings.Cut(strings.TrimSuffix(row[0], ")"), " (")
	tag := strings.ReplaceAll(strings.ToLower(name), " ", "_")
	m := result.Metric{Tag: tag, Name: name, Unit: unit, Higher: strings.Contains(tag, "throughput")}
	seen := false
	for i, text := range row {
		if i == 0 || i >= len(header) {
			continue
		}
		v, err := strconv.ParseFloat(strings.ReplaceAll(text, ",", ""), 64)
		if err != nil {
			continue
		}
		switch key := header[i]; key {
		case "avg", "Value":
			m.Avg, seen = v, true
		case "min":
			m.Min = v
		case "max":
			m.Max = v
		case "std":
			m.Std = v
		case "sum":
			m.Sum = v
		default:
			if j := slices.Index(statKeys[:], key); j >= 0 {
				m.Quantiles = append(m.Quantiles, result.Quantile{P: statPercentiles[j], V: v})
			}
		}
	}
	if len(m.Quantiles) > 0 {
		slices.SortFunc(m.Quantiles, func(a, b result.Quantile) int { return int(a.P - b.P) })
		if m.Avg > 0 && m.Sum > 0 {
			m.Count = uint64(math.Round(m.Sum / m.Avg))
		}
		m.Interval = interval(&m)
	}
	return m, seen
}

// records reads AIPerf's records: one request per line, with its metrics.
func records(content []byte) (*result.Result, error) {
	type value struct {
		Value json.RawMessage `json:"value"`
		Unit  string          `json:"unit"`
	}
	gathered, units := map[string][]float64{}, map[string]string{}
	var failed uint64
	var first, last int64
	lines := bufio.NewScanner(bytes.NewReader(content))
	lines.Buffer(nil, 64<<20)
	for n := 1; lines.Scan(); n++ {
		if len(bytes.TrimSpace(lines.Bytes())) == 0 {
			continue
		}
		var line struct {
			Metadata struct {
				Phase string `json:"benchmark_phase"`
				Start int64  `json:"request_start_ns"`
				End   int64  `json:"request_end_ns"`
			} `json:"metadata"`
			Metrics map[string]value `json:"metrics"`
			Error   json.RawMessage  `json:"error"`
		}
		if err := json.Unmarshal(lines.Bytes(), &line); err != nil {
			return nil, fmt.Errorf("line %d is damaged: %w", n, err)
		}
		if line.Metadata.Phase == "warmup" {
			continue
		}
		if len(line.Error) > 0 && string(line.Error) != "null" {
			failed++
			continue
		}
		if first == 0 || line.Metadata.Start < first {
			first = line.Metadata.Start
		}
		last = max(last, line.Metadata.End)
		for tag, v := range line.Metrics {
			var x float64
			if json.Unmarshal(v.Value, &x) == nil {
				gathered[tag] = append(gathered[tag], x)
				units[tag] = v.Unit
			}
		}
	}
	if err := lines.Err(); err != nil {
		return nil, err
	}
	lv := result.Level{Mode: plan.Concurrency, Accepted: true, Stable: true}
	for tag, values := range gathered {
		lv.Metrics = append(lv.Metrics, distribution(tag, units[tag], values))
	}
	slices.SortFunc(lv.Metrics, func(a, b result.Metric) int { return strings.Compare(a.Tag, b.Tag) })
	headline(&lv)
	lv.Client.Failed = failed
	if n := len(gathered["request_latency"]); n > 0 && last > first {
		lv.Client.Requests, lv.Client.InferPerSec = uint64(n), float64(n)*1e9/float64(last-first)
	}
	return &result.Result{Tool: "aiperf", Levels: []result.Level{lv}}, nil
}

// distribution summarizes values as AIPerf does: percentiles by linear interpolation.
func distribution(tag, unit string, values []float64) result.Metric {
	slices.Sort(values)
	m := result.Metric{
		Tag: tag, Name: strings.ReplaceAll(tag, "_", " "), Unit: unit, Higher: strings.Contains(tag, "throughput"),
		Count: uint64(len(values)), Min: values[0], Max: values[len(values)-1],
	}
	for _, v := range values {
		m.Sum += v
	}
	m.Avg = m.Sum / float64(len(values))
	for _, v := range values {
		m.Std += (v - m.Avg) * (v - m.Avg) / float64(len(values))
	}
	m.Std = math.Sqrt(m.Std)
	for _, p := range statPercentiles {
		v := stats.Interpolate(p, len(values), func(k int) float64 { return values[k] })
		m.Quantiles = append(m.Quantiles, result.Quantile{P: p, V: v})
	}
	m.Interval = interval(&m)
	return m
}
