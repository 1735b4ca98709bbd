package artifact

import (
	"errors"
	"fmt"
	"slices"
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

// Slice adds a part of the time that is over.
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
		f.err = f.csv.put(csvText(sliceRows(f.n, s)))
	}
	f.n++
}

// put adds a value to the JSON file, indented as the whole is.
func (f *slicesFile) put(before []byte, v any, indent, after string) error {
	text, err := indented(v, indent, "  ")
	if err != nil {
		return fmt.Errorf("encode %s: %w", f.json.f.Path(), err)
	}
	return f.json.put(append(append(before, text...), after...))
}

func (f *slicesFile) close(o *Outcome) error {
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

// sliceRows are the numbers of part i of the time, one a row.
func sliceRows(i int, s *metric.Slice) [][]string {
	var rows [][]string
	at := []string{strconv.Itoa(i), strconv.FormatInt(s.Begin, 10), strconv.FormatInt(s.End, 10)}
	for k := range s.Metrics {
		m := &s.Metrics[k]
		for _, stat := range aiperfStats {
			if text := statText(m, stat); text != "" {
				rows = append(rows, slices.Concat(at, []string{m.Name, m.Unit, stat, text}))
			}
		}
	}
	return rows
}
