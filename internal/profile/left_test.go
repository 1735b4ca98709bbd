package profile

import (
	"testing"
	"time"

	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/result"
)

func TestLevelCount(t *testing.T) {
	f := func(load plan.Load, want int) {
		t.Helper()
		if got := levelCount(&load); got != want {
			t.Errorf("%+v: %d levels, want %d", load, got, want)
		}
	}
	closed := func(start, end, step int) plan.Load {
		return plan.Load{Mode: plan.Concurrency, Search: plan.Linear, Concurrency: plan.IntRange{Start: start, End: end, Step: step}}
	}
	open := func(start, end, step float64) plan.Load {
		return plan.Load{Mode: plan.RequestRate, Search: plan.Linear, Rate: plan.FloatRange{Start: start, End: end, Step: step}}
	}
	f(closed(1, 1, 1), 1)
	f(closed(1, 8, 1), 8)
	f(closed(1, 8, 3), 3)
	f(closed(4, 0, 1), 0)
	f(open(100, 500, 100), 5)
	f(open(20.1, 20.4, 0.1), 4)
	f(open(10, 0, 5), 0)
	f(plan.Load{Mode: plan.Concurrency, Search: plan.Binary, Concurrency: plan.IntRange{Start: 1, End: 64}}, 0)
	f(plan.Load{Mode: plan.FixedSchedule}, 1)
}

func TestTimeLeft(t *testing.T) {
	f := func(g Progress, over []int, want time.Duration) {
		t.Helper()
		var levels []result.Level
		for _, n := range over {
			levels = append(levels, result.Level{Windows: make([]result.Window, n)})
		}
		if got := timeLeft(&g, levels); got != want {
			t.Errorf("%+v after %v: %v left, want %v", g, over, got, want)
		}
	}
	const s = time.Second
	f(Progress{Number: 1, Levels: 1, Pass: 1, Passes: 10, Window: 5 * s, Elapsed: 2 * s}, nil, 13*s)
	f(Progress{Number: 1, Levels: 1, Pass: 5, Passes: 10, Window: 5 * s, Elapsed: 2 * s}, nil, 3*s)
	f(Progress{Number: 1, Levels: 4, Pass: 3, Passes: 10, Window: 5 * s, Elapsed: 5 * s}, nil, 45*s)
	f(Progress{Number: 3, Levels: 4, Pass: 1, Passes: 10, Window: 5 * s, Elapsed: 5 * s}, []int{3, 7}, 45*s) // five windows a level
	f(Progress{Number: 1, Levels: 2, Pass: 1, Passes: 1, Wanted: 100, Requests: 25, Elapsed: 10 * s}, nil, 70*s)
	f(Progress{Number: 1, Levels: 2, Pass: 1, Passes: 1, Wanted: 100, Elapsed: 10 * s}, nil, 0)
	f(Progress{Number: 3, Pass: 1, Passes: 10, Window: 5 * s}, []int{3, 3}, 0) // a search
}
