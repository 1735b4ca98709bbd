package text

import (
	"fmt"
	"os"
	"slices"
	"syscall"

	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/result"
)

// The messages without numbers, each one line.
const (
	UnstableEnd       = "Failed to obtain stable measurement."
	NotStabilizing    = "Warning: Request latency is not stabilizing. Please try lowering the request rate."
	NoValidRequests   = "No valid requests recorded within time interval. Please use a larger time window."
	LoadFailedSync    = "Failed to maintain requested inference load. Worker thread(s) failed to generate concurrent requests."
	LoadFailedAsync   = "Failed to retrieve results from inference request."
	AccountedTime     = "Server average accounted time was larger than client average wait time due to small sample size. Increase the measurement interval with `--measurement-interval`."
	SingleRequest     = "WARNING: Pass contained only one request, so sample latency standard deviation will be infinity (UINT64_MAX)."
	WarmupConcurrency = "WARNING: The number of concurrent requests exceeds the warmup request count. Adjusting warmup concurrency to match the warmup request count."
	ExitSignal        = "Received exit signal."
	RanksStable       = "All models on all MPI ranks are stable"
	KeepUp            = "[WARNING] Perf Analyzer is not able to keep up with the desired load. The results may not be accurate."
	TooManyGPUs       = "Too many GPUs on system to print out individual Prometheus metrics, use the CSV output feature to see metrics."
)

// Unstable is the remark on a level that did not become stable.
func Unstable(p *plan.Plan, l *result.Level) string {
	if l.Mode != plan.Concurrency {
		return UnstableEnd
	}
	flag := "--measurement-interval"
	if p.Measure.Window == plan.CountWindows {
		flag = "--measurement-request-count"
	}
	return fmt.Sprintf("Failed to obtain stable measurement within %d measurement windows for concurrency %d. Please try to increase the %s.",
		p.Measure.MaxTrials, l.Concurrency, flag)
}

// OverLimit is the remark on a level whose latency reached the limit.
func OverLimit(p *plan.Plan) string {
	return fmt.Sprintf("Measured latency went over the set limit of %d msec. ", p.Measure.LatencyLimit.Milliseconds())
}

// loadFailed is the first line after a failed request ended the run.
func loadFailed(async bool) string {
	if async {
		return LoadFailedAsync
	}
	return LoadFailedSync
}

// Late is the remark on a schedule that was not kept: both average latencies, in microseconds.
func Late(sentUs, dueUs uint64) string {
	return fmt.Sprintf("WARNING: Requests were sent later than scheduled. The average latency is %d usec from the send and %d usec from the schedule.", sentUs, dueUs)
}

// MultipleVersions is the remark on a model of which several versions responded.
func MultipleVersions(model string) string {
	return fmt.Sprintf("WARNING: Multiple versions of model %s are loaded in the triton server, and the version to use was unspecified. The stats for that model may be inaccurate.", model)
}

// MetricMissing is the remark on a metric that the server does not publish.
func MetricMissing(name string) string {
	return fmt.Sprintf("WARNING: Unable to parse '%s' metric.", name)
}

// MetricsSlow is the remark on an endpoint that responds more slowly than it is polled.
func MetricsSlow(tookMs, intervalMs int64) string {
	return fmt.Sprintf("WARNING: Triton metrics endpoint latency (%dms) is larger than the querying interval (%dms). Please try a larger querying interval via `--triton-metrics-interval`.", tookMs, intervalMs)
}

// Notice is the message about the nth signal, on the report's own stream.
func Notice(sig os.Signal, nth int) string {
	number, _ := sig.(syscall.Signal)
	last := "Exiting immediately..."
	if nth == 1 {
		last = "Waiting for in-flight inferences to complete."
	}
	return fmt.Sprintf("Interrupt signal (%d) received.\n%s", number, last)
}

// Warn writes one line to Err.
func (c *Console) Warn(line string) { fmt.Fprintln(c.Err, line) }

// Say writes one line to Out.
func (c *Console) Say(line string) { fmt.Fprintln(c.Out, line) }

// LoadFailed writes why the load ended: the health message, then the first failure of each worker in the order of
// the workers, then the empty line that ends every failed run.
func (c *Console) LoadFailed(failures []result.Failure) {
	var p page
	p.linef("%s", loadFailed(c.Async))
	list := slices.SortedStableFunc(slices.Values(failures), func(a, b result.Failure) int { return a.Slot - b.Slot })
	for _, f := range slices.CompactFunc(list, func(a, b result.Failure) bool { return a.Slot == b.Slot }) {
		p.linef("Thread [%d] had error: %s\n", f.Slot, f.Text)
	}
	p.linef("")
	p.to(c.Err)
}

// End writes the last message of a failed run and the empty line after it.
func (c *Console) End(message string) {
	var p page
	if message != "" {
		p.linef("%s", message)
	}
	p.linef("")
	p.to(c.Err)
}
