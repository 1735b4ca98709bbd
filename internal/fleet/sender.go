package fleet

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/redline-bench/redline/internal/clock"
	"github.com/redline-bench/redline/internal/vitals"
)

// mostUnsent limits the blocks that wait for their acknowledgment. With more, ends of requests wait, which the health shows as
// stalled: memory stays bounded, and no record is lost.
const mostUnsent = 64

// sender sends the blocks of a station and keeps each until NATS has acknowledged it.
type sender struct {
	s       *station
	pack    packer
	seq     uint64
	mark    int64
	last    vitals.Reading
	lastAt  int64
	counted uint64 // failures that were told

	mu     sync.Mutex
	unsent []*parcel // in order of their numbers
	acked  uint64    // records
}

// parcel is a block on its way.
type parcel struct {
	seq  uint64
	n    int // records
	data []byte
	sent time.Time // when it was first sent
	ack  jetstream.PubAckFuture
}

func newSender(s *station) *sender {
	return &sender{s: s, last: vitals.Read(), lastAt: clock.Now()}
}

// run sends a block at each interval until the run is left.
func (o *sender) run(ctx context.Context) {
	tick := time.NewTicker(o.s.job.Interval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			o.flush()
			o.settle()
		}
	}
}

// flush sends what has ended until now.
func (o *sender) flush() {
	mark := clock.Now()
	eng := o.s.maker.Engine()
	working := o.s.working() // before the records are collected: what ended the load is in them
	eng.Sync(func() {
		o.mark = mark
		h := &Head{Working: working}
		now, at := vitals.Read(), clock.Now()
		usage := now.Since(o.last)
		h.GCPause, h.SchedDelay, h.Standstill = usage.GCPause, usage.SchedDelay, time.Duration(o.s.maker.Standstill(o.lastAt, at))
		o.last, o.lastAt = now, at
		o.send(h)
	})
}

// send makes a block of the packed records. The collector of the engine calls it, so that it is never called twice at a time.
func (o *sender) send(h *Head) {
	o.seq++
	h.Seq, h.Mark = o.seq, o.mark
	o.s.reading(h)
	h.CPU, h.Busy, h.Idle = o.last.CPU, o.last.Busy, o.last.Idle
	list := failures(o.s.maker.Engine())
	var n uint64
	for _, f := range list {
		n += f.Count
	}
	if n != o.counted {
		o.counted, h.Failures = n, list
	}
	data, err := o.pack.block(h)
	if err != nil {
		panic("BUG: the head of a block cannot be encoded: " + err.Error())
	}
	o.publish(&parcel{seq: h.Seq, n: h.Records, data: data, sent: time.Now()})
	for o.room() <= 0 && o.s.ctx.Err() == nil {
		o.settle()
		if o.room() <= 0 {
			pause(o.s.ctx, time.Millisecond)
		}
	}
}

func (o *sender) room() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return mostUnsent - len(o.unsent)
}

// acknowledged is the number of records that NATS has acknowledged.
func (o *sender) acknowledged() uint64 {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.acked
}

// publish hands a block to NATS.
func (o *sender) publish(p *parcel) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.unsent = append(o.unsent, p)
	o.post(p)
}

// post sends a block. It has an id, so that NATS keeps it once however often it is sent.
func (o *sender) post(p *parcel) {
	msg := nats.NewMsg(blockSubject(o.s.job.Run, o.s.job.Epoch, o.s.job.Index))
	msg.Data = p.data
	id := fmt.Sprintf("%s.%d.%d.%d", o.s.job.Run, o.s.job.Epoch, o.s.job.Index, p.seq)
	ack, err := o.s.w.Bus.js.PublishMsgAsync(msg, jetstream.WithMsgID(id))
	p.ack = ack
	if err != nil {
		p.ack = nil // settle sends it again
	}
}

// settle forgets the blocks that are acknowledged, and sends again those that failed. It makes a new connection where no
// acknowledgment comes.
func (o *sender) settle() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.unsent = slices.DeleteFunc(o.unsent, func(p *parcel) bool {
		if p.ack == nil {
			o.post(p)
			return false
		}
		select {
		case <-p.ack.Ok():
			o.acked += uint64(p.n)
			return true
		case <-p.ack.Err():
			o.post(p)
		default:
		}
		return false
	})
	if len(o.unsent) == 0 || time.Since(o.unsent[0].sent) < unacknowledged {
		return
	}
	for _, p := range o.unsent {
		p.sent = time.Now()
	}
	if nc := o.s.w.Bus.nc; nc.IsConnected() {
		_ = nc.ForceReconnect() // if it fails, the connection is lost anyway and made again
	}
	for _, p := range o.unsent {
		o.post(p)
	}
}

// finish sends the last records and waits a moment for the acknowledgments.
func (o *sender) finish() {
	if o.pack.n > 0 {
		o.send(&Head{})
	}
	deadline := time.Now().Add(silence)
	for time.Now().Before(deadline) {
		o.settle()
		if o.room() == mostUnsent {
			return
		}
		time.Sleep(time.Millisecond)
	}
}
