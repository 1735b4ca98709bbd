package fleet

import (
	"context"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/redline-bench/redline/internal/record"
)

func TestBlocksKeepEveryField(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	var want []record.Record
	var p packer
	for range 1000 {
		sent := rng.Int64N(1e15)
		r := record.Record{
			Due: sent - rng.Int64N(1e6), Sent: sent, Written: sent + rng.Int64N(1e6), First: sent + rng.Int64N(1e6), End: sent + rng.Int64N(1e9), Late: rng.Int64N(1e6),
			SeqID: rng.Uint64(), In: rng.Uint64(), Out: rng.Uint64(), Step: rng.Uint32(), Slot: rng.Uint32(), Class: record.Class(rng.IntN(int(record.NumClasses))),
			Flags: uint8(rng.IntN(32)), Responses: rng.Uint32(),
		}
		want = append(want, r)
		p.add(&r)
	}
	msg, err := p.block(&Head{Seq: 7, Mark: 42, Failures: []Failure{{Text: "x", Count: 3}}})
	if err != nil {
		t.Fatal(err)
	}
	head, packed, err := unpack(msg)
	if err != nil || head.Seq != 7 || head.Mark != 42 || head.Records != len(want) || head.Failures[0].Count != 3 {
		t.Fatal(head, err)
	}
	var got []record.Record
	if err := eachRecord(packed, head.Records, func(r *record.Record) { got = append(got, *r) }); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if p.n != 0 || len(p.buf) != 0 {
		t.Error("the packer was not emptied")
	}
}

func FuzzBlock(f *testing.F) {
	var p packer
	p.add(&record.Record{Sent: 1, End: 2})
	msg, err := p.block(&Head{Seq: 1})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(msg)
	f.Add([]byte{0, 0, 0, 0})
	f.Fuzz(func(_ *testing.T, b []byte) {
		if h, packed, err := unpack(b); err == nil {
			_ = eachRecord(packed, min(h.Records, 1000), func(*record.Record) {})
		}
	})
}

// The true offset is within the stated error, whatever way takes how long.
func TestOffsetIsWithinItsError(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for range 200 {
		var now int64
		ahead := rng.Int64N(2e12) - 1e12
		ask := func(context.Context) (int64, int64, error) {
			now += rng.Int64N(5e6)
			theirs := now + ahead
			now += rng.Int64N(5e6)
			return theirs, theirs + 60e9, nil
		}
		o, err := estimate(t.Context(), ask, func() (int64, int64) { return now, now })
		if err != nil {
			t.Fatal(err)
		}
		if d := o.Ahead - ahead; max(d, -d) > o.Error {
			t.Errorf("the offset is wrong by %d, with a stated error of %d", d, o.Error)
		}
	}
}

// A worker loads the server for ten seconds after the last sign of life from its coordinator, and not longer.
func TestDeadMansSwitch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStation(t.Context(), &Worker{}, &Job{Epoch: 1})
		go s.watchCoordinator()
		for range 5 {
			time.Sleep(DeadMan - time.Millisecond)
			synctest.Wait()
			if s.ctx.Err() != nil {
				t.Fatal("the worker left while its coordinator was alive")
			}
			s.mu.Lock()
			s.heard = time.Now()
			s.mu.Unlock()
		}
		time.Sleep(DeadMan + time.Millisecond)
		synctest.Wait()
		if s.ctx.Err() == nil || !strings.Contains(context.Cause(s.ctx).Error(), "no sign of life for 10s") {
			t.Errorf("10 s after the last sign of life: %v", context.Cause(s.ctx))
		}
	})
}

func TestBlocksOfAFleetAreBounded(t *testing.T) {
	for _, n := range []int{1, 10, 1000, 1001, 10_000, 100_000} {
		if rate := float64(n) / interval(n).Seconds(); rate > 10_000.5 {
			t.Errorf("%d workers send %.0f blocks a second", n, rate)
		}
	}
}
