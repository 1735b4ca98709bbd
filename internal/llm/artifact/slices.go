package artifact

import (
	"errors"
	"strconv"

	"github.com/redline-bench/redline/internal/llm"
	"github.com/redline-bench/redline/internal/llm/metric"
)

// slicesFile is the metrics of parts of the time, as JSON and CSV.
type slicesFile struct {
	cfg       *Config
	json, csv *out
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
	return &slicesFile{cfg, j, c}, nil
}

func (f *slicesFile) sample(*llm.Sample, *metric.Values, bool) error { return nil }

func (f *slicesFile) abort() {
	f.json.abort()
	f.csv.abort()
}

func (f *slicesFile) close(o *Outcome) error {
	list := []object{}
	b := f.csv.buf
	b = append(b, "Timeslice,Start_NS,End_NS,Metric,Unit,Stat,Value\r\n"...)
	for i := range o.Slices {
		s := &o.Slices[i]
		doc := object{{"start_ns", s.Begin}, {"end_ns", s.End}}
		if !s.Whole {
			doc = append(doc, field{"is_complete", false})
		}
		list = append(list, append(doc, metrics(s.Metrics, true)...))
		b = appendSlice(b, i, s)
	}
	err := writeDocument(f.json, object{{"timeslices", list}, {"input_config", inputConfig(f.cfg, o)}})
	if e := f.csv.put(b); e != nil {
		f.csv.abort()
		return errors.Join(err, e)
	}
	return errors.Join(err, f.csv.commit())
}

// sliceStats are the numbers of a metric in the CSV, in AIPerf's order.
var sliceStats = []string{"avg", "min", "max", "sum", "p1", "p5", "p10", "p25", "p50", "p75", "p90", "p95", "p99", "std"}

func appendSlice(b []byte, i int, s *Slice) []byte {
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
