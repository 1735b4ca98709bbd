package load

import (
	"fmt"
	"runtime"
	"slices"
	"time"

	"github.com/redline-bench/redline/internal/clock"
	"github.com/redline-bench/redline/internal/engine"
	"github.com/redline-bench/redline/internal/llm"
	"github.com/redline-bench/redline/internal/llm/endpoint"
	"github.com/redline-bench/redline/internal/llm/metric"
	"github.com/redline-bench/redline/internal/measure"
	"github.com/redline-bench/redline/internal/record"
	"github.com/redline-bench/redline/internal/result"
	"github.com/redline-bench/redline/internal/run"
)

// collection is what is known of the requests that have ended. It is used by read, which the engine calls for each record,
// and in functions that are given to engine.Sync.
type collection struct {
	answer    endpoint.Answer
	sample    llm.Sample
	usage     llm.Usage
	tokenizer llm.Own
	wire      []llm.Answer
	template  llm.Template // of the server, as far as it is known
	measured  *metric.Collector
	rec       *measure.Recorder
	failures  failures
	inbox     *run.Inbox
	index     uint64
	checked   int           // responses of the phase whose counts were compared with the tokenizer's
	row       int           // failures in a row
	lastEnd   int64         // of the phase
	ends      []int64       // of the latest request of each slot
	until     *metric.Watch // nil without --until
	shown     int64
	lastN     uint64
	rate      float64
	output    recentRate // of tokens
	stop      struct {
		text        string
		interrupted bool
		failures    bool // failed requests ended the level
	}
}

// begin starts the counts of a phase at a time. Those of a warm-up are thrown away.
func (r *levelRun) begin(p *phase, from int64) {
	o := &r.cfg.Options
	open := p.lv.Open()
	conf := measure.Config{Setup: measure.Setup{Batch: 1, Open: open, Streaming: true}, Timeline: true, Span: true}
	counting := metric.Options{Open: open, Goodput: o.Goodput, Level: o.Confidence}
	if from > p.start { // requests were in flight before the measured time began
		counting.From = from
	}
	r.measured = metric.New(counting)
	r.rec = measure.New(conf)
	r.rec.Begin(from, &p.from)
	r.failures = failures{}
	if r.until = nil; o.Until != nil {
		r.until = &metric.Watch{Target: *o.Until}
	}
	if r.cfg.Template != nil {
		r.template = r.cfg.Template()
	}
	r.checked, r.row, r.lastN, r.shown, r.lastEnd, r.output = 0, 0, 0, from, 0, recentRate{}
	r.ends = nil
}

// read turns a record into a sample and counts it.
func (r *levelRun) read(rec *record.Record, events []record.Event, data []byte) {
	a := r.at(int(rec.Slot)).pop()
	if a == nil {
		return
	}
	s := &r.sample
	*s = llm.Sample{
		Conversation: a.conv.ID, Turn: a.turn, RequestID: a.id, Session: a.name, Slot: rec.Slot,
		Warmup: a.phase.warm, Due: rec.Due, Sent: rec.Sent, Headers: rec.First, Last: rec.End, End: rec.End,
		Class: rec.Class, Cut: a.cut && rec.Class == record.Canceled, // the request may have ended before it was cut
		Asked: a.tokens, In: rec.Out, Out: rec.In,
	}
	if n := len(events); n > 0 {
		s.End = max(s.End, events[n-1].At)
	}
	if r.cfg.KeepWire {
		s.Payload, s.Answers = a.body, r.pieces(events, data)
	}
	r.judge(a, s, events, data)
	plain := *rec
	plain.Class = s.Class
	if n := len(s.Chunks); n > 0 {
		plain.First, plain.End = s.Chunks[0].At, s.Chunks[n-1].At
	}
	if r.forward != nil {
		r.forward(a, s, &plain)
		return
	}
	r.note(a, s)
	r.count(a, s, &plain)
}

// note takes in the times of a request on its slot, and numbers its sample.
func (r *levelRun) note(a *ask, s *llm.Sample) {
	s.Index = r.index
	r.index++
	r.lastEnd = max(r.lastEnd, s.End)
	idle, paused := r.idle(a, s)
	if !r.lv.Open() && len(r.lv.Stages) == 0 && r.cfg.Options.Prefill == 0 { // else slots wait for their turn
		r.rec.Idle(idle, paused)
	}
}

// idle is the time between the end of a slot's request and the next one's send: the pause that the conversation or the
// think time asks for, and the rest.
func (r *levelRun) idle(a *ask, s *llm.Sample) (idle, paused time.Duration) {
	for len(r.ends) <= int(s.Slot) {
		r.ends = append(r.ends, 0)
	}
	end := &r.ends[s.Slot]
	if *end > 0 {
		idle, paused = time.Duration(max(0, s.Sent-max(*end, a.from))), time.Duration(max(0, a.from-*end))
	}
	if *end = s.Last; s.Class == record.Canceled {
		*end = 0 // the client closed the connection itself; the next request needs another one
	}
	return idle, paused
}

// pieces are the parts of an answer as they came.
func (r *levelRun) pieces(events []record.Event, data []byte) []llm.Answer {
	r.wire = r.wire[:0]
	for _, e := range events {
		r.wire = append(r.wire, llm.Answer{At: e.At, Data: data[:e.Size]})
		data = data[e.Size:]
	}
	return r.wire
}

// judge reads the answer; what is none becomes a failure.
func (r *levelRun) judge(a *ask, s *llm.Sample, events []record.Event, data []byte) {
	if s.Class == record.Canceled && !a.cut && a.phase.cut.Load() {
		s.Cut = true
	}
	if s.Class != record.OK {
		s.Err = s.Class.String()
		if a.err != nil {
			s.Err, s.Code = reason(a.err)
		}
		if len(events) > 0 { // what came before the end
			_ = endpoint.Read(r.cfg.Endpoint, &r.answer, events, data)
			s.Chunks, s.Streamed = r.answer.Chunks, r.answer.Streamed
		}
		return
	}
	if err := endpoint.Read(r.cfg.Endpoint, &r.answer, events, data); err != nil {
		s.Class, s.Err = record.Protocol, err.Error()
		return
	}
	s.Chunks, s.Streamed = r.answer.Chunks, r.answer.Streamed
	if r.cfg.KeepText {
		s.Text, s.Thought = string(r.answer.Text), string(r.answer.Thought)
	}
	r.tokens(a, s)
}

// count adds a sample where it belongs.
func (r *levelRun) count(a *ask, s *llm.Sample, rec *record.Record) {
	o := &r.cfg.Options
	if s.Sent > a.phase.counted {
		s.Warmup = true
	}
	if r.cfg.Sample != nil {
		r.cfg.Sample(s)
	}
	failed := s.Class != record.OK && !s.Cut && s.Class != record.Canceled
	if failed {
		r.row++
		if r.row >= engine.GiveUpAfter && r.stop.text == "" && !r.gaveUp() {
			r.stop.text, r.stop.failures = fmt.Sprintf("%d requests in a row failed, the last with: %s", r.row, s.Err), true
		}
	} else if s.Class == record.OK {
		r.row = 0
	}
	if s.Warmup && !a.phase.warm {
		return
	}
	r.watch.count(s.Class, failed)
	if r.cfg.Fleet != nil && rec.End < r.rec.From() { // its record came after the measured time had begun
		return
	}
	r.rec.Add(rec)
	r.tokenTimes(s)
	if r.cfg.Tap != nil && !a.phase.warm {
		if err := r.cfg.Tap(rec); err != nil && r.stop.text == "" {
			r.stop.text = err.Error()
		}
	}
	r.measured.Add(s)
	if s.Class == record.Canceled && !a.cut { // the level ended before the answer did
		r.rec.Cut(measure.Pending{Slot: rec.Slot, Due: rec.Due, Sent: rec.Sent, Waiting: len(s.Chunks) == 0}, s.End)
	}
	if failed {
		r.failures.add(s)
	}
	if r.stop.text != "" || a.phase.warm {
		return
	}
	if n := r.measured.Failed(); o.MaxErrors > 0 && n >= uint64(o.MaxErrors) {
		r.stop.text, r.stop.failures = fmt.Sprintf("%d requests failed, the last with: %s", n, s.Err), true
	} else if all := n + r.measured.Requests(); failed && o.MaxErrorShare > 0 && all >= minErrorShare && float64(n) > o.MaxErrorShare*float64(all) {
		r.stop.text, r.stop.failures = fmt.Sprintf("%d of %d requests failed, the last with: %s", n, all, s.Err), true
	}
}

// tokenTimes puts the tokens of an answer on the timeline, where they came.
func (r *levelRun) tokenTimes(s *llm.Sample) {
	if s.Class != record.OK || len(s.Chunks) == 0 || !s.Streamed {
		return
	}
	each := 1.0
	if n := s.Output.Tokens + s.Reasoning.Tokens; n > 0 {
		each = float64(n) / float64(len(s.Chunks))
	}
	gap := int64(measure.NoGap)
	for i, c := range s.Chunks {
		if i > 0 {
			gap = c.At - s.Chunks[i-1].At
		}
		r.rec.Token(c.At, gap, each)
	}
}

// minErrorShare is how many requests a share of failures needs to mean anything.
const minErrorShare = 20

func (r *levelRun) interrupt(*run.State) {
	r.stop.interrupted = true
	if r.stop.text == "" {
		r.stop.text = "interrupted"
	}
}

// gaveUp tells whether the load was given up because of a silent server: then it cut the requests itself.
func (r *levelRun) gaveUp() bool { return r.own != nil && r.own.GivenUp() != nil }

// giveUp notes that the load was stopped because of failures.
func (r *levelRun) giveUp(s *run.State) {
	switch {
	case r.stop.text != "":
	case s.Err != nil:
		r.stop.text, r.stop.failures = s.Err.Error(), s.Stall() != nil
	default:
		last := ""
		if f := s.Failures; len(f) > 0 {
			last = ", the last with: " + f[len(f)-1].Err.Error()
		}
		// The engine gives up after fewer failures where the server cannot be reached for a while.
		r.stop.text, r.stop.failures = fmt.Sprintf("%d requests in a row failed%s", min(r.row, engine.GiveUpAfter), last), true
	}
}

// progress tells how the phase goes.
func (r *levelRun) progress(p *phase, s *run.State, now int64) {
	const every = 100 * time.Millisecond
	if r.cfg.Progress == nil || now-r.shown < int64(every) {
		return
	}
	n := r.measured.Requests()
	// The rate is that of the last few looks.
	last := float64(n-r.lastN) / (float64(now-r.shown) / 1e9)
	r.rate += (last - r.rate) * 0.3
	r.lastN, r.shown = n, now
	lv := r.head()
	tokens := r.output.at(now-p.start, r.measured.Sum(metric.OutputLength))
	r.cfg.Progress(Progress{
		Level: &lv, Warmup: p.warm, Elapsed: time.Duration(now - p.start), Requests: n, Wanted: uint64(p.limit),
		Failed: r.measured.Failed(), InFlight: s.InFlight, Rate: r.rate, Median: r.rec.Median(),
		Tokens: tokens, FirstToken: time.Duration(r.measured.RecentMedian(metric.TTFT) * float64(time.Millisecond)),
		Live: func() *result.Level { return r.live(s) }, Workers: r.rec.Look(time.Duration(now-p.start), s.Workers),
	})
}

// recentRate is how fast a sum grows: its mean over the first recentTime, then with older growth fading out.
type recentRate struct {
	last int64 // time of the last look
	sum  float64
	rate float64
}

// recentTime is how long growth matters.
const recentTime = 3 * time.Second

// at returns the rate when the sum has a new value; now counts from the start, in nanoseconds.
func (r *recentRate) at(now int64, sum float64) float64 {
	if d := float64(now - r.last); d > 0 {
		share := d / min(float64(now), float64(recentTime))
		r.rate += ((sum-r.sum)/(d/1e9) - r.rate) * min(1, share)
		r.last, r.sum = now, sum
	}
	return r.rate
}

// live is the level as it stands.
func (r *levelRun) live(s *run.State) *result.Level {
	lv := r.head()
	lv.Health.AchievedInFlight = float64(s.InFlight)
	lv.Health.AskedInFlight, lv.Health.AskedRate = r.now.Load().asked()
	return r.rec.Live(lv, clock.Now(), r.rate, s.Workers)
}

// head is the level without its numbers.
func (r *levelRun) head() result.Level {
	return result.Level{Mode: r.lv.Mode, Concurrency: r.lv.Concurrency, Rate: r.lv.Rate, Prompts: r.lv.Prompts, Stages: r.lv.Stages}
}

// outcome computes the level, with the requests that are in flight.
func (r *levelRun) outcome(pending []measure.Pending) *Outcome {
	p := r.now.Load()
	head := r.head()
	head.Idle, head.Accepted, head.Stable, head.Untested = p.none, true, true, true
	lv, reasons := r.rec.Until(p.ended, &p.after, pending).Level(head, r.asked())
	r.measured.Restate(&lv.Client)
	lv.Metrics = r.measured.Metrics()
	bound(lv.Metrics, &lv.Client)
	lv.Windows[0].Client = lv.Client
	lv.Failures = slices.Clone(r.failures.list)
	if r.stop.text != "" {
		lv.Unfinished, lv.Stable, lv.Reason = true, false, r.stop.text
	}
	return &Outcome{
		Level: lv, Reasons: reasons, Collector: r.measured, Stopped: r.stop.text, Interrupted: r.stop.interrupted, ServerGone: r.stop.failures, Dropped: r.dropped.Load(),
		Template: r.template,
	}
}

// asked is the load that a phase asked for. The number in flight of a closed loop is judged by the time in which slots were idle.
func (r *levelRun) asked() *measure.Asked {
	return &measure.Asked{
		Fixed: r.lv.Open(), Scheduled: r.rec.From(), // what the schedule drew, not the rate it was drawn from
		// A cap on requests in flight, or on those that wait for their first token, holds others back as it is meant to.
		Held:  r.lv.Open() && r.lv.Concurrency > 0 || r.cfg.Options.Prefill > 0,
		Pulse: r.pulse, MaxProcs: runtime.GOMAXPROCS(0),
		Options: measure.Options{Rate: "--request-rate", Records: "some of --exports", Here: r.cfg.Here},
	}
}

// bound marks the percentiles of metrics that requests cut at the end leave open.
func bound(list []result.Metric, c *result.Client) {
	of := map[string]*result.Latency{"request_latency": &c.Latency, "time_to_first_token": c.First}
	for _, m := range list {
		l := of[m.Tag]
		if l == nil || m.Dist == nil {
			continue
		}
		for i := range m.Dist.Percentiles {
			q := &m.Dist.Percentiles[i]
			if p := l.Point(q.P); p.AtLeast {
				q.V, q.AtLeast = float64(p.Ns)/1e6, true
			}
		}
	}
}
