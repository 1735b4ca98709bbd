package stress

import (
	"fmt"
	"math"
	"slices"
	"sync"
)

// suspect is a wrong response that may belong to another sequence.
type suspect struct {
	thread  *thread
	pass    *Pass
	step    Step
	answer  int64
	failure *Failure // its fault and text stand where no other sequence is found
	shown   bool     // the observer is told of the failure

	// since and until count the passes that each thread had begun when the suspect's pass began and when its response
	// came.
	since, until []int

	recent find   // in the sequences that the server could hold between since and until
	older  find   // in those before
	last   []find // by context of the thread that is searched: in its last pass before since
}

// find is a sum of another sequence that explains a wrong response. Without a pass there is none.
type find struct {
	pass    *Pass
	request int  // position in its sequence, from 1
	added   bool // the response is this sum plus the value of the request, not the sum itself
}

// search finds the sequences that wrong responses belong to.
//
// It keeps no sums. What each thread sends follows from the seed, so the search draws all passes of the run again and
// compares their sums with the response. It knows every sum of the run, no matter how many passes other threads began
// before the response was checked, and needs memory for one pass.
//
// A search takes time in proportion to the run. It has a goroutine of its own, because other sequences would time out
// if the goroutines that read answers waited for it.
type search struct {
	run      *run
	canceled func() bool

	mu      sync.Mutex
	pending []*suspect
	busy    bool
	wg      sync.WaitGroup

	// Of the sums that the current search has compared.
	count     float64
	low, high int64
}

// add has the failure of a suspect named.
func (s *search) add(q *suspect) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pending = append(s.pending, q)
	if !s.busy {
		s.busy = true
		s.wg.Go(s.work)
	}
}

// wait returns when every failure has its name. Nothing may be added meanwhile.
func (s *search) wait() { s.wg.Wait() }

// work names suspects until none is left. One search serves all that wait for one.
func (s *search) work() {
	for {
		s.mu.Lock()
		all := s.pending
		s.pending, s.busy = nil, len(all) > 0
		s.mu.Unlock()
		if len(all) == 0 {
			return
		}
		s.count, s.low, s.high = 0, math.MaxInt64, math.MinInt64
		for i := range s.run.threads {
			s.compare(i, all)
		}
		for _, q := range all {
			s.name(q)
			s.run.named(q)
		}
	}
}

// compare compares the sums of a thread with the responses.
func (s *search) compare(thread int, all []*suspect) {
	until := 0
	for _, q := range all {
		until = max(until, q.until[thread])
		q.last = make([]find, s.run.plan.Contexts())
	}
	draw := s.run.passes(thread)
	var sums []int64
	for n := 0; n < until && !s.canceled(); n++ {
		p := draw()
		sums = s.run.model.sums(sums[:0], p.Steps)
		s.count += float64(len(sums))
		s.low, s.high = min(s.low, slices.Min(sums)), max(s.high, slices.Max(sums))
		for _, q := range all {
			q.look(n, p, s.run.model, sums)
		}
	}
	for _, q := range all {
		for _, f := range q.last {
			q.recent.improve(f)
		}
	}
}

// look compares the n-th pass of its thread. The server may hold the sums of passes that began after the suspect's, and
// in each context those of the last pass before: it may be under way, or left open.
func (q *suspect) look(n int, p *Pass, model *accumulator, sums []int64) {
	if n >= q.until[p.Thread] {
		return
	}
	f := q.match(p, model, sums)
	if n >= q.since[p.Thread] {
		q.recent.improve(f)
		return
	}
	q.older.improve(q.last[p.Context])
	q.last[p.Context] = f
}

// match finds the response in a pass, other than in the suspect's own sequence.
func (q *suspect) match(p *Pass, model *accumulator, sums []int64) (best find) {
	own := p.Thread == q.pass.Thread && p.Iteration == q.pass.Iteration
	for i := range p.Steps {
		s := &p.Steps[i]
		switch {
		case s.Refused || own && s.Part == q.step.Part:
		case sums[i] == q.answer:
			best.improve(find{pass: p, request: s.Position + 1})
		case model.add(sums[i], q.step.Value) == q.answer:
			best.improve(find{pass: p, request: s.Position + 1, added: true})
		}
	}
	return best
}

// improve takes another find unless it explains the response less directly.
func (f *find) improve(other find) {
	if other.pass != nil && (f.pass == nil || f.added || !other.added) {
		*f = other
	}
}

// maxChance is how likely a wrong response may be a sum of an earlier sequence by chance, for the two to be called mixed
// up.
const maxChance = 0.01

// name says what the search has found out about a suspect.
func (s *search) name(q *suspect) {
	f := q.failure
	// A wrong response is compared with each sum, and with each sum plus a value.
	chance := 2 * s.count / (float64(s.high) - float64(s.low) + 1)
	switch {
	case s.canceled():
		f.Text += "; the run was canceled before the answer was compared with other sequences"
	case q.recent.pass != nil:
		f.Fault, f.Text = Swapped, f.Text+": "+s.run.explain(q.recent)
	case q.older.pass != nil && chance <= maxChance:
		f.Fault, f.Text = Swapped, f.Text+": "+s.run.explain(q.older)+", which had ended before"
	case q.older.pass != nil:
		f.Text += fmt.Sprintf("; perhaps %s, which had ended before, but among %.0f sums that may be chance", s.run.explain(q.older), s.count)
	}
}

// explain says which sum the server has taken.
func (r *run) explain(f find) string {
	what := "that is a sum"
	if f.added {
		what = "the value was added to a sum"
	}
	t := r.threads[f.pass.Thread]
	t.mu.Lock()
	defer t.mu.Unlock()
	return fmt.Sprintf("%s of sequence %s of %s, iteration %d, request %d", what, t.lines[f.pass.Context].nameIn(f.pass.Iteration), t.name(), f.pass.Iteration, f.request)
}

// begun counts the passes that each thread has begun.
func (r *run) begun(counts []int) []int {
	for _, t := range r.threads {
		counts = append(counts, int(t.begun.Load()))
	}
	return counts
}

// failMixed gives the sequence up with a failure that is named after a search for the sequence that the response belongs
// to: the fault and the text stand where none is found.
func (l *line) failMixed(ev *Event, fault Fault, text string) verdict {
	r := l.t.run
	l.fault = fault
	f := l.failure(fault, text)
	r.search.add(&suspect{
		thread: l.t, pass: l.pass, step: ev.Step, answer: ev.Answer, failure: f, shown: r.keep(f),
		since: slices.Clone(l.since), until: r.begun(nil),
	})
	return wrong
}

// named counts a failure and shows it, after its search.
func (r *run) named(q *suspect) {
	q.thread.mu.Lock()
	q.thread.tally.fault(q.failure.Fault)
	q.thread.mu.Unlock()
	if q.shown {
		r.cfg.Observer.Failed(q.failure)
	}
}
