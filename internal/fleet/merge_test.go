package fleet

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/redline-bench/redline/internal/measure"
	"github.com/redline-bench/redline/internal/record"
	"github.com/redline-bench/redline/internal/vitals"
)

// BenchmarkMerge takes in blocks of many workers as a run does: the records of a block go into a window and into the part of its worker. The
// time of a block with one record, and the time of each record more, tell how many workers and requests a coordinator can serve.
func BenchmarkMerge(b *testing.B) {
	for _, workers := range []int{10, 100, 1000, 10_000} {
		for _, records := range []int{1, 1000} {
			b.Run(fmt.Sprintf("workers=%d/records=%d", workers, records), func(b *testing.B) { benchmarkMerge(b, workers, records) })
		}
	}
}

func benchmarkMerge(b *testing.B, workers, records int) {
	b.Helper()
	r := &Run{crew: &crew{changed: make(chan struct{})}, failed: make(chan struct{}), busy: make(chan struct{}, 1), gen: 1}
	setup := measure.Setup{Open: true}
	win := measure.NewWindow(setup)
	var parts []*measure.Part
	for i := range workers {
		r.parts = append(r.parts, &part{member: &member{index: i}, next: 1, waiting: map[uint64][]byte{}})
		parts = append(parts, measure.NewPart(setup, 0))
	}
	r.collect = func(rec *record.Record, _ []record.Event, _ []byte) {
		win.Add(rec)
		parts[int(rec.Slot)%workers].Add(rec)
	}
	var p packer
	for i := range int64(records) {
		due := i * 1e5
		p.add(&record.Record{Due: due, Sent: due + 20_000, Written: due + 25_000, First: due + 900_000, End: due + 1_000_000 + i*7919%500_000, Slot: uint32(i % 16), In: 200, Out: 300, Responses: 1}, nil)
	}
	block, err := p.block(&Head{Seq: 1, Gen: 1, Began: 1, Mark: 1e9, Sent: 1e6, Working: true})
	if err != nil {
		b.Fatal(err)
	}
	i, before := 0, vitals.Read()
	for b.Loop() {
		m := r.parts[i%workers]
		m.next = 1 // the same block comes again
		if err := r.order(m, block); err != nil {
			b.Fatal(err)
		}
		if i++; i*records%1_000_000 == 0 {
			win = measure.NewWindow(setup) // a window ends
		}
	}
	used := vitals.Read().Since(before).CPU // other work on the machine does not count
	b.ReportMetric(float64(used.Nanoseconds())/float64(i), "cpu-ns/block")
	b.ReportMetric(float64(used.Nanoseconds())/float64(i*records), "cpu-ns/record")
	b.ReportMetric(float64(len(block))/float64(records), "bytes/record")
}

// BenchmarkPack packs records of a closed loop as a worker does: it costs CPU time of the machine that makes the load.
func BenchmarkPack(b *testing.B) {
	rng := rand.New(rand.NewPCG(1, 2))
	list, now := make([]record.Record, 6000), int64(0)
	for i := range list {
		now += rng.Int64N(40_000)
		sent := now - 1_200_000 - rng.Int64N(800_000)
		list[i] = record.Record{Due: sent, Sent: sent, Written: sent + 3000 + rng.Int64N(3000), First: now - rng.Int64N(2000), End: now, Slot: rng.Uint32N(64), In: 284, Out: 301, Responses: 1}
	}
	var p packer
	var block []byte
	before := vitals.Read()
	for b.Loop() {
		for i := range list {
			p.add(&list[i], nil)
		}
		var err error
		if block, err = p.block(&Head{}); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(vitals.Read().Since(before).CPU.Nanoseconds())/float64(b.N*len(list)), "cpu-ns/record")
	b.ReportMetric(float64(len(block))/float64(len(list)), "bytes/record")
}
