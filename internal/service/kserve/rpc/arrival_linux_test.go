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
	"github.com/redline-bench/redline/internal/testkit"
	"github.com/redline-bench/redline/internal/testkit/disturbance"
)

// A response that came while the client was held up has the time of its arrival.
func TestResponsesHaveTheTimeOfTheirArrival(t *testing.T) {
	testkit.KernelStamps(t)
	disturbance.Try(t, func() error { return heldUp(t) })
}

// heldUp tells what is wrong with the time of a decoupled model's second response.
func heldUp(t *testing.T) error {
	t.Helper()
	const heldFor, tolerance = 20 * time.Millisecond, int64(time.Millisecond)
	held := make(chan struct{})
	writes := testkit.LogWrites(testkit.Listen(t, "127.0.0.1:0"))
	f := &fake{stream: func(r *pb.ModelInferRequest, st bidiServer) error {
		if err := st.Send(&pb.ModelStreamInferResponse{InferResponse: final(echo(r), false)}); err != nil {
			return err
		}
		<-held
		return st.Send(&pb.ModelStreamInferResponse{InferResponse: final(echo(r), true)})
	}}
	f.serve(t, writes)
	_, d := open(t, plan.Target{URL: f.addr, Streaming: true}, inputs(), 1)
	var at []int64
	var write testkit.Write
	var until int64
	d.onRsp = func(_ *service.Call, payload []byte, when int64, _ bool) {
		if at = append(at, when); len(at) == 1 {
			size := len(payload)
			from := writes.Total()
			held <- struct{}{}
			write = writes.Await(from + size)
			time.Sleep(heldFor)
			until = clock.Now()
		}
	}
	d.run(1)
	rec := &d.calls[0].Rec
	if rec.Class != record.OK || len(at) != 2 || rec.End != at[1] || at[1] < write.Begun {
		t.Fatalf("%+v, responses at %d, the second was written at %d", rec, at, write.Begun)
	}
	if over := at[1] - write.Ended; over > tolerance || rec.Late < until-write.Ended-tolerance {
		return fmt.Errorf("the response came %d us after it was written, the read lag is %d us of %d", over/1000, rec.Late/1000, (until-write.Ended)/1000)
	}
	return nil
}
