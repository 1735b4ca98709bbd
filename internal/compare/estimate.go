package compare

import (
	"math"

	"github.com/redline-bench/redline/internal/result"
)

// RunDrift is how much a quantity may differ between two runs of the same thing on the same machine, as a relative
// standard deviation: caches, placement, neighbors. One run cannot show its own drift, so this much is always allowed
// for; several runs a side replace the assumption by what they show.
const RunDrift = 0.006

// driftWeight is how many runs' worth of evidence the assumption counts.
const driftWeight = 8

// batches is how many parts of a run stand for independent looks at it: few and long, so that what comes and goes
// slowly within the run counts as the uncertainty that it is.
const batches = 8

// estimate is one quantity of one run.
type estimate struct {
	value float64
	// se is its standard error from within the run, with df degrees of freedom; 0 and 0 where the run does not tell.
	se, df float64
}

// fromSeries estimates the error of value from the run's course by batch means.
func fromSeries(value float64, series []float64) estimate {
	e := estimate{value: value}
	k := min(batches, len(series)/2)
	if k < 3 {
		k = len(series)
	}
	if k < 2 {
		return e
	}
	means := make([]float64, k)
	for i := range k {
		from, to := i*len(series)/k, (i+1)*len(series)/k
		means[i] = mean(series[from:to])
	}
	e.se, e.df = math.Sqrt(variance(means)/float64(k)), float64(k-1)
	return e
}

// fromInterval turns a confidence interval back into a standard error.
func fromInterval(value float64, in *result.Interval) estimate {
	const normal95 = 1.96
	if in == nil || in.High <= in.Low {
		return estimate{value: value}
	}
	return estimate{value: value, se: (in.High - in.Low) / 2 / normal95, df: 30}
}

func mean(xs []float64) float64 {
	sum := 0.0
	for _, x := range xs {
		sum += x
	}
	return sum / float64(len(xs))
}

// variance is Σ(x-mean)²/(n-1).
func variance(xs []float64) float64 {
	if len(xs) < 2 {
		return 0
	}
	m, sum := mean(xs), 0.0
	for _, x := range xs {
		sum += (x - m) * (x - m)
	}
	return sum / float64(len(xs)-1)
}
