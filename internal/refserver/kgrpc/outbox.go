package kgrpc

import (
	"sync"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/redline-bench/redline/internal/proto/kserve"
	"github.com/redline-bench/redline/internal/refserver/departure"
	"github.com/redline-bench/redline/internal/refserver/infer"
	"github.com/redline-bench/redline/internal/refserver/model"
	"github.com/redline-bench/redline/internal/refserver/reqlog"
)

// outbox holds the responses of a stream until they are written. Models put, one goroutine sends.
type outbox struct {
	mu      sync.Mutex
	bell    *sync.Cond
	ordered []*queuedRequest // requests whose responses wait for those of earlier requests
	loose   []*queuedRequest // requests whose responses are sent at once
	closed  bool             // no more requests will come
	dead    bool             // the client has gone
	left    *departure.Stream
	sent    int64 // messages
}

// queuedRequest is one request of a stream and its responses that are not yet written.
type queuedRequest struct {
	box        *outbox
	in         *kserve.ModelInferRequest
	req        *infer.Request
	model      *model.Model
	received   time.Time
	emptyFinal bool
	refused    bool
	spoil      func(proto.Message)
	queue      []*infer.Response
	times      []int64 // when responses left, for the log; under the outbox's mutex
}

func newOutbox() *outbox {
	o := &outbox{}
	o.bell = sync.NewCond(&o.mu)
	return o
}

func (o *outbox) open(ordered bool) *queuedRequest {
	l := &queuedRequest{box: o}
	o.mu.Lock()
	defer o.mu.Unlock()
	if ordered {
		o.ordered = append(o.ordered, l)
	} else {
		o.loose = append(o.loose, l)
	}
	return l
}

func (l *queuedRequest) put(r *infer.Response) {
	l.box.mu.Lock()
	defer l.box.mu.Unlock()
	l.queue = append(l.queue, r)
	l.box.bell.Signal()
}

func (l *queuedRequest) refuse(err error) {
	l.refused = true
	l.put(&infer.Response{Err: err, Final: true})
}

func (o *outbox) end() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.closed = true
	o.bell.Signal()
}

func (o *outbox) abort() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.dead = true
	o.bell.Signal()
}

// next waits for a response that may be sent now; a nil request means that the stream has ended.
func (o *outbox) next() (*queuedRequest, *infer.Response) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for {
		if o.dead || o.closed && len(o.ordered) == 0 && len(o.loose) == 0 {
			return nil, nil
		}
		if len(o.ordered) > 0 && len(o.ordered[0].queue) > 0 {
			l := o.ordered[0]
			r := l.take()
			if r.Final {
				o.ordered = o.ordered[1:]
			}
			return l, r
		}
		for i, l := range o.loose {
			if len(l.queue) > 0 {
				r := l.take()
				if r.Final {
					o.loose = append(o.loose[:i], o.loose[i+1:]...)
				}
				return l, r
			}
		}
		o.bell.Wait()
	}
}

func (l *queuedRequest) take() *infer.Response {
	r := l.queue[0]
	l.queue = l.queue[1:]
	return r
}

func (o *outbox) send(stream inferStream, s *Service) error {
	for l, r := o.next(); l != nil; l, r = o.next() {
		start := time.Now()
		msg := s.streamMessage(l, r)
		if msg != nil {
			l.spoil(msg)
			if o.sent++; s.core.Log.On() {
				o.note(l)
			}
			if err := stream.Send(msg); err != nil {
				return err
			}
		}
		if l.req != nil && l.req.Trace != nil {
			l.req.Trace.Mark("GRPC_SEND_START", start)
			l.req.Trace.Mark("GRPC_SEND_END", time.Now())
			if r.Final {
				l.req.Trace.End()
			}
		}
		if r.Final && l.model != nil {
			o.logWhenSent(l, s.core.Log)
		}
	}
	return nil
}

// note records when the next message is sent: now, or when the connection's writer reports it.
func (o *outbox) note(l *queuedRequest) {
	o.mu.Lock()
	i := len(l.times)
	l.times = append(l.times, time.Now().UnixNano())
	o.mu.Unlock()
	if o.left == nil {
		return
	}
	o.left.When(o.sent, func(at int64) {
		if at != 0 {
			o.mu.Lock()
			l.times[i] = at
			o.mu.Unlock()
		}
	})
}

// logWhenSent logs a response when all of it has been sent.
func (o *outbox) logWhenSent(l *queuedRequest, log *reqlog.Log) {
	replied := time.Now()
	add := func(int64) {
		o.mu.Lock()
		defer o.mu.Unlock()
		log.Add(reqlog.Entry{Model: l.model.Name(), ID: l.in.GetId(), Received: l.received, Replied: replied, Events: l.times})
	}
	if o.left == nil || !log.On() || o.sent == 0 {
		add(0)
		return
	}
	o.left.When(o.sent, add)
}
