package khttp

import (
	"context"
	"sync"

	"github.com/redline-bench/redline/internal/refserver/infer"
)

// queue lets a model reply without waiting for a slow reader: what is not yet written is kept in memory.
type queue struct {
	mu   sync.Mutex
	bell *sync.Cond
	list []*infer.Response
	over bool // nobody will put or take any more
	stop func() bool
}

// newQueue makes a queue that ends with ctx.
func newQueue(ctx context.Context) *queue {
	q := &queue{}
	q.bell = sync.NewCond(&q.mu)
	q.stop = context.AfterFunc(ctx, q.end)
	return q
}

func (q *queue) put(r *infer.Response) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.list = append(q.list, r)
	q.bell.Signal()
}

func (q *queue) end() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.over = true
	q.bell.Signal()
}

// next waits for a response; nil after the final one, or when the client is gone.
func (q *queue) next() *infer.Response {
	q.mu.Lock()
	defer q.mu.Unlock()
	for len(q.list) == 0 && !q.over {
		q.bell.Wait()
	}
	if len(q.list) == 0 {
		return nil
	}
	r := q.list[0]
	q.list = q.list[1:]
	if r.Final {
		q.over = true
	}
	return r
}
