package report

import (
	"encoding/csv"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/redline-bench/redline/internal/convert"
	"github.com/redline-bench/redline/internal/result"
)

// Candidates writes a table of all candidates of a search for a configuration, with the column names of Model Analyzer's
// metrics-model-inference.csv and, for GPUs, those of its metrics-model-gpu.csv.
func Candidates(w io.Writer, t *result.Tune) error {
	out := csv.NewWriter(w)
	_ = out.Write([]string{ // Flush reports its errors
		"Model", "Batch", "Request Rate", "Model Config Path", "Instance Group", "Max Batch Size", "Satisfies Constraints",
		"Throughput (infer/sec)", "Avg Latency (ms)", "p90 Latency (ms)", "p95 Latency (ms)", "p99 Latency (ms)", "Server Queue time (ms)",
		"Server Compute Input time (ms)", "Server Compute Infer time (ms)", "Server Compute Output time (ms)",
		"GPU Memory Usage (MB)", "GPU Utilization (%)", "GPU Power Usage (W)",
	})
	for i := range t.Candidates {
		_ = out.Write(candidateRow(t.Model, &t.Candidates[i]))
	}
	out.Flush()
	return out.Error()
}

func candidateRow(model string, c *result.TuneCandidate) []string {
	fixed := func(v float64) string {
		if v == 0 {
			return ""
		}
		return strconv.FormatFloat(v, 'f', 3, 64)
	}
	knobs := convert.All(slices.Sorted(maps.Keys(c.Knobs)), func(k string) string { return fmt.Sprintf("%s=%v", k, c.Knobs[k]) })
	row := []string{
		model, strconv.Itoa(c.Batch), fixed(c.At), strings.Join(knobs, " "), c.Instances, "", map[bool]string{true: "Yes", false: "No"}[c.Failed == "" && c.Low > 0],
		fixed(c.Achieved), fixed(c.AvgMs), fixed(c.P90Ms), fixed(c.P95Ms), fixed(c.P99Ms),
	}
	if c.MaxBatch > 0 {
		row[5] = strconv.Itoa(c.MaxBatch)
	}
	if s := c.Server; s != nil {
		row = append(row, fixed(s.QueueMs), fixed(s.ComputeInputMs), fixed(s.ComputeInferMs), fixed(s.ComputeOutputMs))
	} else {
		row = append(row, "", "", "", "")
	}
	memory, power, busy := c.GPU.Sums()
	return append(row, fixed(memory/1e6), fixed(busy), fixed(power))
}
