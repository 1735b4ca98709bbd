package text_test

import (
	"syscall"
	"testing"
	"time"

	"github.com/redline-bench/redline/internal/pacompat/text"
	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/record"
	"github.com/redline-bench/redline/internal/result"
	"github.com/redline-bench/redline/internal/service"
	"github.com/redline-bench/redline/internal/workload"
)

func TestMessages(t *testing.T) {
	p := simplePlan()
	p.Measure.LatencyLimit = 30 * time.Millisecond
	f := func(got, want string) { t.Helper(); same(t, want, got, want) }
	l := &result.Level{Mode: plan.Concurrency, Concurrency: 8}
	f(text.Unstable(p, l), "Failed to obtain stable measurement within 3 measurement windows for concurrency 8. Please try to increase the --measurement-interval.")
	p.Measure.Window = plan.CountWindows
	f(text.Unstable(p, l), "Failed to obtain stable measurement within 3 measurement windows for concurrency 8. Please try to increase the --measurement-request-count.")
	l.Mode = plan.RequestRate
	f(text.Unstable(p, l), "Failed to obtain stable measurement.")
	f(text.OverLimit(p), "Measured latency went over the set limit of 30 msec. ")
	f(text.MultipleVersions("m"), "WARNING: Multiple versions of model m are loaded in the triton server, and the version to use was unspecified. The stats for that model may be inaccurate.")
	f(text.MetricMissing("nv_gpu_utilization"), "WARNING: Unable to parse 'nv_gpu_utilization' metric.")
	f(text.MetricsSlow(12, 10), "WARNING: Triton metrics endpoint latency (12ms) is larger than the querying interval (10ms). Please try a larger querying interval via `--triton-metrics-interval`.")
	f(text.Notice(syscall.SIGINT, 1), "Interrupt signal (2) received.\nWaiting for in-flight inferences to complete.")
	f(text.Notice(syscall.SIGINT, 2), "Interrupt signal (2) received.\nExiting immediately...")
}

func TestFailedRunEndsAsTheOriginal(t *testing.T) {
	c, _, errs := console(simplePlan(), simpleModel())
	c.Async = true
	c.LoadFailed([]result.Failure{{Slot: 1, Text: "flaky: request 70 failed on purpose"}, {Slot: 0, Text: "flaky: request 80 failed on purpose"}, {Slot: 1, Text: "another"}})
	same(t, "async", errs.String(), `Failed to retrieve results from inference request.
Thread [0] had error: flaky: request 80 failed on purpose

Thread [1] had error: flaky: request 70 failed on purpose


`)
	errs.Reset()
	c.Async = false
	c.LoadFailed([]result.Failure{{Text: "Output doesn't match expected output"}})
	same(t, "sync", errs.String(), `Failed to maintain requested inference load. Worker thread(s) failed to generate concurrent requests.
Thread [0] had error: Output doesn't match expected output


`)
	errs.Reset()
	c.End(text.UnstableEnd)
	same(t, "end", errs.String(), "Failed to obtain stable measurement.\n\n")
}

// The scripts of Triton's tests search for these sentences; the rest is Redline's.
func TestSearchedSentences(t *testing.T) {
	f := func(err error, want string) { t.Helper(); same(t, want, text.Searched(err, "ours"), want) }
	f(&workload.DataError{Fault: workload.OtherShape, Args: []any{"[2]", "IN", "[3]"}}, "The supplied shape of [2] for input \"IN\" is incompatible with the model's input shape of [3]: ours")
	f(&workload.DataError{Fault: workload.OtherSize, Args: []any{"IN", 8, 4}}, "mismatch in the data provided for IN. Expected: 8 bytes, Got: 4 bytes: ours")
	f(&service.Error{Class: record.Mismatch}, "Output doesn't match expected output: ours")
	f(&service.Error{Class: record.Server}, "ours")
	f(&workload.DataError{Fault: "another"}, "ours")
}
