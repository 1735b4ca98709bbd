package fleet

import (
	"context"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// prefetch limits the blocks that are on their way to the coordinator: memory does not grow with the records, and 10,000 blocks a second come also
// from a NATS server that is 200 ms away.
var prefetch = jetstream.PullMaxMessagesWithBytesLimit(2048, 16<<20)

const (
	// storeHeartbeat is the time between two signs of life of an idle stream. After two that are missing the coordinator opens the stream again.
	storeHeartbeat = 500 * time.Millisecond
	// openTime limits an attempt to open the stream. A cluster may give the work to a server that died a moment ago: the next attempt gets another one.
	openTime = 2 * time.Second
	// forgetAfter is when NATS forgets a reader that went away.
	forgetAfter = time.Minute
)

// consume begins to read the blocks of the workers.
func (r *Run) consume(ctx context.Context) error {
	blocks, err := r.openBlocks(ctx, requestTime)
	if err != nil {
		return r.bus.explainJetStream("read the records", err)
	}
	r.work.Go(func() {
		for err == nil {
			r.readBlocks(blocks)
			err = insist(r.ctx, func() (err error) {
				blocks, err = r.openBlocks(r.ctx, openTime)
				return err
			})
		}
	})
	return nil
}

// openBlocks begins to read after the last block that came. It does not use the library's ordered consumer: after the loss of a server of a
// cluster, that one waits forever for a consumer that the cluster may have placed on the dead server.
func (r *Run) openBlocks(ctx context.Context, limit time.Duration) (jetstream.MessagesContext, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	var after uint64
	r.lock(func() { after = r.sequence })
	consumer, err := r.stream.CreateConsumer(ctx, jetstream.ConsumerConfig{
		FilterSubject: r.subjects(), DeliverPolicy: jetstream.DeliverByStartSequencePolicy, OptStartSeq: after + 1,
		AckPolicy: jetstream.AckNonePolicy, InactiveThreshold: forgetAfter, Replicas: 1, MemoryStorage: true,
	})
	if err != nil {
		return nil, err
	}
	return consumer.Messages(prefetch, jetstream.PullHeartbeat(storeHeartbeat))
}

// readBlocks takes blocks in until the stream must be opened again. NATS sends each block once: one that was on its way to a lost connection
// comes only after the stream was opened again.
func (r *Run) readBlocks(blocks jetstream.MessagesContext) {
	lost := r.bus.nc.StatusChanged(nats.RECONNECTING, nats.CLOSED)
	defer r.bus.nc.RemoveStatusListener(lost) // it closes the channel
	r.work.Go(func() {
		select {
		case <-lost:
		case <-r.ctx.Done():
		}
		blocks.Stop()
	})
	for next := uint64(1); ; next++ {
		msg, err := blocks.Next()
		if err != nil {
			return
		}
		meta, err := msg.Metadata()
		if err != nil || meta.Sequence.Consumer != next {
			return
		}
		r.receive(msg.Subject(), msg.Data())
		r.lock(func() { r.sequence = meta.Sequence.Stream })
	}
}
