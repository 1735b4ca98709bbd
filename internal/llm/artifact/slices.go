package artifact

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"github.com/redline-bench/redline/internal/llm"
	"github.com/redline-bench/redline/internal/llm/metric"
)

// slicesFile is the metrics of parts of the time, as JSON and CSV. Each part is written when it is over: a long run
// has thousands.
type slicesFile struct {
	cfg       *Config
	json, csv *out
	n         int
	err       error // the first; close returns it
}

func newSlices(cfg *Config) (sink, error) {
	j, err := create(cfg, cfg.named("profile_export_aiperf_timeslices.json", "_timeslices.json"))
	if err != nil {
		return nil, err
	}
	c, err := create(cfg, cfg.named("profile_export_aiperf_timeslices.csv", "_timeslices.csv"))
	if err != nil {
		j.abort()
		return nil, err
	}
	f := &slicesFile{cfg: cfg, json: j, csv: c}
	f.err = errors.Join(j.put([]byte("{\n  \"timeslices\": [")), c.put([]byte("Timeslice,Start_NS,End_NS,Metric,Unit,Stat,Value\r\n")))
	return f, nil
}

// Slice adds a part of the time that is over. Those that are not yet come with the Outcome.
func (w *Writer) Slice(s *metric.Slice) {
	for _, k := range w.sinks {
		if f, ok := k.(*slicesFile); ok {
			f.add(s)
		}
	}
}

func (f *slicesFile) sample(*llm.Sample, *metric.Values, bool) error { return nil }

func (f *slicesFile) abort() {
	f.json.abort()
	f.csv.abort()
}

// add writes one part.
func (f *slicesFile) add(s *metric.Slice) {
	if f.err != nil {
		return
	}
	doc := object{{"start_ns", s.Begin}, {"end_ns", s.End}}
	if !s.Whole {
		doc = append(doc, field{"is_complete", false})
	}
	b := f.json.buf
	if f.n > 0 {
		b = append(b, ',')
	}
	f.err = f.put(append(b, "\n    "...), append(doc, metrics(s.Metrics, true)...), "    ", "")
	if f.err == nil {
		f.err = f.csv.put(appendSlice(f.csv.buf, f.n, s))
	}
	f.n++
}

// put adds a value to the JSON file, indented as the whole is.
func (f *slicesFile) put(before []byte, v any, indent, after string) error {
	text, err := encode(v)
	if err != nil {
		return fmt.Errorf("encode %s: %w", f.json.f.Path(), err)
	}
	b := bytes.NewBuffer(before)
	if err := json.Indent(b, text, indent, "  "); err != nil {
		return fmt.Errorf("encode %s: %w", f.json.f.Path(), err)
	}
	b.WriteString(after)
	return f.json.put(b.Bytes())
}

func (f *slicesFile) close(o *Outcome) error {
	for i := range o.Slices {
		f.add(&o.Slices[i])
	}
	if f.err == nil {
		b := f.json.buf
		if f.n > 0 {
			b = append(b, "\n  "...)
		}
		f.err = f.put(append(b, "],\n  \"input_config\": "...), inputConfig(f.cfg, o), "  ", "\n}\n")
	}
	if f.err != nil {
		f.abort()
		return f.err
	}
	return errors.Join(f.json.commit(), f.csv.commit())
}

// sliceStats are the numbers of a metric in the CSV, in AIPerf's order.
var sliceStats = []string{"avg", "min", "max", "sum", "p1", "p5", "p10", "p25", "p50", "p75", "p90", "p95", "p99", "std"}

func appendSlice(b []byte, i int, s *metric.Slice) []byte {
	for k := range s.Metrics {
		m := &s.Metrics[k]
		for _, stat := range sliceStats {
			before := len(b)
			b = strconv.AppendInt(b, int64(i), 10)
			b = append(b, ',')
			b = strconv.AppendInt(b, s.Begin, 10)
			b = append(b, ',')
			b = strconv.AppendInt(b, s.End, 10)
			b = append(b, ',')
			b = appendCell(b, m.Name)
			b = append(b, ',')
			b = appendCell(b, m.Unit)
			b = append(b, ',')
			b = append(b, stat...)
			b = append(b, ',')
			if n := len(b); n == len(appendStat(b, m, stat)) {
				b = b[:before] // it has no such number
				continue
			}
			b = appendStat(b, m, stat)
			b = append(b, "\r\n"...)
		}
	}
	return b
}
