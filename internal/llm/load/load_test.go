package load_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redline-bench/redline/internal/llm"
	"github.com/redline-bench/redline/internal/llm/endpoint"
	"github.com/redline-bench/redline/internal/llm/load"
	"github.com/redline-bench/redline/internal/llm/metric"
	"github.com/redline-bench/redline/internal/pace"
	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/record"
	"github.com/redline-bench/redline/internal/service"
	"github.com/redline-bench/redline/internal/testkit"
	"github.com/redline-bench/redline/internal/tokenizer"
)

func closed(n int) load.Level { return load.Level{Mode: plan.Concurrency, Concurrency: n} }

func rate(r float64) load.Level { return load.Level{Mode: plan.RequestRate, Rate: r} }

func quick() *server {
	return &server{first: 5 * time.Millisecond, gap: time.Millisecond, tokens: 4}
}

// Every prompt is sent once, never more at a time than asked for, and counted by the server's usage.
func TestClosedLoopSendsEveryPromptOnce(t *testing.T) {
	s := quick()
	out := runLevel(t, config(t, s, 40), closed(8))
	c := out.Collector
	if s.sent.Load() != 40 || c.Requests() != 40 || s.most.Load() != 8 || out.Stopped != "" {
		t.Errorf("%d sent, %d answered, %d at once; %s", s.sent.Load(), c.Requests(), s.most.Load(), out.Stopped)
	}
	if c.Sum(metric.InputLength) != 120 || c.Sum(metric.OutputLength) != 160 || c.Origins(metric.Outputs)[llm.Server] != 40 {
		t.Errorf("%v in, %v out, by %v", c.Sum(metric.InputLength), c.Sum(metric.OutputLength), c.Origins(metric.Outputs))
	}
	if m := c.Mean(metric.TTFT); m < 5 || c.Mean(metric.Latency) < m+3 {
		t.Errorf("TTFT %v, latency %v", m, c.Mean(metric.Latency))
	}
}

func TestRequestCountAndSessionsEndALevel(t *testing.T) {
	f := func(change func(*load.Options), want int64, turns ...llm.Turn) {
		t.Helper()
		s := quick()
		cfg := config(t, s, -1, turns...)
		change(&cfg.Options)
		for _, lv := range []load.Level{closed(4), rate(500)} {
			s.sent.Store(0)
			if out := runLevel(t, cfg, lv); s.sent.Load() != want || out.Collector.Requests() != uint64(want) {
				t.Errorf("%s: %d sent, %d answered, want %d", lv.String(), s.sent.Load(), out.Collector.Requests(), want)
			}
		}
	}
	three := []llm.Turn{{Texts: []string{"a"}}, {Texts: []string{"b"}}, {Texts: []string{"c"}}}
	f(func(o *load.Options) { o.Requests = 25 }, 25)
	f(func(o *load.Options) { o.Sessions = 5 }, 15, three...)
	f(func(o *load.Options) { o.Requests = 7 }, 7, three...)
}

// The answers of a conversation go into its next request, after its pause.
func TestConversations(t *testing.T) {
	s := quick()
	turns := []llm.Turn{{Texts: []string{"one"}}, {Texts: []string{"two"}, Delay: 30 * time.Millisecond}, {Texts: []string{"three"}}}
	cfg := config(t, s, 3, turns...)
	var samples []llm.Sample
	cfg.Sample = func(x *llm.Sample) { samples = append(samples, *x) }
	out := runLevel(t, cfg, closed(1))
	if out.Collector.Requests() != 9 {
		t.Fatalf("%d answers", out.Collector.Requests())
	}
	last := s.bodies[2]
	for _, want := range []string{`"one"`, `"assistant","content":"t0 t1 t2 t3 "`, `"two"`, `"three"`} {
		if !strings.Contains(last, want) {
			t.Errorf("%s is not in %s", want, last)
		}
	}
	if strings.Count(last, "assistant") != 2 || samples[1].Turn != 1 || samples[1].Sent-samples[0].End != int64(30*time.Millisecond) {
		t.Errorf("turn %d came %v after the answer", samples[1].Turn, time.Duration(samples[1].Sent-samples[0].End))
	}
}

// Input tokens are those of the chat template, with the answers before.
func TestChatTemplateCounts(t *testing.T) {
	tok, err := tokenizer.Load(testkit.ChatTokenizer(t))
	if err != nil {
		t.Fatal(err)
	}
	cfg := config(t, quick(), 3, llm.Turn{Texts: []string{"one two"}, InputTokens: 99}, llm.Turn{Texts: []string{"three"}})
	cfg.Count = func(text string) int { return tok.Count(text, false) }
	cfg.ChatTemplate = endpoint.NewChatTemplate(endpoint.Options{Kind: endpoint.Chat}, tok)
	cfg.Sample = func(x *llm.Sample) {
		// <s> user: … <end> assistant: and then t0 t1 t2 t3 <end> user: three <end> assistant:
		if want := []int{6, 15}[x.Turn]; x.Input != (llm.Count{Tokens: want, From: llm.Tokenizer}) {
			t.Errorf("turn %d has %+v", x.Turn, x.Input)
		}
	}
	if out := runLevel(t, cfg, closed(2)); out.Collector.Requests() != 6 {
		t.Errorf("%d answers", out.Collector.Requests())
	}
}

// A turn that fails ends its conversation; the rest of it is told, not counted.
func TestAFailedTurnEndsItsConversation(t *testing.T) {
	s := quick()
	s.answer = func(int64, string) ([]string, *service.Error) {
		return nil, &service.Error{Class: record.Server, Code: 500, Text: "no"}
	}
	out := runLevel(t, config(t, s, 4, llm.Turn{Texts: []string{"a"}}, llm.Turn{Texts: []string{"b"}}), closed(1))
	if s.sent.Load() != 4 || out.Dropped != 4 || out.Collector.Failed() != 4 || out.Level.Failures[0].Class != "server 500" {
		t.Errorf("%d sent, %d dropped, %+v", s.sent.Load(), out.Dropped, out.Level.Failures)
	}
}

// Due times are those of the schedule, whatever the server does; a cap makes requests late and that is counted.
func TestRatesKeepTheirSchedule(t *testing.T) {
	s := quick()
	cfg := config(t, s, -1)
	cfg.Options.Requests, cfg.Options.Arrival = 50, load.Constant
	var due []int64
	cfg.Sample = func(x *llm.Sample) { due = append(due, x.Due) }
	out := runLevel(t, cfg, rate(250))
	if d := time.Duration(slices.Max(due) - slices.Min(due)); d != 49*4*time.Millisecond {
		t.Errorf("50 requests at 250 a second were due over %v", d)
	}
	if out.Collector.Requests() != 50 {
		t.Errorf("%d answers", out.Collector.Requests())
	}
	capped := rate(1000)
	capped.Concurrency = 2
	out = runLevel(t, cfg, capped)
	if m := s.most.Load(); m > 50 {
		t.Errorf("%d at once", m)
	}
	lag, _ := metric.Find(out.Level.Metrics, "send_lag")
	send, _ := metric.Find(out.Level.Metrics, "request_latency_from_send")
	head, _ := metric.Find(out.Level.Metrics, "request_latency")
	if lag.Avg < 10 || head.Avg < send.Avg+10 {
		t.Errorf("lag %v, latency %v, from send %v", lag.Avg, head.Avg, send.Avg)
	}
}

func TestACapOnRequestsInFlight(t *testing.T) {
	s := quick()
	cfg := config(t, s, 60)
	lv := rate(2000)
	lv.Concurrency = 3
	runLevel(t, cfg, lv)
	if m := s.most.Load(); m > 3 {
		t.Errorf("%d at once", m)
	}
}

func TestPrefillLimit(t *testing.T) {
	for _, lv := range []load.Level{closed(8), rate(1000)} {
		s := quick()
		s.gap = 5 * time.Millisecond
		cfg := config(t, s, 40)
		cfg.Options.Prefill = 2
		out := runLevel(t, cfg, lv)
		if s.mostPrefill.Load() > 2 || s.most.Load() < 3 || out.Collector.Requests() != 40 {
			t.Errorf("%s: %d waited for their first token, %d were in flight, %d answers", lv.String(), s.mostPrefill.Load(), s.most.Load(), out.Collector.Requests())
		}
	}
}

func TestStagesAndRamps(t *testing.T) {
	s := quick()
	cfg := config(t, s, -1)
	cfg.Options.Arrival = load.Constant
	lv := load.Level{Mode: plan.RequestRate, Stages: []pace.Stage{{From: 50, To: 50, Time: 200 * time.Millisecond}, {From: 200, To: 200, Time: 200 * time.Millisecond}}}
	if out := runLevel(t, cfg, lv); out.Collector.Requests() != 50 {
		t.Errorf("%d requests, want 10 and 40", out.Collector.Requests())
	}
	s = quick()
	cfg = config(t, s, -1)
	lv = load.Level{Mode: plan.Concurrency, Stages: []pace.Stage{{From: 1, To: 1, Time: 300 * time.Millisecond}, {From: 6, To: 6, Time: 500 * time.Millisecond}}}
	out := runLevel(t, cfg, lv)
	if s.most.Load() != 6 || out.Collector.Requests() < 30 {
		t.Errorf("%d at once, %d answers", s.most.Load(), out.Collector.Requests())
	}
	cfg = config(t, quick(), -1)
	cfg.Options.Duration, cfg.Options.Ramp = 300*time.Millisecond, 300*time.Millisecond
	first := map[uint32]int64{} // send of each slot
	cfg.Sample = func(x *llm.Sample) {
		if old, ok := first[x.Slot]; !ok || x.Sent < old {
			first[x.Slot] = x.Sent
		}
	}
	runLevel(t, cfg, closed(3))
	if d := time.Duration(first[2] - first[0]); len(first) != 3 || d != 200*time.Millisecond {
		t.Errorf("%d slots, the last began %v after the first", len(first), d)
	}
}

// A session that a falling stage ends does not send the turn that it waits for: the warm-up does not wait for that turn, and the measurement
// does not send it.
func TestAFallingStageEndsSessions(t *testing.T) {
	cfg := config(t, quick(), -1, llm.Turn{Texts: []string{"one"}}, llm.Turn{Texts: []string{"two"}, Delay: time.Second})
	stage := func(n float64) pace.Stage { return pace.Stage{From: n, To: n, Time: 100 * time.Millisecond} }
	cfg.Options.Warmup = load.Warmup{
		Level: load.Level{Mode: plan.Concurrency, Stages: []pace.Stage{stage(2), stage(1)}}, Duration: time.Second, Grace: 10 * time.Second,
	}
	cfg.Options.Requests = 6
	var warm int
	var begun, measured int64 // the first sends
	cfg.Sample = func(x *llm.Sample) {
		switch {
		case x.Warmup && measured > 0:
			t.Error("a request of the warm-up was sent in the measurement")
		case x.Warmup:
			begun = x.Sent
			warm++
		case measured == 0:
			measured = x.Sent
		}
	}
	out := runLevel(t, cfg, closed(2))
	if d := time.Duration(measured - begun); warm != 2 || d > 300*time.Millisecond || out.Collector.Requests() != 6 {
		t.Errorf("%d requests in a warm-up of %v, then %d requests", warm, d, out.Collector.Requests())
	}
}

// A cap on requests in flight holds also where a warm-up without a cap has made more slots.
func TestACapHoldsAfterAWarmupWithoutOne(t *testing.T) {
	s := quick()
	cfg := config(t, s, -1)
	o := &cfg.Options
	o.Warmup.Requests, o.Warmup.Level, o.Requests, o.Arrival = 20, rate(1000), 100, load.Constant
	capped := rate(1000)
	capped.Concurrency = 2
	cfg.Measured = func() { s.most.Store(0) }
	out := runLevel(t, cfg, capped)
	if n := out.Collector.Requests(); n != 100 || out.Stopped != "" || s.most.Load() != 2 {
		t.Errorf("%d requests, %d in flight at once: %s", n, s.most.Load(), out.Stopped)
	}
}

// Users begin one after the other, and each asks again one gap after it last did; where the answer took longer, with the
// answer.
func TestUsersKeepTheirPace(t *testing.T) {
	const gap = 100 * time.Millisecond // of 4 users at 40 a second
	cfg := config(t, quick(), -1, llm.Turn{Texts: []string{"a"}}, llm.Turn{Texts: []string{"b"}})
	cfg.Options.Requests = 16
	by := map[string][]llm.Sample{}
	cfg.Sample = func(x *llm.Sample) { by[x.Conversation] = append(by[x.Conversation], *x) }
	lv := rate(40)
	lv.Users = 4
	runLevel(t, cfg, lv)
	turns := 0
	var begun []int64
	for id, asked := range by {
		slices.SortFunc(asked, func(a, b llm.Sample) int { return a.Turn - b.Turn })
		turns += len(asked)
		if asked[0].Turn == 0 {
			begun = append(begun, asked[0].Due)
		}
		if len(asked) == 2 {
			if want := max(asked[0].Due+int64(gap), asked[0].End); asked[1].Due != want {
				t.Errorf("%s asked again %v after its first turn, which was answered after %v", id,
					time.Duration(asked[1].Due-asked[0].Due), time.Duration(asked[0].End-asked[0].Due))
			}
		}
	}
	slices.Sort(begun)
	for i := range 4 {
		if at := time.Duration(begun[i] - begun[0]); at != gap/4*time.Duration(i) {
			t.Errorf("user %d began %v after the first", i, at)
		}
	}
	if turns != 16 || len(by) < 8 { // no conversation has more than two
		t.Errorf("%d turns of %d conversations, want 16 of at least 8", turns, len(by))
	}
}

func TestFixedSchedule(t *testing.T) {
	s := quick()
	cfg := config(t, s, 0)
	cfg.Open = func() (load.Source, error) { return &schedule{at: []int{0, 20, 25, 90}}, nil }
	var at []time.Duration
	var first int64
	cfg.Sample = func(x *llm.Sample) {
		if first == 0 {
			first = x.Due
		}
		if x.Turn == 0 {
			at = append(at, time.Duration(x.Due-first))
		}
	}
	out := runLevel(t, cfg, load.Level{Mode: plan.FixedSchedule})
	slices.Sort(at)
	if out.Collector.Requests() != 8 || len(at) != 4 || at[1] != 20*time.Millisecond || at[3] != 90*time.Millisecond {
		t.Errorf("%d answers, due at %v", out.Collector.Requests(), at)
	}
}

// schedule gives conversations of two turns at given milliseconds; the second turn follows the answer.
type schedule struct{ at []int }

func (s *schedule) Next() (*llm.Conversation, bool) {
	if len(s.at) == 0 {
		return nil, false
	}
	t := time.Duration(s.at[0]) * time.Millisecond
	s.at = s.at[1:]
	return &llm.Conversation{ID: t.String(), Turns: []llm.Turn{{Texts: []string{"a"}, At: t, Timed: true}, {Texts: []string{"b"}, Delay: time.Millisecond}}}, true
}
func (s *schedule) Err() error   { return nil }
func (s *schedule) Close() error { return nil }

func TestCancellation(t *testing.T) {
	f := func(change func(*load.Options), chunks int) {
		t.Helper()
		s := quick()
		s.tokens, s.gap = 20, 3*time.Millisecond
		cfg := config(t, s, 10, llm.Turn{Texts: []string{"a"}, MaxTokens: 20})
		cfg.Options.CancelShare = 1
		change(&cfg.Options)
		most := 0
		cfg.Sample = func(x *llm.Sample) {
			most = max(most, len(x.Chunks))
			if !x.Cut || x.Class != record.Canceled {
				t.Errorf("%v %v", x.Cut, x.Class)
			}
		}
		out := runLevel(t, cfg, closed(2))
		if c := out.Collector; c.Cut() != 10 || c.Requests() != 0 || c.Failed() != 0 || most > chunks {
			t.Errorf("%d cut, %d whole, %d failed; %d chunks at most", c.Cut(), c.Requests(), c.Failed(), most)
		}
	}
	f(func(o *load.Options) { o.CancelDelay = time.Millisecond }, 19)
	f(func(o *load.Options) { o.CancelDelay = 0 }, 0)
	f(func(o *load.Options) { o.CancelTokens = 0.25 }, 19)
}

// Warm-up and cool-down are not counted, and every sample says so: six at first, and what starts in the last 200 ms.
func TestWarmupAndCooldown(t *testing.T) {
	const cooldown = 200 * time.Millisecond
	s := quick()
	cfg := config(t, s, -1)
	o := &cfg.Options
	o.Warmup.Requests, o.Duration, o.Cooldown = 6, 2*cooldown, cooldown
	var warm, counted []int64
	cfg.Sample = func(x *llm.Sample) {
		if x.Warmup {
			warm = append(warm, x.Sent)
		} else {
			counted = append(counted, x.Sent)
		}
	}
	out := runLevel(t, cfg, closed(2))
	if n := uint64(len(counted)); n == 0 || n != out.Collector.Requests() || int64(len(warm)+len(counted)) != s.sent.Load() {
		t.Fatalf("%d warm, %d counted of %d, %d measured", len(warm), n, s.sent.Load(), out.Collector.Requests())
	}
	slices.Sort(warm)
	first, last := slices.Min(counted), slices.Max(counted)
	if len(warm) < 7 || warm[5] > first || warm[6] < last || time.Duration(last-first) > cooldown {
		t.Errorf("%d are warm; those that count were sent in %v, the next %v later", len(warm), time.Duration(last-first), time.Duration(warm[min(6, len(warm)-1)]-last))
	}
}

// At the end of the time requests may go on for the grace period; then they are cut and count nowhere.
func TestGracePeriod(t *testing.T) {
	f := func(grace time.Duration, whole bool) {
		t.Helper()
		s := &server{first: 300 * time.Millisecond, tokens: 1}
		cfg := config(t, s, -1)
		cfg.Options.Duration, cfg.Options.Grace = 100*time.Millisecond, grace
		out := runLevel(t, cfg, closed(3))
		if got := out.Collector.Requests() == 3; got != whole || !whole && out.Collector.Cut() != 3 || out.Collector.Failed() != 0 {
			t.Errorf("grace %v: %d whole, %d cut, %d failed", grace, out.Collector.Requests(), out.Collector.Cut(), out.Collector.Failed())
		}
	}
	f(5*time.Second, true)
	f(20*time.Millisecond, false)
}

// Failures are counted by their class, never as answers.
func TestFailures(t *testing.T) {
	f := func(events []string, failure *service.Error, class, text string) {
		t.Helper()
		s := quick()
		s.answer = func(int64, string) ([]string, *service.Error) { return events, failure }
		out := runLevel(t, config(t, s, 3), closed(1))
		if c := out.Collector; c.Requests() != 0 || c.Failed() != 3 || len(out.Level.Failures) != 1 {
			t.Fatalf("%d whole, %d failed: %+v", c.Requests(), c.Failed(), out.Level.Failures)
		}
		if got := out.Level.Failures[0]; got.Class != class || !strings.Contains(got.Text, text) || got.Count != 3 {
			t.Errorf("%+v", got)
		}
	}
	for _, code := range []int{401, 404, 429} {
		f(nil, &service.Error{Class: record.Server, Code: code, Text: `{"m":"no"}`}, "server "+map[int]string{401: "401", 404: "404", 429: "429"}[code], "no")
	}
	// The sentence of a refusal, as different servers write it.
	for body, said := range map[string]string{
		`{"error":{"message":"no key","type":"auth"}}`: "HTTP 403 Forbidden: no key", `{"error":"no key"}`: "Forbidden: no key", `{"type":"error","error":{"type":"x","message":"no key"}}`: "Forbidden: no key",
		`{"message":"no key","code":1}`: "Forbidden: no key", `{"detail":"no key"}`: "Forbidden: no key", `<b>no key</b>`: "Forbidden: <b>no key</b>", `{"detail":[{"loc":1}]}`: `Forbidden: {"detail":[{"loc":1}]}`, "": "HTTP 403 Forbidden",
	} {
		f(nil, &service.Error{Class: record.Server, Code: 403, Err: &service.StatusError{Status: 403, Body: body}}, "server 403", said)
	}
	f(nil, &service.Error{Class: record.Transport, Text: "gone"}, "transport", "gone")
	f([]string{token("a")}, nil, "protocol", "broke off")
	f([]string{"data: [DONE]\n\n"}, nil, "protocol", "without any content")
	f([]string{token("a"), "data: {\"error\":\"oom\"}\n\n"}, nil, "protocol", "oom")
	f([]string{"data: <html>\n\n"}, nil, "protocol", "not a response of OpenAI")
	f([]string{token("a")}, &service.Error{Class: record.Server, Code: 200, Text: `OpenAI stream returns an error: {"error":{"message":"oom"}}`}, "server", "the server broke off its stream with an error: oom")
}

func TestTooManyFailuresEndALevel(t *testing.T) {
	failing := func(every int64) *server {
		s := quick()
		s.answer = func(n int64, _ string) ([]string, *service.Error) {
			if n%every == 0 {
				return nil, &service.Error{Class: record.Server, Code: 500, Text: "no"}
			}
			return []string{token("a"), "data: [DONE]\n\n"}, nil
		}
		return s
	}
	s := failing(2)
	cfg := config(t, s, 100_000)
	cfg.Options.MaxErrors = 10
	if out := runLevel(t, cfg, closed(1)); out.Collector.Failed() < 10 || out.Collector.Failed() > 1000 || !strings.Contains(out.Stopped, "requests failed") {
		t.Errorf("%d failed: %s", out.Collector.Failed(), out.Stopped)
	}
	s = failing(3)
	cfg = config(t, s, 100_000)
	cfg.Options.MaxErrorShare = 0.2
	if out := runLevel(t, cfg, closed(1)); !strings.Contains(out.Stopped, "requests failed") || out.Collector.Requests() == 0 {
		t.Errorf("%d failed: %s", out.Collector.Failed(), out.Stopped)
	}
	s = failing(1)
	cfg = config(t, s, 100_000)
	if out := runLevel(t, cfg, closed(2)); !strings.Contains(out.Stopped, "in a row failed") || !strings.Contains(out.Stopped, "no") {
		t.Errorf("%d failed: %s", out.Collector.Failed(), out.Stopped)
	}
}

func TestUntilAWidth(t *testing.T) {
	s := quick()
	cfg := config(t, s, -1)
	target, err := metric.ParseTarget("latency ± 50 %")
	if err != nil {
		t.Fatal(err)
	}
	cfg.Options.Until = &target
	out := runLevel(t, cfg, closed(4))
	if n := out.Collector.Requests(); n < 40 || out.Stopped != "" {
		t.Errorf("%d requests; %s", n, out.Stopped)
	}
}

// An interrupt ends the load and leaves what was measured.
func TestInterrupt(t *testing.T) {
	for _, lv := range []load.Level{closed(4), rate(200)} {
		testkit.Simulate(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			cfg := config(t, quick(), -1)
			cfg.Progress = func(p load.Progress) {
				if p.Requests > 20 {
					cancel()
				}
			}
			out, err := load.Run(ctx, t.Context(), cfg, lv)
			if err != nil || !out.Interrupted || out.Collector.Requests() < 20 || out.Collector.Failed() > 0 {
				t.Errorf("%s: %+v, %v", lv.String(), out, err)
			}
		})
	}
}

// A timeout is a failure of its own class.
func TestTimeout(t *testing.T) {
	s := &server{first: time.Minute, tokens: 1}
	cfg := config(t, s, 2)
	cfg.Options.Timeout = 50 * time.Millisecond
	out := runLevel(t, cfg, closed(2))
	if f := out.Level.Failures; out.Collector.Failed() != 2 || len(f) != 1 || f[0].Class != "timeout" {
		t.Errorf("%+v", f)
	}
}

// A server that never answers ends the level, and the level says what it waited for.
func TestAServerWithoutASignOfLifeEndsTheLevel(t *testing.T) {
	for _, lv := range []load.Level{closed(2), rate(10)} {
		s := &server{first: 1000 * time.Hour, tokens: 1}
		cfg := config(t, s, -1)
		cfg.Options.Patience = 10 * time.Second
		testkit.Simulate(t, func(t *testing.T) {
			out, err := load.Run(t.Context(), t.Context(), cfg, lv)
			if err != nil || !out.ServerGone || !strings.HasPrefix(out.Stopped, "waited 10s for the server: ") {
				t.Errorf("%s: %+v, %v", lv.String(), out, err)
			}
		})
	}
}

// Requests go to the services in turn.
func TestBalanced(t *testing.T) {
	a, b := quick(), quick()
	b.first = 30 * time.Millisecond
	cfg := config(t, a, 40)
	cfg.Service = load.NewBalanced([]service.Service{a, b})
	out := runLevel(t, cfg, closed(4))
	if a.sent.Load() != 20 || b.sent.Load() != 20 || out.Collector.Requests() != 40 {
		t.Errorf("%d and %d", a.sent.Load(), b.sent.Load())
	}
}
