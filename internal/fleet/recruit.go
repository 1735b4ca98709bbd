package fleet

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/redline-bench/redline/internal/cleantext"
	"github.com/redline-bench/redline/internal/clock"
	"github.com/redline-bench/redline/internal/run"
	"github.com/redline-bench/redline/internal/unit"
)

// find waits for enough free workers. All takes those that answer within a short time.
func (r *crew) find(ctx context.Context) ([]Hello, error) {
	wanted := r.conf.Fleet.Wanted()
	deadline, settle := time.Now().Add(r.conf.Fleet.Wait), time.Now().Add(time.Second)
	told := -1
	for {
		free, others, err := r.ask(ctx)
		if err != nil {
			return nil, err
		}
		switch {
		case wanted > 0 && len(free) >= wanted:
			return free[:wanted], nil
		case wanted == 0 && len(free) > 0 && time.Now().After(settle):
			return free, nil
		case len(free) != told && len(free) < max(1, wanted):
			told = len(free)
			r.conf.Say("run %s waits for workers: %d of %s; start them with: redline worker --nats %s", r.conf.Fleet.Run, told, r.conf.Fleet.Workers, r.bus.at)
		}
		if time.Now().After(deadline) {
			return nil, r.tooFew(len(free), others)
		}
	}
}

func (r *crew) tooFew(free int, others []Hello) error {
	var why strings.Builder
	for _, h := range others {
		if h.Protocol != Protocol {
			fmt.Fprintf(&why, "; worker %s is redline %s, this is redline %s", h.Name, h.Version, r.conf.Version)
		} else {
			fmt.Fprintf(&why, "; worker %s works for run %s", h.Name, h.Run)
		}
	}
	return fmt.Errorf("%s needed, %d joined within %s%s; start more with 'redline worker --nats %s', or wait longer with --worker-wait",
		unit.Count(max(1, r.conf.Fleet.Wanted()), "worker"), free, r.conf.Fleet.Wait, why.String(), r.bus.at)
}

// ask lists the workers that answer within a quarter of a second, in the order of their names.
func (r *crew) ask(ctx context.Context) (free, others []Hello, err error) {
	inbox := r.bus.nc.NewRespInbox()
	answers := make(chan *nats.Msg, 1<<16)
	sub, err := r.bus.nc.ChanSubscribe(inbox, answers)
	if err != nil {
		return nil, nil, fmt.Errorf("look for workers: %w", err)
	}
	defer func() { _ = sub.Unsubscribe() }()
	if err := r.bus.nc.PublishRequest(helloSubject, inbox, nil); err != nil {
		return nil, nil, fmt.Errorf("look for workers: %w", err)
	}
	timer := time.NewTimer(250 * time.Millisecond)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil, nil, run.ErrInterrupted
		case <-timer.C:
			slices.SortFunc(free, func(a, b Hello) int { return strings.Compare(a.Name+a.ID, b.Name+b.ID) })
			return free, others, nil
		case m := <-answers:
			var h Hello
			if json.Unmarshal(m.Data, &h) != nil {
				continue
			}
			h.Name, h.Host, h.Version, h.Run = cleantext.Line(h.Name), cleantext.Line(h.Host), cleantext.Line(h.Version), cleantext.Line(h.Run)
			if h.Protocol == Protocol && (h.Run == "" || h.Run == r.conf.Fleet.Run) {
				free = append(free, h)
			} else {
				others = append(others, h)
			}
		}
	}
}

// join has all workers prepare their share of the load.
func (r *Run) join(ctx context.Context, job Job) error {
	errs := make([]error, len(r.workers))
	r.each(func(m *member) {
		j := job
		j.Index = m.index
		ctx, cancel := context.WithTimeout(ctx, prepareTime)
		defer cancel()
		answer, err := r.request(ctx, m, request{Kind: kindJoin, Job: &j})
		switch {
		case err != nil:
			errs[m.index] = fmt.Errorf("ask worker %s to join: %w", m.Name, err)
		case answer.Error != "":
			errs[m.index] = fmt.Errorf("worker %s: %s", m.Name, answer.Error)
		default:
			r.lock(func() { r.parts[m.index].joined = true })
		}
	})
	if ctx.Err() != nil {
		return run.ErrInterrupted
	}
	for _, err := range errs {
		if err != nil {
			return err // one line is enough; others usually have the same reason
		}
	}
	return nil
}

// each calls fn for all members, several at a time.
func (r *crew) each(fn func(*member)) {
	const most = 64
	var wait sync.WaitGroup
	gate := make(chan struct{}, most)
	for _, m := range r.workers {
		gate <- struct{}{}
		wait.Go(func() {
			defer func() { <-gate }()
			fn(m)
		})
	}
	wait.Wait()
}

// request asks one worker. A request that gets no answer is repeated until ctx ends.
func (r *crew) request(ctx context.Context, m *member, q request) (reply, error) {
	data := encode(q)
	most := repeatEvery
	if q.Kind == kindJoin {
		most = requestTime // a worker that prepares answers the repeated request when it is ready
	}
	for {
		once, cancel := context.WithTimeout(ctx, most)
		msg, err := r.bus.nc.RequestWithContext(once, workerSubject(m.ID), data)
		cancel()
		if err == nil {
			return readReply(msg)
		}
		if errors.Is(err, nats.ErrMaxPayload) {
			return reply{}, fmt.Errorf("the plan has %d bytes, and a message of NATS at most %d: use fewer input files, or raise max_payload of nats-server", len(data), r.bus.nc.MaxPayload())
		}
		if ctx.Err() != nil || errors.Is(err, nats.ErrConnectionClosed) {
			return reply{}, err
		}
		if !errors.Is(err, context.DeadlineExceeded) && !clock.Sleep(ctx, resendAfter) { // the error came at once
			return reply{}, err
		}
	}
}

// readReply reads an answer of a worker.
func readReply(msg *nats.Msg) (reply, error) {
	var a reply
	err := json.Unmarshal(msg.Data, &a)
	a.Error = cleantext.Line(a.Error)
	return a, err
}
