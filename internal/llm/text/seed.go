package text

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/redline-bench/redline/internal/llm"
	"github.com/redline-bench/redline/internal/llm/load"
	"github.com/redline-bench/redline/internal/llm/metric"
	"github.com/redline-bench/redline/internal/unit"
)

// Seed is a level as the Python perf tool for TensorRT-LLM prints it (--console blocks).
func Seed(out *load.Outcome, lv load.Level) string {
	c := out.Collector
	latencies := c.Sum(metric.Latency) / 1000
	rate := func(id metric.ID, origin metric.Origins) string {
		if latencies == 0 || origin[llm.Unknown] == c.Requests() {
			return unit.Python(math.NaN())
		}
		return unit.Python(c.Sum(id) / latencies)
	}
	ttft := metric.TTFT
	if _, ok := metric.Find(out.Level.Metrics, "time_to_first_token"); !ok {
		ttft = metric.Latency // a response that is not streamed arrives with its first token
	}
	var b strings.Builder
	fmt.Fprintln(&b, strings.Repeat("-", 60))
	level := "Request concurrency: " + strconv.Itoa(lv.Concurrency)
	switch {
	case lv.Open() || len(lv.Stages) > 0:
		level = "Request load: " + lv.String()
	case lv.Prompts != "":
		level += ", " + lv.Prompts
	}
	fmt.Fprintln(&b, level)
	fmt.Fprintf(&b, "average_input_token_per_sec: %s\n", rate(metric.InputLength, c.Origins(metric.Inputs)))
	fmt.Fprintf(&b, "average_output_token_per_sec: %s\n", rate(metric.OutputLength, c.Origins(metric.Outputs)))
	fmt.Fprintf(&b, "average_ttft: %s\n", unit.Python(c.Mean(ttft)/1000))
	fmt.Fprintf(&b, "average_latency: %s\n", unit.Python(c.Mean(metric.Latency)/1000))
	fmt.Fprintf(&b, "p99_ttft: %s\n", unit.Python(c.Quantile(ttft, 99)/1000))
	fmt.Fprintf(&b, "p99_latency: %s\n", unit.Python(c.Quantile(metric.Latency, 99)/1000))
	fmt.Fprintf(&b, "payload and results: %d %d\n", c.Requests()+c.Failed()+c.Cut(), c.Requests())
	through := 0.0
	if d := c.Duration(); d > 0 {
		through = float64(c.Requests()) / d
	}
	fmt.Fprintf(&b, "throughput: %s infer/sec.\n", unit.Python(through))
	return b.String()
}
