package conformance

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"testing"

	"github.com/redline-bench/redline/internal/testkit/disturbance"
)

var (
	throughput = regexp.MustCompile(`Throughput: (\S+) infer/sec`)
	p50        = regexp.MustCompile(`p50 latency: (\d+) usec`)
)

// turns is how often each program measures. They alternate, so that what else the machine does meets both.
const turns = 3

// sameNumbers measures a model that takes 20 ms an execution with both programs: throughput within 5 %, p50 within 1 ms. The model
// has no dynamic batching: Triton's batcher holds some requests for 500 ms, and those of a faster client more often.
func (r *runner) sameNumbers(t *testing.T, target string) {
	args, err := fields(target + " -m slow_direct --shape INPUT0:8 -p 500 -r 3 -s 999")
	if err != nil {
		t.Fatal(err)
	}
	c := &Case{Args: args}
	disturbance.Try(t, func() error {
		var theirs, ours numbers
		for range turns {
			if err := errors.Join(theirs.add(r.observe(t, r.real, c)), ours.add(r.observe(t, r.ours, c))); err != nil {
				return err
			}
		}
		rate, theirRate := median(ours.rates), median(theirs.rates)
		p50, theirP50 := median(ours.p50s), median(theirs.p50s)
		if math.Abs(rate/theirRate-1) > 0.05 || math.Abs(p50-theirP50) > 1000 {
			return fmt.Errorf("%.2f infer/sec and p50 %.0f usec; perf_analyzer has %.2f and %.0f", rate, p50, theirRate, theirP50)
		}
		return nil
	})
}

// numbers are what a program measured, turn by turn.
type numbers struct{ rates, p50s []float64 }

func (n *numbers) add(o *Outcome) error {
	rate, latency := throughput.FindStringSubmatch(o.Stdout), p50.FindStringSubmatch(o.Stdout)
	if o.Code != 0 || rate == nil || latency == nil {
		return fmt.Errorf("exit code %d\n%s%s", o.Code, o.Stdout, o.Stderr)
	}
	r, err := strconv.ParseFloat(rate[1], 64)
	l, err2 := strconv.ParseFloat(latency[1], 64)
	n.rates, n.p50s = append(n.rates, r), append(n.p50s, l)
	return errors.Join(err, err2)
}

func median(list []float64) float64 {
	slices.Sort(list)
	return list[len(list)/2]
}
