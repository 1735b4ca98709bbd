package fleet

import (
	"context"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/redline-bench/redline/internal/clock"
	"github.com/redline-bench/redline/internal/record"
)

// Leftover passes the records on that NATS has of the level in progress, with its warm-up, and with what workers told of each request. Their times are known to within the clocks of
// the workers' machines and of NATS.
func (r *Run) Leftover(each func(rec *record.Record, data []byte)) error {
	ctx, cancel := context.WithTimeout(r.ctx, prepareTime)
	defer cancel()
	stream, err := r.bus.js.Stream(ctx, streamName(r.conf.Fleet.Run))
	if err != nil {
		return r.bus.explainJetStream("find the records", err)
	}
	info, err := stream.Info(ctx)
	if err != nil || info.State.Msgs == 0 {
		return r.bus.explainJetStream("find the records", err)
	}
	consumer, err := stream.OrderedConsumer(ctx, jetstream.OrderedConsumerConfig{})
	if err != nil {
		return r.bus.explainJetStream("read the records", err)
	}
	messages, err := consumer.Messages(prefetch)
	if err != nil {
		return r.bus.explainJetStream("read the records", err)
	}
	defer messages.Stop()
	base := map[string]int64{} // the offset of each worker's clock, by the time at which NATS stored its first block
	for {
		msg, err := messages.Next(jetstream.NextContext(ctx))
		if err != nil {
			return r.bus.explainJetStream("read the records", err)
		}
		head, records, err := unpack(msg.Data())
		if err != nil {
			return err
		}
		meta, err := msg.Metadata()
		if err != nil {
			return r.bus.explainJetStream("read the records", err)
		}
		if _, ok := base[msg.Subject()]; !ok {
			base[msg.Subject()] = head.Mark - (meta.Timestamp.UnixNano() - clock.Wall(0))
		}
		if err := eachRecord(records, head.Records, func(rec *record.Record, data []byte) {
			shift(rec, base[msg.Subject()])
			each(rec, data)
		}); err != nil {
			return err
		}
		if meta.Sequence.Stream >= info.State.LastSeq {
			return nil
		}
	}
}
