package load

import (
	"math"
	"testing"
	"time"

	"github.com/redline-bench/redline/internal/pace"
	"github.com/redline-bench/redline/internal/plan"
)

func times(s interface{ Next() (time.Duration, bool) }, n int) []float64 {
	var out []float64
	for range n {
		t, ok := s.Next()
		if !ok {
			break
		}
		out = append(out, t.Seconds())
	}
	return out
}

func TestConstantAndRisingRates(t *testing.T) {
	lv := Level{Mode: plan.RequestRate, Rate: 10}
	got := times(newSchedule(&lv, &Shape{Arrival: Constant}, 0), 20)
	for i, x := range got {
		if math.Abs(x-float64(i+1)/10) > 1e-6 {
			t.Fatalf("request %d at %v", i, x)
		}
	}
	// Over a ramp of 4 s to 10 a second half as many requests come, and n of them by sqrt(2·n·4/10).
	got = times(newSchedule(&lv, &Shape{Arrival: Constant, Ramp: 4 * time.Second}, 0), 30)
	for i, x := range got {
		n := float64(i + 1)
		want := math.Sqrt(2 * n * 4 / 10)
		if n > 20 {
			want = 4 + (n-20)/10
		}
		if math.Abs(x-want) > 1e-6 {
			t.Fatalf("request %d at %v, want %v", i, x, want)
		}
	}
	// Stages end.
	lv.Stages = []pace.Stage{{From: 10, To: 10, Time: time.Second}, {From: 10, To: 30, Time: time.Second}, {From: 5, To: 5, Time: time.Second}}
	got = times(newSchedule(&lv, &Shape{Arrival: Constant}, 0), 1000)
	if len(got) != 35 || got[9] > 1.0001 || got[29] > 2.0001 || got[34] > 3.0001 {
		t.Errorf("%d requests: %v", len(got), got)
	}
}

// The gaps of each arrival have a mean of one over the rate, and the deviation of their distribution.
func TestArrivals(t *testing.T) {
	f := func(o Shape, cv float64) {
		t.Helper()
		lv := Level{Mode: plan.RequestRate, Rate: 100}
		got := times(newSchedule(&lv, &o, 3), 20_000)
		var mean, m2, last float64
		for _, x := range got {
			gap := x - last
			last = x
			mean += gap / float64(len(got))
			m2 += gap * gap / float64(len(got))
		}
		std := math.Sqrt(m2 - mean*mean)
		if math.Abs(mean-0.01) > 0.0005 || math.Abs(std/mean-cv) > 0.05 {
			t.Errorf("%s: mean %v, deviation over mean %v, want %v", o.Arrival, mean, std/mean, cv)
		}
	}
	f(Shape{Arrival: Poisson}, 1)
	f(Shape{Arrival: Gamma, Smoothness: 4}, 0.5)
	f(Shape{Arrival: Gamma, Smoothness: 0.25}, 2)
	f(Shape{Arrival: Gamma, Smoothness: 1}, 1)
}
