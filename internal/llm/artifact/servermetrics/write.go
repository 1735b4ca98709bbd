package servermetrics

import (
	"cmp"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redline-bench/redline/internal/pending"
	"github.com/redline-bench/redline/internal/scrape"
)

// File says where and as what the metrics are written.
type File struct {
	Dir, Prefix string
	JSON, CSV   bool
	Run         string // benchmark_id
	Asked       any    // input_config
	Begin, End  int64  // of the measured phase, Unix nanoseconds
	Output      *pending.Output
}

// The versions of AIPerf's files, and the AIPerf that writes them.
const (
	jsonSchema = "1.1"
	csvSchema  = "1.0"
	likeAIPerf = "0.13.0"
)

// Name is the name of a file: AIPerf's, or with a prefix.
func Name(prefix, ext string) string {
	if prefix == "" {
		return "server_metrics_export" + ext
	}
	return prefix + "_server_metrics" + ext
}

// Write writes what was read. Stop comes first.
func (w *Watch) Write(f *File) error {
	err := w.rawErr
	if f.JSON {
		err = errors.Join(err, f.put(filepath.Join(f.Dir, Name(f.Prefix, ".json")), func(to io.Writer) error {
			e := json.NewEncoder(to)
			e.SetEscapeHTML(false)
			e.SetIndent("", "  ")
			return e.Encode(w.document(f))
		}))
	}
	if f.CSV {
		err = errors.Join(err, f.put(filepath.Join(f.Dir, Name(f.Prefix, ".csv")), func(to io.Writer) error { return w.table(to, f) }))
	}
	return err
}

func (f *File) put(path string, write func(io.Writer) error) error {
	to, err := f.Output.Create(path)
	if err != nil {
		return fmt.Errorf("cannot write %s: %w", path, err)
	}
	if err := write(to); err != nil {
		to.Abort()
		return fmt.Errorf("write %s: %w", path, err)
	}
	return to.Commit()
}

// metric and the types below are the JSON of AIPerf's file.
type metric struct {
	Type        kind       `json:"type"`
	Description string     `json:"description"`
	Unit        string     `json:"unit,omitempty"`
	Series      []seriesOf `json:"series"`
}

type seriesOf struct {
	URL     string            `json:"endpoint_url"`
	Labels  map[string]string `json:"labels,omitempty"`
	Stats   map[string]any    `json:"stats"`
	Buckets map[string]int64  `json:"buckets,omitempty"`
}

type endpointInfo struct {
	Fetches  int      `json:"total_fetches"`
	First    int64    `json:"first_fetch_ns"`
	Last     int64    `json:"last_fetch_ns"`
	Latency  float64  `json:"avg_fetch_latency_ms"`
	Updates  int      `json:"unique_updates"`
	FirstNew int64    `json:"first_update_ns"`
	LastNew  int64    `json:"last_update_ns"`
	Duration float64  `json:"duration_seconds"`
	Gap      float64  `json:"avg_update_interval_ms"`
	Median   *float64 `json:"median_update_interval_ms,omitempty"`
}

func (w *Watch) document(f *File) any {
	configured, good := []string{}, []string{}
	info := map[string]endpointInfo{}
	all := map[string]*metric{}
	for _, e := range w.pages {
		configured = append(configured, e.url)
		if e.fetches == 0 {
			continue
		}
		good = append(good, e.url)
		info[e.url] = e.info()
		e.each(func(name string, fam *family, s *series, list []number) {
			m := all[name]
			if m == nil {
				m = &metric{Type: fam.kind, Description: fam.help, Unit: unit(name)}
				all[name] = m
			}
			m.Series = append(m.Series, seriesOf{e.url, labels(s), values(list), counts(s)})
		})
	}
	return map[string]any{
		"schema_version": jsonSchema, "aiperf_version": likeAIPerf, "benchmark_id": f.Run, "metrics_phase": "profiling", "metrics": all, "input_config": f.Asked,
		"summary": map[string]any{
			"endpoints_configured": configured, "endpoints_successful": good, "start_time": iso(f.Begin), "end_time": iso(f.End), "endpoint_info": info,
			"phase_time_ranges": map[string]any{"profiling": map[string]int64{"start_ns": f.Begin, "end_ns": f.End}},
		},
	}
}

// iso is a time as AIPerf writes it: local, without a zone.
func iso(ns int64) string { return time.Unix(0, ns).Format("2006-01-02T15:04:05.000000") }

// each calls fn with every series of the phase, in order.
func (e *endpoint) each(fn func(name string, f *family, s *series, list []number)) {
	for _, name := range slices.Sorted(maps.Keys(e.families)) {
		f := e.families[name]
		for _, key := range slices.Sorted(maps.Keys(f.series)) {
			s := f.series[key]
			if list := s.statistics(f.kind); s.seen && list != nil {
				fn(name, f, s, list)
			}
		}
	}
}

func (e *endpoint) info() endpointInfo {
	i := endpointInfo{
		Fetches: e.fetches, First: e.first.UnixNano(), Last: e.last.UnixNano(), Latency: float64(e.took) / 1e6 / float64(e.fetches),
		Updates: e.updates, FirstNew: e.first.UnixNano(), LastNew: e.update.UnixNano(), Duration: e.update.Sub(e.first).Seconds(),
	}
	if n := len(e.gaps); n > 0 {
		i.Gap = float64(e.update.Sub(e.first)) / 1e6 / float64(max(1, e.updates-1))
		sorted := slices.Sorted(slices.Values(e.gaps))
		i.Median = &sorted[n/2]
	}
	return i
}

func labels(s *series) map[string]string {
	if len(s.labels) == 0 {
		return nil
	}
	m := map[string]string{}
	for _, l := range s.labels {
		m[l.Name] = l.Value
	}
	return m
}

func values(list []number) map[string]any {
	m := map[string]any{}
	for _, n := range list {
		if m[n.name] = n.value; n.whole {
			m[n.name] = int64(n.value)
		}
	}
	return m
}

func counts(s *series) map[string]int64 {
	var m map[string]int64
	for _, b := range s.buckets() {
		if m == nil {
			m = map[string]int64{}
		}
		m[b.le] = int64(b.count)
	}
	return m
}

// units are the ends of names that tell a unit, in AIPerf's words; the longest fits first.
var units = map[string]string{
	"_seconds": "seconds", "_seconds_total": "seconds", "_milliseconds": "milliseconds", "_ms": "milliseconds", "_nanoseconds": "nanoseconds", "_ns": "nanoseconds",
	"_bytes": "bytes", "_total": "count", "_count": "count", "_tokens": "tokens", "_requests": "requests", "request_success": "requests", "_errors": "errors",
	"_blocks": "blocks", "_ratio": "ratio", "_percent": "percent", "_perc": "percent", "_celsius": "celsius", "_joules": "joules", "_watts": "watts",
}

func unit(name string) string {
	best, out := 0, ""
	for suffix, u := range units {
		if strings.HasSuffix(name, suffix) && len(suffix) > best {
			best, out = len(suffix), u
		}
	}
	return out
}

// columns are the numbers of each kind in the table.
var columns = map[kind][]string{
	gauge:   {"avg", "min", "max", "std", "p1", "p5", "p10", "p25", "p50", "p75", "p90", "p95", "p99"},
	counter: {"total", "rate", "rate_avg", "rate_min", "rate_max", "rate_std"},
	histogram: {
		"count", "count_rate", "sum", "sum_rate", "avg", "p1_estimate", "p5_estimate", "p10_estimate", "p25_estimate", "p50_estimate", "p75_estimate",
		"p90_estimate", "p95_estimate", "p99_estimate",
	},
}

// table writes the CSV: a section for each kind, with a column for each label.
func (w *Watch) table(to io.Writer, f *File) error {
	fmt.Fprintf(to, "# AIPerf Server Metrics Export (CSV)\n# aiperf_version: %s\n# schema_version: %s\n# benchmark_id: %s\n", likeAIPerf, csvSchema, f.Run)
	fmt.Fprint(to, "# Note: Same benchmark_id and version appear in JSON and Parquet exports\n#\n")
	out := csv.NewWriter(to)
	out.UseCRLF = true
	first := true
	for _, k := range []kind{gauge, counter, histogram, unknown} {
		rows := w.rows(k)
		if rows == nil {
			continue
		}
		if !first {
			out.Flush()
			fmt.Fprint(to, "\r\n")
		}
		first = false
		_ = out.WriteAll(rows) // Error tells
	}
	out.Flush()
	return out.Error()
}

// rows are a section with its head line; nil if no series is of the kind.
func (w *Watch) rows(k kind) [][]string {
	type row struct {
		start, end []string
		labels     map[string]string
	}
	stats := columns[cmp.Or(map[kind]kind{unknown: gauge}[k], k)]
	names := map[string]bool{}
	var list []row
	for _, e := range w.pages {
		e.each(func(name string, f *family, s *series, numbers []number) {
			if f.kind != k {
				return
			}
			r := row{start: []string{display(e.url), string(k), name, unit(name)}, end: []string{f.help}, labels: labels(s)}
			for _, stat := range stats {
				r.start = append(r.start, cell(numbers, stat))
			}
			if k == histogram {
				var parts []string
				for _, b := range s.buckets() {
					parts = append(parts, b.le+"="+strconv.FormatInt(int64(b.count), 10))
				}
				r.end = append(r.end, strings.Join(parts, ";"))
			}
			for n := range r.labels {
				names[n] = true
			}
			list = append(list, r)
		})
	}
	if list == nil {
		return nil
	}
	order := slices.Sorted(maps.Keys(names))
	head := slices.Concat([]string{"Endpoint", "Type", "Metric", "Unit"}, stats, order, []string{"Description"})
	if k == histogram {
		head = append(head, "buckets")
	}
	out := [][]string{head}
	for _, r := range list {
		line := r.start
		for _, n := range order {
			line = append(line, r.labels[n])
		}
		out = append(out, append(line, r.end...))
	}
	return out
}

func cell(list []number, name string) string {
	for _, n := range list {
		switch {
		case n.name != name:
		case n.whole:
			return strconv.FormatInt(int64(n.value), 10)
		default:
			return strconv.FormatFloat(n.value, 'f', 4, 64)
		}
	}
	return ""
}

// display is an address without scheme and path, as the table has it.
func display(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return address
	}
	return u.Host + strings.TrimSuffix(u.Path, "/metrics")
}

// rawLine is a page as a line of JSON.
func rawLine(address string, p *scrape.Page) []byte {
	type sample struct {
		Labels  map[string]string  `json:"labels,omitempty"`
		Value   *float64           `json:"value,omitempty"`
		Buckets map[string]float64 `json:"buckets,omitempty"`
		Sum     *float64           `json:"sum,omitempty"`
		Count   *float64           `json:"count,omitempty"`
	}
	all := map[string]map[string]*sample{}
	for i := range p.Samples {
		s := &p.Samples[i]
		name, part, _ := role(p, s.Name)
		if name == "" || math.IsNaN(s.Value) || math.IsInf(s.Value, 0) {
			continue
		}
		key, list := labelKey(s.Labels)
		if all[name] == nil {
			all[name] = map[string]*sample{}
		}
		x := all[name][key]
		if x == nil {
			x = &sample{Labels: labels(&series{labels: list})}
			all[name][key] = x
		}
		switch part {
		case "_bucket":
			if x.Buckets == nil {
				x.Buckets = map[string]float64{}
			}
			x.Buckets[s.Label("le")] = s.Value
		case "_sum":
			x.Sum = &s.Value
		case "_count":
			x.Count = &s.Value
		default:
			x.Value = &s.Value
		}
	}
	metrics := map[string][]*sample{}
	for name, list := range all {
		for _, key := range slices.Sorted(maps.Keys(list)) {
			metrics[name] = append(metrics[name], list[key])
		}
	}
	line, _ := json.Marshal(map[string]any{ // finite numbers and text always encode
		"endpoint_url": address, "timestamp_ns": p.At.UnixNano(), "endpoint_latency_ns": p.Took.Nanoseconds(), "metrics": metrics, "benchmark_phase": "profiling",
	})
	return append(line, '\n')
}
