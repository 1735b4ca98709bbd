package sched

import (
	"sync"

	"github.com/redline-bench/redline/internal/refserver/infer"
)

// order delays responses until all earlier requests have their response, for models that must keep the order although several
// instances run at once. Each request has exactly one response.
type order struct {
	mu    sync.Mutex
	slots []*slot
}

type slot struct {
	reply func(*infer.Response)
	resp  *infer.Response
}

// follow puts the request after all others; call it in the order of arrival.
func (o *order) follow(r *infer.Request) {
	s := &slot{reply: r.Reply}
	o.mu.Lock()
	o.slots = append(o.slots, s)
	o.mu.Unlock()
	r.Reply = func(resp *infer.Response) {
		o.mu.Lock()
		defer o.mu.Unlock()
		s.resp = resp
		for len(o.slots) > 0 && o.slots[0].resp != nil {
			o.slots[0].reply(o.slots[0].resp) // Reply never blocks
			o.slots = o.slots[1:]
		}
	}
}
