package pause

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"
)

func TestDistributionsHaveTheirMeanAndDeviation(t *testing.T) {
	const mean, dev, n = 20 * time.Millisecond, 4 * time.Millisecond, 200000
	for kind, want := range map[string]time.Duration{"constant": 0, "normal": dev, "lognormal": dev, "exponential": mean, "bimodal": dev} {
		draw, err := Distribution(kind, dev, rand.New(rand.NewPCG(1, 2)))
		if err != nil {
			t.Fatal(err)
		}
		var sum, squares float64
		for range n {
			v := float64(draw(mean))
			sum += v
			squares += v * v
		}
		m := sum / n
		d := math.Sqrt(max(0, squares/n-m*m))
		if math.Abs(m/float64(mean)-1) > 0.01 || math.Abs(d-float64(want)) > 0.02*float64(dev) {
			t.Errorf("%s: mean %v, deviation %v", kind, time.Duration(m), time.Duration(d))
		}
	}
	if _, err := Distribution("nope", 0, nil); err == nil {
		t.Error("an unknown distribution is taken")
	}
}

func TestPaceOfTokens(t *testing.T) {
	p, err := NewPacer(Tokens{First: 10 * time.Millisecond, Each: 2 * time.Millisecond, Prefill: time.Millisecond, Slowdown: 0.5, Free: 2}, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	step := func(k, prompt int, want time.Duration) {
		t.Helper()
		if got := p.Step(k, prompt, p.First, p.Each); got != want {
			t.Errorf("token %d after a prompt of %d took %v, want %v", k, prompt, got, want)
		}
	}
	defer p.Begin()()
	step(0, 5, 15*time.Millisecond)
	step(1, 5, 2*time.Millisecond)
	defer p.Begin()()
	step(1, 5, 2*time.Millisecond) // two are free
	end := p.Begin()
	step(1, 5, 3*time.Millisecond)
	step(0, 0, 15*time.Millisecond)
	end()
	step(1, 0, 2*time.Millisecond)
}

func TestSeedsRepeat(t *testing.T) {
	draw := func(seed uint64) (out [5]time.Duration) {
		p, err := NewPacer(Tokens{First: time.Second, Each: time.Second, EachDev: time.Second / 4, Distribution: "lognormal"}, seed, 1)
		if err != nil {
			t.Fatal(err)
		}
		for k := range out {
			out[k] = p.Step(k, 0, p.First, p.Each)
		}
		return out
	}
	first, again, other := draw(1), draw(1), draw(2)
	if first != again || first == other {
		t.Error("times do not follow the seed")
	}
}
