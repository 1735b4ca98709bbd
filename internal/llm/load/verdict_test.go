package load_test

import (
	"testing"
	"time"

	"github.com/redline-bench/redline/internal/llm"
	"github.com/redline-bench/redline/internal/llm/load"
	"github.com/redline-bench/redline/internal/llm/metric"
	"github.com/redline-bench/redline/internal/pace"
	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/service"
)

// A closed loop is held to the requests that could have been in flight: the pauses of a conversation are not the client's.
func TestPausesOfAConversationAreNotTheClientsLimit(t *testing.T) {
	cfg := config(t, quick(), 40, llm.Turn{Texts: []string{"a"}}, llm.Turn{Texts: []string{"b"}, Delay: 300 * time.Millisecond})
	out := runLevel(t, cfg, closed(4))
	if h := &out.Level.Health; len(out.Reasons) > 0 || h.AchievedInFlight > 1 {
		t.Errorf("%g in flight: %+v", h.AchievedInFlight, out.Reasons)
	}
}

// Neither are think times, which the samples show and no latency holds.
func TestThinkTimeIsNotTheClientsLimit(t *testing.T) {
	cfg := config(t, quick(), 12, llm.Turn{Texts: []string{"a"}})
	cfg.Options.ThinkTime = pace.ThinkTime{Mean: 100 * time.Millisecond, Spread: 20 * time.Millisecond}
	ends := map[uint32]int64{}
	thought := 0
	cfg.Sample = func(s *llm.Sample) {
		if end, ok := ends[s.Slot]; ok {
			thought++
			if d := time.Duration(s.Sent - end); d < 80*time.Millisecond {
				t.Errorf("slot %d thought for %s", s.Slot, d)
			}
		}
		ends[s.Slot] = s.End
	}
	out := runLevel(t, cfg, closed(4))
	h := &out.Level.Health
	if len(out.Reasons) > 0 || h.AchievedInFlight > 1 || thought != 8 || out.Level.Client.Latency.Max > float64(80*time.Millisecond) {
		t.Errorf("%g of %g in flight, %d think times, %+v", h.AchievedInFlight, h.AskedInFlight, thought, out.Reasons)
	}
}

// A cap that the user set holds requests back; the client does not.
func TestACapIsNotTheClientsLimit(t *testing.T) {
	cfg := config(t, quick(), -1)
	cfg.Options.Requests = 100
	capped := rate(1000)
	capped.Concurrency = 1
	out := runLevel(t, cfg, capped)
	if h := &out.Level.Health; len(out.Reasons) > 0 || h.LagP99Ns < int64(100*time.Millisecond) {
		t.Errorf("lag %s, %+v", time.Duration(h.LagP99Ns), out.Reasons)
	}
}

// Requests that were due and could not be sent before the end are counted, whatever held them back.
func TestRequestsThatWereNeverSentAreCounted(t *testing.T) {
	f := func(lv load.Level, limit int, want uint64, turns ...llm.Turn) {
		t.Helper()
		cfg := config(t, &server{first: 10 * time.Millisecond, tokens: 1, gap: time.Millisecond}, -1, turns...)
		cfg.Options.Duration, cfg.Options.Grace, cfg.Options.Arrival, cfg.Options.Requests = time.Second, time.Second, load.Constant, limit
		lv.Concurrency = 1
		out := runLevel(t, cfg, lv)
		total := out.Collector.Requests() + out.Level.Health.Dropped
		if d := out.Level.Health.Dropped; total < want-1 || total > want+1 || want == 200 && d < 50 {
			t.Errorf("%s: %d sent, %d dropped, %d were due", lv.String(), out.Collector.Requests(), d, want)
		}
	}
	f(rate(200), 0, 200)
	f(rate(200), 0, 200, llm.Turn{Texts: []string{"a"}}, llm.Turn{Texts: []string{"b"}})
	f(rate(200), 20, 20)
	f(rate(20), 0, 20)
	f(load.Level{Mode: plan.RequestRate, Rate: 20, Users: 2}, 0, 20)
}

// The level says how many connections carried the requests, and that they are what limits it.
func TestSharedConnectionsAreReported(t *testing.T) {
	s := quick()
	s.shared = 2
	cfg := config(t, s, 40)
	cfg.Options.Warmup.Requests = 20
	for _, svc := range []service.Service{s, load.NewBalanced([]service.Service{s})} {
		cfg.Service = svc
		h := runLevel(t, cfg, closed(4)).Level.Health
		if h.Connections != 2 || h.ConnectionBusy < 0.49 || h.ConnectionBusy > 0.51 {
			t.Errorf("%d connections, busy for %g of the time; want 2 and 0.5", h.Connections, h.ConnectionBusy)
		}
	}
}

// A client that sends a third of what is due is found out: it cannot open connections for more.
func TestAClientThatFallsBehindIsTheLimitOfAnLLMRun(t *testing.T) {
	for _, arrival := range []load.Arrival{load.Constant, load.Poisson} {
		cfg := config(t, &server{first: 2 * time.Second, gap: time.Millisecond, tokens: 4, connections: 64}, -1)
		cfg.Options.Requests, cfg.Options.Arrival = 300, arrival
		out := runLevel(t, cfg, rate(100))
		if h := &out.Level.Health; len(out.Reasons) == 0 || h.AchievedRate > h.AskedRate/2 {
			t.Errorf("%s: sent %g of %g, %+v", arrival, h.AchievedRate, h.AskedRate, out.Reasons)
		}
	}
}

// The wait for the last responses is no part of the rate that was sent.
func TestTheRateOfAnLLMRunEndsWithTheLastSend(t *testing.T) {
	for _, arrival := range []load.Arrival{load.Constant, load.Poisson, load.Gamma} {
		cfg := config(t, &server{first: 2 * time.Second, gap: time.Millisecond, tokens: 4}, -1)
		cfg.Options.Requests, cfg.Options.Arrival, cfg.Options.Smoothness = 30, arrival, 0.5
		out := runLevel(t, cfg, rate(20))
		if h := &out.Level.Health; len(out.Reasons) > 0 || h.AchievedRate < 0.999*h.AskedRate {
			t.Errorf("%s: sent %g of %g, %+v", arrival, h.AchievedRate, h.AskedRate, out.Reasons)
		}
	}
}

// Every tenth answer takes 8 s and is cut when the level ends after two seconds.
func TestAnswersThatAreCutAtTheEndLeavePercentilesOpen(t *testing.T) {
	s := quick()
	s.gap = 20 * time.Millisecond
	s.answer = func(n int64, _ string) ([]string, *service.Error) {
		events := 1
		if n%10 == 9 {
			events = 400
		}
		var out []string
		for range events {
			out = append(out, token("t "))
		}
		return append(out, usage(3, events), "data: [DONE]\n\n"), nil
	}
	cfg := config(t, s, -1)
	cfg.Options.Duration, cfg.Options.Grace, cfg.Options.Arrival = 2*time.Second, 0, load.Constant
	out := runLevel(t, cfg, rate(50))
	c := &out.Level.Client
	if c.Unfinished < 9 || c.OldestNs < int64(1700*time.Millisecond) || c.OldestNs > int64(2*time.Second) {
		t.Errorf("%d in flight at the end, the oldest for %s", c.Unfinished, time.Duration(c.OldestNs))
	}
	if p := c.Latency.Point(99); !p.AtLeast || p.V < float64(time.Second) {
		t.Errorf("p99 %+v", p)
	}
	m, _ := metric.Find(out.Level.Metrics, "request_latency")
	for _, q := range m.Quantiles {
		if q.P == 99 && (!q.AtLeast || q.V < 1000) || q.P == 50 && q.AtLeast {
			t.Errorf("request_latency %+v", q)
		}
	}
	if first := c.First.Point(99); first.AtLeast {
		t.Errorf("the first token of each answer came: %+v", first)
	}
}
