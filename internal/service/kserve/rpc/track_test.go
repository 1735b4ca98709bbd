package rpc_test

import (
	"errors"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/redline-bench/redline/internal/plan"
	pb "github.com/redline-bench/redline/internal/proto/kserve"
	"github.com/redline-bench/redline/internal/record"
	"github.com/redline-bench/redline/internal/service"
	"github.com/redline-bench/redline/internal/service/kserve/rpc"
	"github.com/redline-bench/redline/internal/testkit"
)

// convoy sends calls on tracks, and gathers their ends.
type convoy struct {
	tr    service.Transport
	req   service.Request
	calls []*service.Call
	ends  chan *service.Call
}

func (c *convoy) Response(*service.Call, []byte, int64, bool) {}

func (c *convoy) Done(call *service.Call) { c.ends <- call }

func openTracks(t *testing.T, f *fake, tracks, slots int) *convoy {
	t.Helper()
	svc, err := rpc.New(plan.Target{URL: f.addr, Model: "echo", Streaming: true}, plan.Input{})
	if err != nil {
		t.Fatal(err)
	}
	c := &convoy{ends: make(chan *service.Call, slots)}
	if c.req, err = svc.Prepare(inputs()); err != nil {
		t.Fatal(err)
	}
	if c.tr, err = svc.Open(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	c.tr.(service.Tracker).Tracks(tracks)
	if err := c.tr.Grow(t.Context(), slots); err != nil {
		t.Fatal(err)
	}
	for i := range slots {
		c.calls = append(c.calls, &service.Call{Slot: i, Req: c.req})
	}
	t.Cleanup(func() {
		_ = c.tr.Close()
		_ = svc.Close()
	})
	return c
}

// send sends all calls. The calls of a track count their ids for themselves, as sequences do.
func (c *convoy) send(tracks int) {
	for i, call := range c.calls {
		call.Vars = service.Vars{ID: uint64(i / tracks), HasID: true, SeqID: uint64(1 + i%tracks), Present: true}
		c.tr.Send(call)
	}
	c.tr.Flush()
}

func (c *convoy) wait(t *testing.T, n int) (ended []*service.Call) {
	t.Helper()
	for range n {
		select {
		case call := <-c.ends:
			ended = append(ended, call)
		case <-time.After(testkit.Limit):
			t.Fatalf("%d of %d calls have ended", len(ended), n)
		}
	}
	return ended
}

// Calls of one track are on one stream, in their order, while none of them has been answered; the answers may come in
// any order.
func TestCallsOfATrackShareAStream(t *testing.T) {
	const tracks, each = 3, 20
	var mu sync.Mutex
	var streams []bidiServer
	seen := map[bidiServer][]*pb.ModelInferRequest{}
	f := startFake(t, &fake{stream: func(r *pb.ModelInferRequest, st bidiServer) error {
		mu.Lock()
		defer mu.Unlock()
		if !slices.Contains(streams, st) {
			streams = append(streams, st)
		}
		seen[st] = append(seen[st], r)
		if len(seen[st]) < each {
			return nil
		}
		for _, r := range slices.Backward(seen[st]) {
			if err := st.Send(&pb.ModelStreamInferResponse{InferResponse: echo(r)}); err != nil {
				return err
			}
		}
		return nil
	}})
	c := openTracks(t, f, tracks, tracks*each)
	c.send(tracks)
	for _, call := range c.wait(t, tracks*each) {
		if call.Rec.Class != record.OK || call.Rec.Responses != 1 {
			t.Errorf("slot %d: %v %+v", call.Slot, call.Err, call.Rec)
		}
	}
	if len(streams) != tracks {
		t.Errorf("%d streams for %d tracks", len(streams), tracks)
	}
	var want []string
	for i := range each {
		want = append(want, strconv.Itoa(i))
	}
	for _, list := range seen {
		var ids []string
		for _, r := range list {
			ids = append(ids, r.GetId())
			if r.GetParameters()["sequence_id"].GetInt64Param() != list[0].GetParameters()["sequence_id"].GetInt64Param() {
				t.Error("two tracks on one stream")
			}
		}
		if diff := cmp.Diff(want, ids); diff != "" {
			t.Error(diff)
		}
	}
}

// After Renew, calls with the ids of earlier ones are on streams of their own.
func TestRenewedTracks(t *testing.T) {
	var mu sync.Mutex
	streams := map[bidiServer]int{}
	f := startFake(t, &fake{stream: func(r *pb.ModelInferRequest, st bidiServer) error {
		mu.Lock()
		defer mu.Unlock()
		streams[st]++
		return st.Send(&pb.ModelStreamInferResponse{InferResponse: echo(r)})
	}})
	c := openTracks(t, f, 2, 6)
	for range 3 {
		c.send(2)
		for _, call := range c.wait(t, 6) {
			if call.Err != nil {
				t.Error(call.Err)
			}
		}
		c.tr.(service.Renewer).Renew()
	}
	if len(streams) != 6 {
		t.Errorf("three runs of two tracks used %d streams", len(streams))
	}
}

// A call that is given up or refused does not take the others of its stream with it; the end of the stream does.
func TestFailuresOnASharedStream(t *testing.T) {
	release := make(chan struct{})
	var held []*pb.ModelInferRequest
	f := startFake(t, &fake{stream: func(r *pb.ModelInferRequest, st bidiServer) error {
		if held = append(held, r); len(held) < 5 {
			return nil
		}
		if err := st.Send(&pb.ModelStreamInferResponse{ErrorMessage: "not that one", InferResponse: &pb.ModelInferResponse{Id: held[1].GetId()}}); err != nil {
			return err
		}
		<-release
		for _, i := range []int{0, 2} { // the first was given up
			if err := st.Send(&pb.ModelStreamInferResponse{InferResponse: echo(held[i])}); err != nil {
				return err
			}
		}
		return errors.New("over")
	}})
	c := openTracks(t, f, 1, 5)
	c.send(1)
	got := map[int]record.Class{}
	note := func(calls []*service.Call) {
		for _, call := range calls {
			got[call.Slot] = call.Rec.Class
		}
	}
	note(c.wait(t, 1))
	c.tr.Cut(0, record.Timeout)
	note(c.wait(t, 1))
	close(release)
	note(c.wait(t, 3))
	want := map[int]record.Class{0: record.Timeout, 1: record.Server, 2: record.OK, 3: record.Server, 4: record.Server}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestAnswersThatNobodyCanReadEndTheStream(t *testing.T) {
	n := 0
	f := startFake(t, &fake{stream: func(r *pb.ModelInferRequest, st bidiServer) error {
		if n++; n == 3 {
			bad := &pb.ModelStreamInferResponse{InferResponse: echo(r)}
			bad.InferResponse.ProtoReflect().SetUnknown([]byte{0x1a, 0x7f}) // a field that is longer than the message
			return st.Send(bad)
		}
		return nil
	}})
	c := openTracks(t, f, 1, 3)
	c.send(1)
	for _, call := range c.wait(t, 3) {
		if call.Rec.Class != record.Protocol {
			t.Errorf("slot %d: %v", call.Slot, call.Err)
		}
	}
}
