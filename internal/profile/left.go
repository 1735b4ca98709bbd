package profile

import (
	"math"
	"time"

	"github.com/redline-bench/redline/internal/measure"
	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/result"
)

// levelCount is how many levels a load has at most; 0 if the levels before decide that.
func levelCount(load *plan.Load) int {
	count := func(start, end, step float64) int {
		switch {
		case end == 0:
			return 0
		case step <= 0 || end < start:
			return 1
		}
		return int(math.Floor((end-start)/step*(1+1e-12))) + 1
	}
	switch {
	case load.Mode != plan.Concurrency && load.Mode != plan.RequestRate:
		return 1
	case len(load.Levels) > 0:
		return len(load.Levels)
	case load.Search == plan.Binary:
		return 0
	case load.Mode == plan.RequestRate:
		return count(load.Rate.Start, load.Rate.End, load.Rate.Step)
	}
	return count(float64(load.Concurrency.Start), float64(load.Concurrency.End), float64(load.Concurrency.Step))
}

// timeLeft estimates how long a run still takes, from the window in progress and the levels that are over; 0 if it cannot.
func timeLeft(g *Progress, over []result.Level) time.Duration {
	window := g.Window
	if window == 0 && g.Wanted > 0 && g.Requests > 0 {
		window = time.Duration(float64(g.Elapsed) * float64(g.Wanted) / float64(g.Requests))
	}
	if window == 0 || g.Levels == 0 {
		return 0
	}
	each := float64(min(measure.StableWindows, max(1, g.Passes)))
	if len(over) > 0 {
		sum := 0
		for i := range over {
			sum += len(over[i].Windows)
		}
		each = max(1, float64(sum)/float64(len(over)))
	}
	windows := max(0, math.Round(each)-float64(g.Pass)) + float64(g.Levels-g.Number)*each
	return max(0, window-g.Elapsed) + time.Duration(windows*float64(window))
}
