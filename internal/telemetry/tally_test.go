package telemetry_test

import (
	"math"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/record"
	"github.com/redline-bench/redline/internal/result"
	"github.com/redline-bench/redline/internal/telemetry"
)

// Every request is counted once, under its level and outcome; a level that is measured again goes on.
func TestTallyCountsEveryRequest(t *testing.T) {
	tally := telemetry.NewTally()
	one, again := &result.Level{Mode: plan.Concurrency, Concurrency: 1}, &result.Level{Mode: plan.Concurrency, Concurrency: 1}
	rate := &result.Level{Mode: plan.RequestRate, Rate: 50}
	for range 3 {
		tally.Add(one, false, &record.Record{Sent: 10, End: 1000})
	}
	tally.Add(rate, true, &record.Record{Due: 10, Sent: 20, First: 30, End: 40, Responses: 4})
	tally.Add(again, false, &record.Record{Class: record.Timeout})
	tally.Add(again, false, &record.Record{Flags: record.Closing})
	tally.Tokens(rate, 7, 5, 100, 500)
	tally.InFlight(one, 9)
	tally.InFlight(rate, 4)
	tally.NewReader().Read(func(levels []*telemetry.Level, _ telemetry.Usage) {
		if len(levels) != 2 || levels[0].Outcomes[record.OK] != 3 || levels[0].Outcomes[record.Timeout] != 1 || levels[0].Latency.Count() != 3 || levels[0].Lag.Count() != 0 {
			t.Errorf("levels are %+v", levels[0])
		}
		l := levels[1]
		if e := l.Latency.Exponential(); e.Count != 1 || e.Sum != 30e-9 {
			t.Errorf("latency from the due time is %+v", e)
		}
		if l.First.Count() != 1 || l.Lag.Exponential().Sum != 10e-9 || l.Tokens != 5 || l.InputTokens != 7 || l.Gap.Exponential().Sum != 100e-9 {
			t.Errorf("the level is %+v", l)
		}
		if levels[0].InFlight != 0 || levels[0].AskedInFlight != 0 || l.InFlight != 4 || l.AskedRate != 50 {
			t.Errorf("%d and %d requests are in flight", levels[0].InFlight, l.InFlight)
		}
	})
	tally.End()
	tally.NewReader().Read(func(levels []*telemetry.Level, _ telemetry.Usage) {
		if levels[1].InFlight != 0 || levels[1].AskedRate != 0 || levels[1].Outcomes[record.OK] != 1 {
			t.Errorf("after the end the level is %+v", levels[1])
		}
	})
}

// Each receiver sees the CPU and the pauses since its own last reading, however often others read.
func TestReadersDoNotDisturbEachOther(t *testing.T) {
	tally := telemetry.NewTally()
	often, once := tally.NewReader(), tally.NewReader()
	usage := func(r *telemetry.Reader) (u telemetry.Usage) {
		r.Read(func(_ []*telemetry.Level, now telemetry.Usage) { u = now })
		return u
	}
	runtime.GC() // it has a pause
	first := usage(often)
	usage(often)
	if got := usage(once); first.GCPause == 0 || got.GCPause < first.GCPause {
		t.Errorf("one reader saw a pause of %v, the other %v", first.GCPause, got.GCPause)
	}
}

// Traffic classes that run at the same time are counted apart, each with its own level in progress.
func TestTallyKeepsClassesApart(t *testing.T) {
	tally := telemetry.NewTally()
	chat := &result.Level{Class: "chat", Mode: plan.Concurrency, Concurrency: 2}
	images := &result.Level{Class: "images", Mode: plan.Concurrency, Concurrency: 2}
	tally.InFlight(chat, 2)
	for range 3 {
		tally.Add(chat, false, &record.Record{End: 10})
		tally.Add(images, false, &record.Record{End: 10})
	}
	tally.Add(images, false, &record.Record{End: 10})
	tally.NewReader().Read(func(levels []*telemetry.Level, _ telemetry.Usage) {
		if len(levels) != 2 || levels[0].Class != "chat" || levels[0].Name != "concurrency 2" || levels[0].Outcomes[record.OK] != 3 || levels[0].InFlight != 2 || levels[1].Outcomes[record.OK] != 4 {
			t.Errorf("levels are %+v and %+v", levels[0], levels[1])
		}
	})
}

// The exponential form keeps every value, in a bucket that its own edges hold within 0.1 %.
func TestExponentialHoldsTheValues(t *testing.T) {
	tally, lv := telemetry.NewTally(), &result.Level{Mode: plan.Concurrency, Concurrency: 1}
	rng := rand.New(rand.NewPCG(1, 2))
	var values []float64
	for range 5000 {
		ns := int64(math.Exp(rng.Float64()*18)) + 1000
		values = append(values, float64(ns)/1e9)
		tally.Add(lv, false, &record.Record{End: ns})
	}
	tally.Add(lv, false, &record.Record{Sent: 5, End: 5})
	tally.NewReader().Read(func(levels []*telemetry.Level, _ telemetry.Usage) {
		e := levels[0].Latency.Exponential()
		sum := e.Zeros
		for _, n := range e.Counts {
			sum += n
		}
		if e.Count != 5001 || sum != e.Count || e.Zeros != 1 {
			t.Fatalf("%d values, %d in buckets, %d zeros", e.Count, sum, e.Zeros)
		}
		edge := func(i int) float64 { return math.Exp2(float64(e.Offset+i) / (1 << telemetry.Scale)) }
		var at, below uint64
		for i, n := range e.Counts {
			at += n
			below = 0
			for _, v := range values {
				if v <= edge(i+1)*1.001 {
					below++
				}
			}
			if at > below {
				t.Fatalf("%d values are counted up to %v, only %d are so small", at, edge(i+1), below)
			}
		}
	})
}
