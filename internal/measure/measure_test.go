package measure_test

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/redline-bench/redline/internal/measure"
	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/record"
	"github.com/redline-bench/redline/internal/result"
	"github.com/redline-bench/redline/internal/service"
)

const ms = int64(time.Millisecond)

// rec is a request that was due at due, sent at sent and answered whole at end; writing took 1 ms, receiving 2 ms.
func rec(due, sent, end int64) *record.Record {
	return &record.Record{Due: due * ms, Sent: sent * ms, Written: (sent + 1) * ms, First: (end - 2) * ms, End: end * ms, Responses: 1}
}

func TestClientNumbersOfAKnownWindow(t *testing.T) {
	w, nearest := measure.NewWindow(measure.Setup{Batch: 3, Percentile: 85}), measure.NewWindow(measure.Setup{Percentile: 85, NearestRank: true})
	for i := int64(1); i <= 10; i++ {
		w.Add(rec(0, 0, 10*i)) // latencies 10, 20 … 100 ms
		nearest.Add(rec(0, 0, 10*i))
	}
	bad := rec(0, 0, 5)
	bad.Class = record.Server
	w.Add(bad)
	c := w.Client(2 * time.Second)
	if c.Requests != 10 || c.Failed != 1 || c.Responses != 10 {
		t.Errorf("requests %d, failed %d, responses %d", c.Requests, c.Failed, c.Responses)
	}
	if c.InferPerSec != 15 { // 10 requests × batch 3 / 2 s
		t.Errorf("%g infer/sec, want 15", c.InferPerSec)
	}
	if c.Latency.Avg != float64(55*ms) {
		t.Errorf("mean %g", c.Latency.Avg)
	}
	// Σ(l-55)² = 2·(45²+35²+25²+15²+5²) = 8250 ms²; /9 = 916.67; root 30.277 ms
	if d := math.Abs(float64(c.Latency.Std)/float64(ms) - 30.2765); d > 0.001 {
		t.Errorf("deviation %g", c.Latency.Std)
	}
	// rank p/100·9: p50 → 4.5 (between 50 and 60 ms), p85 → 7.65, p90 → 8.1, p95 → 8.55, p99 → 8.91.
	// perf_analyzer's index = trunc(p/100·9 + 0.5): p50 → 5 (60 ms), p85 → 8 (90), p90 → 8 (90), p95 → 9 (100), p99 → 9 (100)
	n := nearest.Client(time.Second)
	for p, want := range map[float64][2]float64{50: {55, 60}, 85: {86.5, 90}, 90: {91, 90}, 95: {95.5, 100}, 99: {99.1, 100}} {
		if got := [2]float64{c.Latency.At(p) / float64(ms), n.Latency.At(p) / float64(ms)}; got != want {
			t.Errorf("p%g and its nearest rank = %v ms, want %v", p, got, want)
		}
	}
	if c.SendNs != uint64(ms) || c.RecvNs != uint64(2*ms) || c.CallNs != uint64(55*ms) {
		t.Errorf("send %d, receive %d, call %d", c.SendNs, c.RecvNs, c.CallNs)
	}
}

// A sender that is taken off its core after the last byte notes the time late; the parts of a call still add up.
func TestNobodySendsLongerThanUntilTheAnswer(t *testing.T) {
	w := measure.NewWindow(measure.Setup{Batch: 1})
	w.Add(&record.Record{Sent: 10 * ms, Written: 17 * ms, First: 14 * ms, End: 15 * ms, Responses: 1})
	c := w.Client(time.Second)
	if c.SendNs != uint64(4*ms) || c.RecvNs != uint64(ms) || c.CallNs != uint64(5*ms) {
		t.Errorf("send %d, receive %d, call %d", c.SendNs, c.RecvNs, c.CallNs)
	}
}

func TestOpenLoopKnowsBothLatencies(t *testing.T) {
	f := func(fromSend bool, headline float64) {
		t.Helper()
		w := measure.NewWindow(measure.Setup{Open: true, FromSend: fromSend})
		w.Add(rec(0, 30, 40))
		c := w.Client(time.Second)
		if c.Latency.Avg != headline*float64(ms) || c.Sent.Avg != float64(10*ms) || c.Due.Avg != float64(40*ms) {
			t.Errorf("from send %v: headline %g, sent %g, due %g", fromSend, c.Latency.Avg, c.Sent.Avg, c.Due.Avg)
		}
		if h := w.Health(measure.Load{Wall: time.Second}); h.LagMaxNs != 30*ms || h.LagP99Ns != 30*ms {
			t.Errorf("lag %+v", h)
		}
	}
	f(false, 40)
	f(true, 10)
}

func TestMergedWindowsEqualOneWindow(t *testing.T) {
	setup := measure.Setup{Batch: 2, Open: true, Streaming: true}
	whole, merged := measure.NewWindow(setup), measure.NewWindow(setup)
	for part := range int64(3) {
		w := measure.NewWindow(setup)
		for i := range 5 + part {
			r := rec(part, part+i, part+10*i+7)
			if i%2 == 0 {
				r.Flags = record.Delayed | record.SequenceEnd
			}
			w.Add(r)
			whole.Add(r)
		}
		merged.Merge(w)
	}
	if d := cmp.Diff(merged.Client(time.Second), whole.Client(time.Second)); d != "" {
		t.Error(d)
	}
}

// Window 100, in flight for 63 of it: 37 percent overhead.
func TestOverhead(t *testing.T) {
	w := measure.NewWindow(measure.Setup{})
	w.Add(rec(0, 0, 63))
	if got := w.Overhead(1, time.Duration(100*ms), 0); math.Abs(got-37) > 1e-9 {
		t.Errorf("closed loop: %g %%", got)
	}
	if got := w.Overhead(0, time.Duration(100*ms), time.Duration(42*ms)); math.Abs(got-42) > 1e-9 {
		t.Errorf("open loop: %g %%", got)
	}
	w.Add(rec(0, 0, 63))
	if got := w.Overhead(1, time.Duration(100*ms), 0); got != 0 {
		t.Errorf("more in flight than asked for: %g %%", got)
	}
}

// A load without a fixed concurrency is held to the time in which its slots could have had a request in flight.
func TestIdleSlotsAreTheClientsLimit(t *testing.T) {
	w := measure.NewWindow(measure.Setup{})
	for range 4 {
		w.Add(rec(0, 0, 500))
	}
	f := func(idle time.Duration, asked float64, reasons int) {
		t.Helper()
		l := measure.Load{Wall: time.Second, Idle: idle}
		lv := result.Level{Client: w.Client(time.Second), Health: w.Health(l)}
		if got := measure.Judge(&lv, l); len(got) != reasons || math.Abs(lv.Health.AskedInFlight-asked) > 1e-9 {
			t.Errorf("idle %s: %g in flight asked for, %+v", idle, lv.Health.AskedInFlight, got)
		}
	}
	f(100*time.Millisecond, 2.1, 0)
	f(500*time.Millisecond, 2.5, 1)
}

// Four slots that take 100 ms for a request and think for 900 ms: the think time is not the client's limit, but sending after
// its end is.
func TestThinkTimeIsNotTheClientsLimit(t *testing.T) {
	f := func(late int64, asked float64, reasons int) {
		t.Helper()
		w := measure.NewWindow(measure.Setup{})
		for range 4 {
			w.Add(rec(100, 100+late, 200+late))
		}
		l := measure.Load{Wall: time.Second, Concurrency: 4}
		l.Idle, l.Paused = w.Think(4, time.Second)
		lv := result.Level{Client: w.Client(time.Second), Health: w.Health(l)}
		if got := measure.Judge(&lv, l); len(got) != reasons || math.Abs(lv.Health.AskedInFlight-asked) > 1e-9 {
			t.Errorf("%d ms late: %g in flight asked for, %+v", late, lv.Health.AskedInFlight, got)
		}
	}
	f(0, 0.4, 0)
	f(50, 0.4/0.95, 0)
	f(200, 0.4/0.8, 1)
}

func TestReadLag(t *testing.T) {
	a, b := measure.NewWindow(measure.Setup{}), measure.NewWindow(measure.Setup{})
	add := func(w *measure.Window, late int64) {
		r := rec(0, 0, 10)
		r.Late = late * ms
		w.Add(r)
	}
	add(a, 0)
	if h := a.Health(measure.Load{}); h.ReadLag != nil {
		t.Errorf("a lag that nobody knows is %+v", h.ReadLag)
	}
	add(a, 1)
	add(a, 2)
	add(b, 9)
	a.Merge(b)
	want := result.ReadLag{P50Ns: 2 * ms, P99Ns: 886 * ms / 100, MaxNs: 9 * ms}
	if h := a.Health(measure.Load{}); h.ReadLag == nil || *h.ReadLag != want {
		t.Errorf("%+v, want %+v", h.ReadLag, want)
	}
}

func windows(rates []float64, latencies []int64) []result.Window {
	var out []result.Window
	for i := range rates {
		w := result.Window{Client: result.Client{InferPerSec: rates[i], Latency: result.Metric{Avg: float64(latencies[i] * ms)}}}
		if rates[i] == 0 {
			w.Error = "nothing"
		}
		out = append(out, w)
	}
	return out
}

func TestStability(t *testing.T) {
	f := func(want, wantThroughputOnly bool, rates []float64, latencies []int64) {
		t.Helper()
		m := &plan.Measure{Stability: 0.1}
		got, reason := measure.Stable(windows(rates, latencies), m, false)
		only, _ := measure.Stable(windows(rates, latencies), m, true)
		if got != want || only != wantThroughputOnly || got != (reason == "") {
			t.Errorf("%v %v: stable %v (%s), throughput alone %v", rates, latencies, got, reason, only)
		}
	}
	f(false, false, []float64{100, 100}, []int64{5, 5})
	f(true, true, []float64{100, 105, 110}, []int64{50, 52, 55})
	f(false, false, []float64{100, 105, 111}, []int64{50, 52, 55})
	f(false, true, []float64{100, 105, 110}, []int64{50, 52, 56})
	f(false, false, []float64{0, 105, 110}, []int64{50, 52, 55})
	f(true, true, []float64{0, 1, 100, 100, 100}, []int64{9, 9, 5, 5, 5}) // only the last three count
}

func TestLimitIsComparedInWholeMilliseconds(t *testing.T) {
	m := &plan.Measure{LatencyLimit: 20 * time.Millisecond}
	for avg, want := range map[float64]bool{19_999_999: false, 20_000_000: true} {
		c := &result.Client{Latency: result.Metric{Avg: avg}}
		if got := measure.OverLimit(c, m); got != want {
			t.Errorf("mean of %.0f ns: over the limit %v", avg, got)
		}
	}
}

func stat(name, version string, n uint64) service.ModelStats {
	t := service.Tally{Count: n, Ns: n * 1000}
	return service.ModelStats{Name: name, Version: version, InferenceCount: n, ExecutionCount: n, Success: t, Queue: t}
}

func TestServerDeltaPicksTheVersionThatWorked(t *testing.T) {
	m := &service.Model{Name: "m"}
	from := []service.ModelStats{stat("m", "1", 5), stat("m", "2", 7), stat("m", "10", 1), stat("other", "1", 3)}
	to := []service.ModelStats{stat("m", "1", 9), stat("m", "2", 7), stat("m", "10", 2), stat("other", "1", 99)}
	s, several, err := measure.ServerDelta(m, from, to)
	if err != nil || s.Stats.Version != "10" || s.Stats.InferenceCount != 1 || len(several) != 1 {
		t.Errorf("got %+v, several %v, %v", s, several, err)
	}
	m.Version = "1"
	if s, several, err = measure.ServerDelta(m, from, to); err != nil || s.Stats.InferenceCount != 4 || several != nil {
		t.Errorf("asked for 1: %+v, several %v, %v", s, several, err)
	}
	m.Version = ""
	if _, _, err = measure.ServerDelta(m, from, from); !errors.Is(err, measure.ErrNoVersion) {
		t.Errorf("nothing worked: %v", err)
	}
	m.OwnCache = true // every response may have come from the cache
	if s, _, err = measure.ServerDelta(m, from, from); err != nil || s.Stats.InferenceCount != 0 {
		t.Errorf("cached: %+v, %v", s, err)
	}
}

func TestVerdict(t *testing.T) {
	f := func(name string, lv result.Level, l measure.Load, want result.State) {
		t.Helper()
		reasons := measure.Judge(&lv, l)
		v := measure.Conclude(measure.Run{Levels: []result.Level{lv}, Limits: [][]result.Reason{reasons}})
		if v.State != want || lv.ClientLimited != (want == result.ClientLimited) {
			t.Errorf("%s: %+v, client-limited %v; want %s", name, v, lv.ClientLimited, want)
		}
		for _, r := range v.Reasons {
			if r.Try == "" {
				t.Errorf("%s: no way out for %q", name, r.What)
			}
		}
	}
	good := result.Level{Stable: true, Client: result.Client{Requests: 15000, Sent: result.Metric{Quantiles: []result.Quantile{{P: 50, V: 20e6}}}}}
	with := func(h result.Health) result.Level { lv := good; lv.Health = h; return lv }
	f("in flight as asked", with(result.Health{AskedInFlight: 8, AchievedInFlight: 7.9}), measure.Load{Concurrency: 8}, result.Valid)
	f("in flight short", with(result.Health{AskedInFlight: 8, AchievedInFlight: 7}), measure.Load{Concurrency: 8}, result.ClientLimited)
	f("rate as due", with(result.Health{AchievedRate: 995}), measure.Load{Rate: 1000, Due: 15000}, result.Valid)
	f("rate short", with(result.Health{AchievedRate: 980}), measure.Load{Rate: 1000, Due: 15000}, result.ClientLimited)
	f("late but little", with(result.Health{AchievedRate: 1000, LagP99Ns: 2*ms - 1}), measure.Load{Rate: 1000, Due: 15000}, result.Valid)
	f("late", with(result.Health{AchievedRate: 1000, LagP99Ns: 2*ms + 1}), measure.Load{Rate: 1000, Due: 15000}, result.ClientLimited)
	f("one request at the edge of a window", with(result.Health{AchievedRate: 14.0 / 15}), measure.Load{Rate: 1, Due: 15}, result.Valid)
	f("late because of a limit of the user", with(result.Health{AchievedRate: 500, LagP99Ns: 200 * ms}), measure.Load{Rate: 1000, Due: 15000, Held: true}, result.Valid)
	f("no CPU left", with(result.Health{AchievedInFlight: 8, CPUCores: 1.9}), measure.Load{Concurrency: 8, MaxProcs: 2}, result.ClientLimited)
	f("no requests", result.Level{Stable: true}, measure.Load{Rate: 1000, Due: 15000}, result.Valid)
	f("unstable", result.Level{Reason: "x"}, measure.Load{}, result.Unstable)
	short := with(result.Health{AchievedRate: 980})
	if r := measure.Judge(&short, measure.Load{Rate: 1000, Due: 15000, Serial: true}); len(r) != 1 || !strings.Contains(r[0].Try, "--num-of-sequences") {
		t.Errorf("sequences that wait: %+v", r)
	}
	waits := with(result.Health{AskedInFlight: 64, AchievedInFlight: 45, Connections: 1, MoreConnections: 8})
	if r := measure.Judge(&waits, measure.Load{Concurrency: 64}); len(r) != 1 || !strings.Contains(r[0].Try, "--connections 8") {
		t.Errorf("requests that wait for their connection: %+v", r)
	}
	if v := measure.Conclude(measure.Run{Error: "server gone"}); v.State != result.Failed {
		t.Errorf("failed run: %+v", v)
	}
}
