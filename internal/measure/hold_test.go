package measure_test

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/redline-bench/redline/internal/measure"
	"github.com/redline-bench/redline/internal/record"
	"github.com/redline-bench/redline/internal/service"
	"github.com/redline-bench/redline/internal/testkit"
)

// batched is a model whose requests Triton may hold.
var batched = service.Model{Scheduler: service.DynamicBatcher}

// simulation is a closed loop on a server that takes 20 ms, and longer by what wait draws for each of the requests in flight.
type simulation struct {
	slots, rounds int
	wait          func(rng *rand.Rand, waits []float64) // in milliseconds
}

// run makes the window, and the time in the queue if all waiting was there.
func (s *simulation) run(rng *rand.Rand) (w *measure.Window, queue service.Tally) {
	w = measure.NewWindow(measure.Setup{})
	now := int64(0)
	waits := make([]float64, s.slots)
	for range s.rounds {
		clear(waits)
		s.wait(rng, waits)
		last := now
		for _, wait := range waits {
			ns := int64(wait * float64(ms))
			sent := now + rng.Int64N(ms)
			r := &record.Record{Due: sent, Sent: sent, Written: sent, End: sent + 20*ms + rng.Int64N(2*ms) + ns, Responses: 1}
			r.First = r.End
			w.Add(r)
			last = max(last, r.End)
			queue = queue.Add(service.Tally{Count: 1, Ns: uint64(ns + rng.Int64N(2*ms))})
		}
		now = last
	}
	return w, queue
}

// held delays all requests in flight by about 500 ms with the given probability.
func held(chance float64) func(*rand.Rand, []float64) {
	return func(rng *rand.Rand, waits []float64) {
		if rng.Float64() >= chance {
			return
		}
		for i := range waits {
			waits[i] = 500 - 3*rng.Float64() - 20*rng.Float64()*float64(min(i, 1))
		}
	}
}

// tail delays single requests with the given probability.
func tail(chance float64, draw func(*rand.Rand) float64) func(*rand.Rand, []float64) {
	return func(rng *rand.Rand, waits []float64) {
		for i := range waits {
			if rng.Float64() < chance {
				waits[i] = draw(rng)
			}
		}
	}
}

func TestHoldIsFound(t *testing.T) {
	testkit.Rounds(t, 100, func(t *testing.T, rng *rand.Rand) {
		s := simulation{slots: 1 + rng.IntN(10), rounds: 400, wait: held(0.04 + 0.05*rng.Float64())}
		w, queue := s.run(rng)
		h := w.Hold(&batched, queue)
		if h == nil {
			t.Fatal("not found")
		}
		wait := float64(h.WaitedNs) / 1e6 / float64(h.Requests)
		if h.Requests != uint64(h.Times*s.slots) || wait < 480 || wait > 501 || h.Share < 0.2 || h.Share > 0.85 {
			t.Errorf("%d slots: %+v, %g ms each", s.slots, *h, wait)
		}
	})
}

// Slow tails, pauses of the server and full queues are not taken for holds, even if all of their time was in the queue.
func TestOrdinaryTailsAreNotHolds(t *testing.T) {
	for name, wait := range map[string]func(*rand.Rand, []float64){
		"lognormal":   tail(1, func(rng *rand.Rand) float64 { return 10 * math.Exp(1.5*rng.NormFloat64()) }),
		"exponential": tail(0.02, func(rng *rand.Rand) float64 { return 300 * rng.ExpFloat64() }),
		"Pareto":      tail(0.005, func(rng *rand.Rand) float64 { return 50 / math.Pow(1-rng.Float64(), 0.8) }),
		"normal":      tail(0.02, func(rng *rand.Rand) float64 { return max(0, 500+100*rng.NormFloat64()) }),
		"pauses": func(rng *rand.Rand, waits []float64) {
			if rng.Float64() < 0.01 {
				long := 100 + 900*rng.Float64()
				for i := range waits {
					waits[i] = long - 10*rng.Float64()
				}
			}
		},
		"full queue": tail(1, func(*rand.Rand) float64 { return 500 }),
	} {
		alarms, runs := 0, 0
		testkit.Rounds(t, 1, func(_ *testing.T, rng *rand.Rand) {
			const each = 500
			runs += each
			for range each {
				s := simulation{slots: 1 + rng.IntN(10), rounds: 100 + rng.IntN(400), wait: wait}
				if w, queue := s.run(rng); w.Hold(&batched, queue) != nil {
					alarms++
				}
			}
		})
		if alarms > runs/500 {
			t.Errorf("%s: taken for holds in %d of %d runs", name, alarms, runs)
		}
	}
}

// Either side alone proves nothing.
func TestHoldNeedsBothSides(t *testing.T) {
	testkit.Rounds(t, 5, func(t *testing.T, rng *rand.Rand) {
		s := simulation{slots: 4, rounds: 400, wait: held(0.03)}
		w, queue := s.run(rng)
		if w.Hold(&batched, queue) == nil {
			t.Fatal("not found")
		}
		f := func(why string, m service.Model, queue service.Tally) {
			t.Helper()
			if h := w.Hold(&m, queue); h != nil {
				t.Errorf("%s: %+v", why, *h)
			}
		}
		f("the time was not in the queue", batched, service.Tally{Count: queue.Count, Ns: queue.Ns / 2})
		f("all requests waited", batched, service.Tally{Count: queue.Count, Ns: queue.Ns + queue.Count*uint64(60*ms)})
		f("others load the server too", batched, service.Tally{Count: 2 * queue.Count, Ns: queue.Ns})
		f("the server counted nothing", batched, service.Tally{})
		f("the model does not batch", service.Model{}, queue)
		f("the model waits for batches", service.Model{Scheduler: service.DynamicBatcher, MaxQueueDelay: 500 * time.Millisecond}, queue)
		one := false
		s.wait = func(rng *rand.Rand, waits []float64) {
			if !one {
				one = true
				held(1)(rng, waits)
			}
		}
		w, queue = s.run(rng)
		f("it happened once", batched, queue)
		if w, queue = (&simulation{slots: 1, rounds: 100, wait: held(0)}).run(rng); w.Hold(&batched, queue) != nil {
			t.Error("nothing happened")
		}
	})
}
