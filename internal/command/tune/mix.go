package tune

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/redline-bench/redline/internal/command"
	"github.com/redline-bench/redline/internal/command/outcome"
	"github.com/redline-bench/redline/internal/command/search"
	"github.com/redline-bench/redline/internal/measure"
	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/result"
)

// mix is the traffic of several models of one server that get a load together. Each has its share of a rate, and a schedule of its own.
type mix struct {
	search.Traffic // of the first member
	members        []member
	failed         int // the member whose traffic did not start
}

// member is one kind of traffic of a mix.
type member struct {
	search.Traffic
	name  string // of the model, or of the class of a scenario
	share float64
}

// Start implements search.Traffic.
func (m *mix) Start(io *command.IO, sigs *command.Signals, out *outcome.Outcome) error {
	for i := range m.members {
		if err := m.members[i].Start(io, sigs, out); err != nil {
			m.failed = i
			return err
		}
	}
	return nil
}

// Close implements search.Traffic.
func (m *mix) Close() {
	for i := range m.members {
		m.members[i].Close()
	}
}

// Advise implements search.Traffic.
func (m *mix) Advise(err error) string {
	one := &m.members[m.failed]
	return fmt.Sprintf("%s: %s", one.name, one.Advise(err))
}

// Plan implements search.Traffic: the plan of the first member, with the models of all.
func (m *mix) Plan() *plan.Plan {
	var models []string
	for i := range m.members {
		if name := m.members[i].Plan().Target.Model; !slices.Contains(models, name) {
			models = append(models, name)
		}
	}
	return m.Traffic.Plan().With(func(pl *plan.Plan) { pl.Target.Model = strings.Join(models, ",") })
}

// Describe implements search.Traffic.
func (m *mix) Describe(res *result.Result) string {
	var workloads []string
	for i := range m.members {
		workloads = append(workloads, fmt.Sprintf("%s:%.4f", m.members[i].Describe(res), m.members[i].share))
	}
	res.Plan, res.Model = m.Plan(), nil
	return strings.Join(workloads, "+")
}

// Run implements search.Traffic: every member sends its share, and watch sees all of them together.
func (m *mix) Run(ctx context.Context, lv result.Level, drain time.Duration, first measure.Look, watch measure.Watch) error {
	t := &together{members: m.members, watch: watch, rate: lv.Rate, sights: make([]measure.Sight, len(m.members)), active: len(m.members), answered: make(chan struct{})}
	errs := make([]error, len(m.members))
	var senders sync.WaitGroup
	for i := range m.members {
		senders.Go(func() {
			own := lv
			own.Class, own.Rate = m.members[i].name, lv.Rate*m.members[i].share
			err := m.members[i].Run(ctx, own, drain, first, func(now measure.Sight) (measure.Look, bool) { return t.look(i, now) })
			if err != nil {
				errs[i] = fmt.Errorf("%s: %w", m.members[i].name, err)
			}
			t.leave()
		})
	}
	senders.Wait()
	return errors.Join(errs...)
}

// together makes one look out of those of all members: each member waits at its look until all have come, and all get one answer.
type together struct {
	members []member
	watch   measure.Watch
	rate    float64

	mu       sync.Mutex
	sights   []measure.Sight
	active   int // members that still send
	come     int // members that wait for the answer
	answered chan struct{}
	next     measure.Look
	more     bool
	over     bool // no further look is answered
}

// look takes the look of a member, and returns what all members do next.
func (t *together) look(i int, now measure.Sight) (measure.Look, bool) {
	t.mu.Lock()
	t.sights[i] = now
	t.come++
	answered := t.answered
	t.answer()
	t.mu.Unlock()
	<-answered
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.next, t.more
}

// leave is called when a member sends no more. A load in which one member has ended is over for all.
func (t *together) leave() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.active--
	t.over = true
	t.answer()
}

// answer answers the looks if all members that still send have come.
func (t *together) answer() {
	if t.come < t.active || t.come == 0 {
		return
	}
	t.more = false
	if !t.over {
		t.next, t.more = t.watch(t.sight())
	}
	t.come = 0
	close(t.answered)
	t.answered = make(chan struct{})
}

// sight adds up what the members show.
func (t *together) sight() measure.Sight {
	var all measure.Sight
	for i := range t.sights {
		s := &t.sights[i]
		all.Elapsed, all.Median = max(all.Elapsed, s.Elapsed), max(all.Median, s.Median)
		all.Requests += s.Requests
		all.Failures += s.Failures
		all.Backlog += s.Backlog
		all.Rate += s.Rate
		if s.Down != "" && all.Down == "" {
			all.Down = fmt.Sprintf("%s: %s", t.members[i].name, s.Down)
		}
	}
	all.Level = t.level
	return all
}

// level adds up the levels of the members.
func (t *together) level(confidence float64) (*result.Level, []result.Reason) {
	var parts []result.Level
	var reasons []result.Reason
	for i := range t.sights {
		lv, why := t.sights[i].Level(confidence)
		parts = append(parts, *lv)
		for _, r := range why {
			r.What = fmt.Sprintf("%s: %s", t.members[i].name, r.What)
			reasons = append(reasons, r)
		}
	}
	lv := addUp(parts)
	lv.Rate = t.rate
	return lv, reasons
}

// addUp is one level of those of several models: sums of counts and rates, and the latencies of the slowest model.
func addUp(parts []result.Level) *result.Level {
	all := parts[0]
	for i := range parts[1:] {
		p := &parts[i+1]
		if p.Client.Latency.At(99) > all.Client.Latency.At(99) {
			all.Client.Latency, all.Client.Sent, all.Client.Due = p.Client.Latency, p.Client.Sent, p.Client.Due
			all.Client.First, all.Histogram, all.Timeline, all.Batches = p.Client.First, p.Histogram, p.Timeline, p.Batches
		}
		addClient(&all.Client, &p.Client)
		addHealth(&all.Health, &p.Health)
		all.Failures = append(slices.Clip(all.Failures), p.Failures...)
		all.ClientLimited = all.ClientLimited || p.ClientLimited
		all.ServerFailed = all.ServerFailed || p.ServerFailed
		all.TooShort = all.TooShort || p.TooShort
	}
	for i := range parts {
		parts[i].Windows, parts[i].Histogram, parts[i].Timeline, parts[i].Batches = nil, nil, nil, nil
	}
	all.Class, all.Parts = "", parts
	all.Windows = slices.Clone(all.Windows)
	for i := range all.Windows {
		all.Windows[i].Client = all.Client
	}
	return &all
}

func addClient(sum, c *result.Client) {
	sum.AddCounts(c)
	sum.Unfinished += c.Unfinished
	sum.OldestNs = max(sum.OldestNs, c.OldestNs)
	sum.InferPerSec += c.InferPerSec
	sum.ResponsePerSec += c.ResponsePerSec
	sum.SendRate += c.SendRate
}

// addHealth adds what belongs to one load. CPU, pauses and standstills are those of the process, and equal in all.
func addHealth(sum, h *result.Health) {
	sum.LagP50Ns, sum.LagP99Ns, sum.LagMaxNs = max(sum.LagP50Ns, h.LagP50Ns), max(sum.LagP99Ns, h.LagP99Ns), max(sum.LagMaxNs, h.LagMaxNs)
	sum.AskedRate += h.AskedRate
	sum.AchievedRate += h.AchievedRate
	sum.AskedInFlight += h.AskedInFlight
	sum.AchievedInFlight += h.AchievedInFlight
	sum.Dropped += h.Dropped
}
