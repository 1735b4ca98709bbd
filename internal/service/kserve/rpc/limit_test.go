package rpc_test

import (
	"strings"
	"testing"

	"github.com/redline-bench/redline/internal/plan"
	pb "github.com/redline-bench/redline/internal/proto/kserve"
	"github.com/redline-bench/redline/internal/record"
)

// An endless stream of good responses ends its call when they are above the limit all together, and the next call goes
// well.
func TestEndlessResponsesFail(t *testing.T) {
	calls := 0
	f := startFake(t, &fake{stream: func(r *pb.ModelInferRequest, st bidiServer) error {
		if calls++; calls > 1 {
			return st.Send(&pb.ModelStreamInferResponse{InferResponse: final(echo(r), true)})
		}
		for {
			if err := st.Send(&pb.ModelStreamInferResponse{InferResponse: final(echo(r), false)}); err != nil {
				return err
			}
		}
	}})
	_, d := open(t, plan.Target{URL: f.addr, Streaming: true, MaxResponse: 64 << 10}, inputs(), 1)
	d.run(1)
	c := d.calls[0]
	if c.Rec.Class != record.Protocol || !strings.Contains(c.Err.Error(), "more than 65536 bytes all together; raise --max-response-bytes") {
		t.Errorf("%v: %v", c.Rec.Class, c.Err)
	}
	if n := c.Rec.Responses; n == 0 || n > 64<<10/64 {
		t.Errorf("%d responses were taken", n)
	}
	d.run(1)
	if c.Err != nil || c.Rec.Responses != 1 {
		t.Errorf("the call after it: %v, %+v", c.Err, c.Rec)
	}
}
