package kserve

import (
	"slices"
	"sync"
	"time"

	"google.golang.org/protobuf/proto"

	pb "github.com/redline-bench/redline/internal/proto/kserve"
	"github.com/redline-bench/redline/internal/refserver/infer"
	"github.com/redline-bench/redline/internal/refserver/model"
)

// outbox holds the responses to the requests of a stream until they are written, so that models never wait for a slow reader. Models
// put, one goroutine takes.
type outbox struct {
	mu      sync.Mutex
	bell    *sync.Cond
	ordered []*queued // requests whose responses wait for those of earlier requests
	loose   []*queued // requests whose responses are sent at once
	closed  bool      // no more requests will come
	dead    bool      // the client has gone
}

// queued is one request and its responses that are not yet written.
type queued struct {
	box      *outbox
	in       *pb.ModelInferRequest
	req      *infer.Request // nil if the model never saw the request
	model    *model.Model
	received time.Time
	spoil    func(proto.Message)
	queue    []*infer.Response
	times    []int64 // when responses left, for the log; under the outbox's mutex
}

func newOutbox() *outbox {
	o := &outbox{}
	o.bell = sync.NewCond(&o.mu)
	return o
}

// open adds a request.
func (o *outbox) open(ordered bool) *queued {
	l := &queued{box: o}
	o.mu.Lock()
	defer o.mu.Unlock()
	if ordered {
		o.ordered = append(o.ordered, l)
	} else {
		o.loose = append(o.loose, l)
	}
	return l
}

// put adds a response.
func (l *queued) put(r *infer.Response) {
	l.box.mu.Lock()
	defer l.box.mu.Unlock()
	l.queue = append(l.queue, r)
	l.box.bell.Signal()
}

// end says that no more requests are opened.
func (o *outbox) end() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.closed = true
	o.bell.Signal()
}

// abort says that nothing more is to be written.
func (o *outbox) abort() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.dead = true
	o.bell.Signal()
}

// next waits for a response that may be sent now; a nil request means that there are no more.
func (o *outbox) next() (*queued, *infer.Response) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for {
		if o.dead || o.closed && len(o.ordered) == 0 && len(o.loose) == 0 {
			return nil, nil
		}
		if len(o.ordered) > 0 && len(o.ordered[0].queue) > 0 {
			return take(&o.ordered, 0)
		}
		if i := slices.IndexFunc(o.loose, func(l *queued) bool { return len(l.queue) > 0 }); i >= 0 {
			return take(&o.loose, i)
		}
		o.bell.Wait()
	}
}

// take takes the next response of a request, and drops the request from the list after its last one.
func take(list *[]*queued, i int) (*queued, *infer.Response) {
	l := (*list)[i]
	r := l.queue[0]
	l.queue = l.queue[1:]
	if r.Final {
		*list = slices.Delete(*list, i, i+1)
	}
	return l, r
}
