package llm

import (
	"fmt"
	"time"

	"github.com/redline-bench/redline/internal/command/class"
	"github.com/redline-bench/redline/internal/llm/load"
	"github.com/redline-bench/redline/internal/llm/metric"
	"github.com/redline-bench/redline/internal/measure"
	"github.com/redline-bench/redline/internal/result"
	"github.com/redline-bench/redline/internal/term"
)

// progress shows the measurement in progress. before is how many measurements came before it: levels times repeats. head is
// the level.
func (r *session) progress(p *load.Progress, head *result.Level, before int) {
	if r.together != nil {
		r.together.Progress(class.Progress{
			Level: head, Warmup: p.Warmup, Elapsed: p.Elapsed, Requests: p.Requests, Failed: p.Failed, InFlight: p.InFlight, Rate: p.Rate,
		})
		return
	}
	levels := len(r.opts.steps(r.timed))
	s := term.Status{
		Level: measure.LevelName(p.Level), Number: before/r.opts.Runs + 1, Levels: levels, Elapsed: p.Elapsed, Window: r.load.Duration,
		Requests: p.Requests, Wanted: p.Wanted, Rate: p.Rate, Unit: "requests/s", Median: p.Median, Failed: p.Failed,
		Tokens: p.Tokens, FirstToken: p.FirstToken, Workers: p.Workers,
	}
	if r.opts.Runs > 1 {
		s.Level += fmt.Sprintf(", repeat %d of %d", before%r.opts.Runs+1, r.opts.Runs)
	}
	if p.Warmup {
		s.Level, s.Warmup, s.Window = "warm-up", true, 0
	} else {
		s.Left = timeLeft(p, r.load.Duration, levels*r.opts.Runs-before-1)
		r.outcome.InFlight(head, p.InFlight)
		r.outcome.Progress(p.Live)
	}
	r.Line.Show(s)
}

// timeLeft estimates how long a run still takes when more measurements like the one in progress follow; 0 if it cannot.
func timeLeft(p *load.Progress, duration time.Duration, more int) time.Duration {
	whole := duration
	if p.Wanted > 0 && p.Requests > 0 {
		counted := time.Duration(float64(p.Elapsed) * float64(p.Wanted) / float64(p.Requests))
		if whole == 0 || counted < whole {
			whole = counted
		}
	}
	if whole == 0 {
		return 0
	}
	return max(0, whole-p.Elapsed) + time.Duration(more)*whole
}

// endLevel shows a level that is over.
func (r *session) endLevel(lv *result.Level) {
	s := term.Status{Rate: lv.Client.InferPerSec, Unit: "requests/s", Median: time.Duration(lv.Client.Latency.At(50))}
	if m, ok := metric.Find(lv.Metrics, "output_token_throughput"); ok {
		s.Tokens = m.Avg
	}
	if m, ok := metric.Find(lv.Metrics, "time_to_first_token"); ok && m.Distributed() {
		for _, q := range m.Quantiles {
			if q.P == 50 {
				s.FirstToken = time.Duration(q.V * float64(time.Millisecond))
			}
		}
	}
	r.Line.EndLevel(s)
	if r.together == nil {
		r.outcome.LevelEnds(r.sigs.Hard, lv)
	} else if r.together.LevelEnds != nil {
		r.together.LevelEnds(lv)
	}
}
