package pause

import (
	"fmt"
	"math"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"
)

// Distribution makes a source of durations around a mean: constant, exponential, or normal, lognormal or bimodal with the given
// deviation. It is not for several goroutines.
func Distribution(kind string, dev time.Duration, rnd *rand.Rand) (func(mean time.Duration) time.Duration, error) {
	switch kind {
	case "", "constant":
		return func(mean time.Duration) time.Duration { return mean }, nil
	case "normal":
		return func(mean time.Duration) time.Duration {
			return max(0, mean+time.Duration(rnd.NormFloat64()*float64(dev)))
		}, nil
	case "lognormal":
		return func(mean time.Duration) time.Duration {
			if mean <= 0 {
				return 0
			}
			// The log's parameters that give the asked-for mean and deviation.
			variance := math.Log1p(float64(dev) * float64(dev) / (float64(mean) * float64(mean)))
			mu := math.Log(float64(mean)) - variance/2
			return time.Duration(math.Exp(mu + math.Sqrt(variance)*rnd.NormFloat64()))
		}, nil
	case "exponential":
		return func(mean time.Duration) time.Duration { return time.Duration(rnd.ExpFloat64() * float64(mean)) }, nil
	case "bimodal": // one in ten takes three deviations longer; the others are shorter, so that mean and deviation are kept
		return func(mean time.Duration) time.Duration {
			if rnd.IntN(10) == 0 {
				return mean + 3*dev
			}
			return max(0, mean-dev/3)
		}, nil
	}
	return nil, fmt.Errorf("unknown distribution %q; use constant, exponential, normal, lognormal or bimodal", kind)
}

// Tokens is the pace of a language model.
type Tokens struct {
	First   time.Duration // to the first token
	Each    time.Duration // between two others
	Prefill time.Duration // added to the first for each token of the prompt

	FirstDev, EachDev time.Duration
	Distribution      string // of both

	// Slowdown lengthens all times by this share for each request in flight beyond Free, and beyond the first.
	Slowdown float64
	Free     int
}

// Pacer gives the times of tokens to many requests. Make one with NewPacer.
type Pacer struct {
	Tokens
	mu                  sync.Mutex // the draws share one source
	drawFirst, drawEach func(time.Duration) time.Duration
	inflight            atomic.Int64
}

// NewPacer makes a pacer. The same seeds give the same times.
func NewPacer(t Tokens, seed, stream uint64) (*Pacer, error) {
	p := &Pacer{Tokens: t}
	rnd := rand.New(rand.NewPCG(seed, stream))
	var err error
	if p.drawFirst, err = Distribution(t.Distribution, t.FirstDev, rnd); err != nil {
		return nil, err
	}
	p.drawEach, err = Distribution(t.Distribution, t.EachDev, rnd)
	return p, err
}

// Begin counts a request in flight until end is called.
func (p *Pacer) Begin() (end func()) {
	p.inflight.Add(1)
	return func() { p.inflight.Add(-1) }
}

// Step is how long token k takes, counted from the one before it, or from the arrival of the request, around these means.
func (p *Pacer) Step(k, promptTokens int, first, each time.Duration) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	var d time.Duration
	if k == 0 {
		d = p.drawFirst(first) + time.Duration(promptTokens)*p.Prefill
	} else {
		d = p.drawEach(each)
	}
	if p.Slowdown == 0 {
		return d
	}
	others := p.inflight.Load() - int64(max(p.Free, 1))
	return time.Duration(float64(d) * (1 + p.Slowdown*float64(max(others, 0))))
}
