package fleet

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/redline-bench/redline/internal/clock"
	"github.com/redline-bench/redline/internal/measure"
	"github.com/redline-bench/redline/internal/run"
	"github.com/redline-bench/redline/internal/vitals"
)

// mostUnsent limits the blocks that wait for their acknowledgment. With more, ends of requests wait, which the health shows as
// stalled: memory stays bounded, and no record is lost.
const mostUnsent = 64

// sender sends the blocks of an assignment and keeps each until NATS has acknowledged it.
type sender struct {
	s     *assignment
	pack  packer
	seq   uint64
	mark  int64
	pulse *vitals.Pulse
	last  run.State // the latest reading
	// The failures that were told, and the load that they belong to.
	counted, countedGen uint64

	mu      sync.Mutex
	unsent  []*sentBlock // in order of their numbers
	acked   uint64       // records
	refused string       // why NATS does not take blocks; empty while it does
}

// sentBlock is a block on its way.
type sentBlock struct {
	seq  uint64
	n    int // records
	data []byte
	sent time.Time              // when it was sent last
	ack  jetstream.PubAckFuture // nil if it must be sent again
}

func newSender(s *assignment) *sender {
	return &sender{s: s, last: run.State{State: measure.State{At: clock.Now(), Vitals: vitals.Read()}}}
}

// run sends a block at each interval until the run is left.
func (o *sender) run(ctx context.Context) {
	o.pulse = vitals.StartPulse()
	defer o.pulse.Stop()
	clock.Every(ctx, o.s.job.Interval, func() {
		o.settle()
		if o.room() > 1 { // else records wait in the packer: a block for each interval would fill the memory with small blocks
			o.flush()
		}
	})
}

// flush sends what has ended until now.
func (o *sender) flush() {
	mark, starting := clock.Now(), o.s.starting() // in this order: the load works when starting has become false
	o.s.load.Sync(run.Vitals, func(s *run.State) {
		o.mark = mark
		usage := s.Vitals.Since(o.last.Vitals)
		h := &Head{Working: starting || s.Working, GCPause: usage.GCPause, SchedDelay: usage.SchedDelay, Standstill: o.pulse.Longest(o.last.At, s.At)}
		o.last = *s
		o.send(h)
	})
}

// send makes a block of the packed records. The collector of the load calls it, so that it is never called twice at a time.
func (o *sender) send(h *Head) {
	o.seq++
	h.Seq, h.Mark = o.seq, o.mark
	o.s.describe(h, &o.last)
	list := o.s.failures(o.last.Failures)
	var n uint64
	for _, f := range list {
		n += f.Count
	}
	if n != o.counted || h.Gen != o.countedGen {
		o.counted, o.countedGen, h.Failures = n, h.Gen, list
	}
	data, err := o.pack.block(h)
	if err != nil {
		panic("BUG: the head of a block cannot be encoded: " + err.Error())
	}
	o.publish(&sentBlock{seq: h.Seq, n: h.Records, data: data})
	for o.room() <= 0 && o.s.ctx.Err() == nil {
		o.settle()
		if o.room() <= 0 {
			clock.Sleep(o.s.ctx, time.Millisecond)
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
func (o *sender) publish(p *sentBlock) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.unsent = append(o.unsent, p)
	o.submit(p)
}

// refusal is why NATS does not take blocks; empty while it does.
func (o *sender) refusal() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.refused
}

// submit sends a block. It has an id, so that NATS keeps it once however often it is sent.
func (o *sender) submit(p *sentBlock) {
	p.sent = time.Now()
	job := o.s.job
	msg := nats.NewMsg(blockSubject(job.Run, job.Epoch, job.Load, job.Index))
	msg.Data = p.data
	id := fmt.Sprintf("%s.%d.%d.%d.%d", job.Run, job.Epoch, job.Load, job.Index, p.seq)
	ack, err := o.s.w.Bus.js.PublishMsgAsync(msg, jetstream.WithMsgID(id))
	p.ack = ack
	if err == nil {
		return
	}
	p.ack = nil // settle sends it again
	if errors.Is(err, nats.ErrMaxPayload) {
		o.refuse(fmt.Sprintf("its largest message has %d bytes: set max_payload of nats-server to 1MB", o.s.w.Bus.nc.MaxPayload()))
	}
}

// settle forgets the blocks that are acknowledged, and sends again those that failed. It makes a new connection where no
// acknowledgment comes.
func (o *sender) settle() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.unsent = slices.DeleteFunc(o.unsent, o.acknowledge)
	if len(o.unsent) == 0 || time.Since(o.unsent[0].sent) < unacknowledged {
		return
	}
	if nc := o.s.w.Bus.nc; nc.IsConnected() {
		_ = nc.ForceReconnect() // if it fails, the connection is lost anyway and made again
	}
	for _, p := range o.unsent {
		o.submit(p)
	}
}

// acknowledge tells whether NATS has a block, and sends it again if it failed a moment ago.
func (o *sender) acknowledge(p *sentBlock) bool {
	if p.ack != nil {
		select {
		case <-p.ack.Ok():
			o.acked += uint64(p.n)
			o.refused = ""
			return true
		case err := <-p.ack.Err():
			p.ack = nil
			o.note(err)
		default:
		}
	}
	if p.ack == nil && time.Since(p.sent) >= resendAfter {
		o.submit(p)
	}
	return false
}

// beingStored is the error of a block that was sent again while a NATS cluster stores it: a server of the cluster may be slow or lost.
const beingStored jetstream.ErrorCode = 10158

// note keeps why NATS refused a block. It may be full; the loss of a connection is no refusal, and a block that NATS is storing is sent again.
func (o *sender) note(err error) {
	if refusal, ok := errors.AsType[*jetstream.APIError](err); ok && refusal.ErrorCode != beingStored {
		o.refuse(refusal.Description)
	}
}

func (o *sender) refuse(why string) {
	if o.refused == "" {
		o.s.w.Say("%s: NATS does not take the records: %s; requests wait until it does", o.s.job.title(), why)
	}
	o.refused = "NATS does not take its records: " + why
}

// finish sends the last records and waits a moment for the acknowledgments.
func (o *sender) finish() {
	if o.pack.n > 0 {
		o.send(&Head{})
	}
	deadline := time.Now().Add(workerTimeout)
	for time.Now().Before(deadline) {
		o.settle()
		if o.room() == mostUnsent {
			return
		}
		time.Sleep(time.Millisecond)
	}
}
