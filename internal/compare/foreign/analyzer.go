package foreign

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/redline-bench/redline/internal/measure"
	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/record"
	"github.com/redline-bench/redline/internal/result"
	"github.com/redline-bench/redline/internal/service"
)

// percentileOf reads the name of a column such as "p99 latency".
func percentileOf(column string) (p float64, ok bool) {
	digits, ok := strings.CutSuffix(column, " latency")
	digits, named := strings.CutPrefix(digits, "p")
	n, err := strconv.ParseUint(digits, 10, 8)
	return float64(n), ok && named && err == nil
}

const nsPerUs = 1000

// readCSV reads rows, which may have different numbers of cells.
func readCSV(content []byte) ([][]string, error) {
	r := csv.NewReader(bytes.NewReader(content))
	r.FieldsPerRecord = -1
	rows, err := r.ReadAll()
	if err != nil {
		return nil, fmt.Errorf("the CSV is damaged: %w", err)
	}
	return rows, nil
}

// analyzerCSV reads perf_analyzer's CSV: one row per level, latencies in microseconds.
func analyzerCSV(content []byte) (*result.Result, error) {
	rows, err := readCSV(content)
	if err != nil {
		return nil, err
	}
	res := &result.Result{Tool: "perf_analyzer"}
	for n, row := range rows[1:] {
		if len(row) < 2 {
			continue
		}
		lv, err := analyzerRow(rows[0], row)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", n+2, err)
		}
		res.Levels = append(res.Levels, lv)
	}
	return res, nil
}

func analyzerRow(header, row []string) (result.Level, error) {
	lv := result.Level{Accepted: true, Stable: true}
	var queue, input, infer, output uint64
	for i, name := range header {
		if i >= len(row) || row[i] == "" {
			continue
		}
		v, err := strconv.ParseFloat(row[i], 64)
		if err != nil {
			continue // a column of text, such as that of GPUs
		}
		ns := int64(v * nsPerUs)
		switch name {
		case "Concurrency":
			lv.Mode, lv.Concurrency = plan.Concurrency, int(v)
		case "Request Rate":
			lv.Mode, lv.Rate = plan.RequestRate, v
		case "Inferences/Second":
			lv.Client.InferPerSec = v
		case "Response Throughput":
			lv.Client.ResponsePerSec = v
		case "Avg latency":
			lv.Client.Latency.Avg = ns
		case "Server Queue":
			queue = uint64(ns)
		case "Server Compute Input":
			input = uint64(ns)
		case "Server Compute Infer":
			infer = uint64(ns)
		case "Server Compute Output":
			output = uint64(ns)
		}
		if p, ok := percentileOf(name); ok {
			lv.Client.Latency.Percentiles = append(lv.Client.Latency.Percentiles, result.Percentile{P: p, Ns: ns})
		}
	}
	if lv.Mode == "" || lv.Client.InferPerSec == 0 {
		return lv, errors.New("it has no level and throughput")
	}
	if queue+input+infer+output > 0 {
		one := func(ns uint64) service.Tally { return service.Tally{Count: 1, Ns: ns} }
		lv.Server = &result.Server{Stats: service.ModelStats{Queue: one(queue), ComputeInput: one(input), ComputeInfer: one(infer), ComputeOutput: one(output)}}
	}
	return lv, nil
}

// epoch is added to the times of an export, because a clock reading of 0 means none.
const epoch = int64(time.Second)

// export reads the file of --profile-export-file. It has every request, so all numbers are computed again.
func export(content []byte) (*result.Result, error) {
	var file struct {
		Experiments []struct {
			Experiment struct {
				Mode  string  `json:"mode"`
				Value float64 `json:"value"`
			} `json:"experiment"`
			Requests []struct {
				Timestamp int64   `json:"timestamp"`
				Responses []int64 `json:"response_timestamps"`
			} `json:"requests"`
		} `json:"experiments"`
	}
	if err := json.Unmarshal(content, &file); err != nil {
		return nil, fmt.Errorf("the export is damaged: %w", err)
	}
	res := &result.Result{Tool: "perf_analyzer"}
	for _, x := range file.Experiments {
		lv := result.Level{Mode: plan.Concurrency, Concurrency: int(x.Experiment.Value), Accepted: true, Stable: true}
		if x.Experiment.Mode != "concurrency" {
			lv = result.Level{Mode: plan.RequestRate, Rate: x.Experiment.Value, Accepted: true, Stable: true}
		}
		if len(x.Requests) == 0 {
			continue
		}
		start := int64(math.MaxInt64)
		for _, q := range x.Requests {
			start = min(start, q.Timestamp)
		}
		start -= epoch
		rec := measure.New(measure.Config{Setup: measure.Setup{Streaming: true}, Timeline: true, Span: true})
		rec.Begin(epoch, &measure.State{})
		for _, q := range x.Requests {
			if len(q.Responses) == 0 {
				continue
			}
			sent := q.Timestamp - start
			one := record.Record{
				Due: sent, Sent: sent, Written: sent, First: q.Responses[0] - start, End: q.Responses[len(q.Responses)-1] - start,
				Responses: uint32(len(q.Responses)),
			}
			if one.End < sent {
				return nil, errors.New("a response is older than its request")
			}
			rec.Add(&one)
		}
		_, last := rec.Span()
		rec.End(last, &measure.State{}, nil)
		lv, _ = rec.Level(lv, &measure.Asked{})
		lv.Health, lv.Windows = result.Health{}, nil // the file does not have them
		res.Levels = append(res.Levels, lv)
	}
	return res, nil
}
