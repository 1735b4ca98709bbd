package rpc_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/redline-bench/redline/internal/clock"
	"github.com/redline-bench/redline/internal/plan"
	pb "github.com/redline-bench/redline/internal/proto/kserve"
	"github.com/redline-bench/redline/internal/record"
	"github.com/redline-bench/redline/internal/service"
)

// A response that came while the client was held up has the time of its arrival.
func TestResponsesHaveTheTimeOfTheirArrival(t *testing.T) {
	// The kernel begins to note arrivals a moment after it was asked for the first time, and a busy machine may be slow to
	// write; with the time of the read no attempt can succeed.
	var got string
	for range 10 {
		if got = heldUp(t); got == "" {
			return
		}
	}
	t.Error(got)
}

// heldUp tells what is wrong with the time of a decoupled model's second response.
func heldUp(t *testing.T) string {
	t.Helper()
	const heldFor = 50 * time.Millisecond
	held, written := make(chan struct{}), make(chan struct{})
	f := startFake(t, &fake{stream: func(r *pb.ModelInferRequest, st bidiServer) error {
		if err := st.Send(&pb.ModelStreamInferResponse{InferResponse: final(echo(r), false)}); err != nil {
			return err
		}
		<-held
		err := st.Send(&pb.ModelStreamInferResponse{InferResponse: final(echo(r), true)})
		written <- struct{}{}
		return err
	}})
	_, d := open(t, plan.Target{URL: f.addr, Streaming: true}, inputs(), 1)
	var at []int64
	var until int64
	d.onRsp = func(_ *service.Call, _ []byte, when int64, _ bool) {
		if at = append(at, when); len(at) == 1 {
			held <- struct{}{}
			<-written
			time.Sleep(heldFor)
			until = clock.Now()
		}
	}
	d.run(1)
	rec := &d.calls[0].Rec
	if rec.Class != record.OK || len(at) != 2 {
		t.Fatalf("%+v, %d responses", rec, len(at))
	}
	if spare := until - at[1]; spare < int64(heldFor)/2 || rec.Late < int64(heldFor)/2 || rec.End != at[1] {
		return fmt.Sprintf("the response came %d us before it could be read, the read lag is %d us", spare/1000, rec.Late/1000)
	}
	return ""
}
