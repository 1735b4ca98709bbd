package grpcpool_test

import (
	"testing"

	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/record"
	"github.com/redline-bench/redline/internal/service"
	"github.com/redline-bench/redline/internal/service/grpcpool"
	"github.com/redline-bench/redline/internal/wire/h2/h2test"
)

// A server that refuses a stream has not looked at it: the call is sent again, a few times.
func TestRefusedStreamsAreSentAgain(t *testing.T) {
	srv := h2test.Start(t, nil)
	at, err := grpcpool.NewServer(plan.Target{URL: srv.Addr()})
	if err != nil {
		t.Fatal(err)
	}
	ended := make(sink, 1)
	tr, err := grpcpool.New(t.Context(), at, ended, at.Header(check), func() grpcpool.Exchange { return exchange{at} })
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tr.Close() }()
	if err := tr.Grow(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	call := &service.Call{}
	for refusals, want := range map[int]record.Class{0: record.OK, 1: record.OK, 3: record.OK, 4: record.Transport} {
		srv.Refuse(refusals)
		tr.Send(call)
		tr.Flush()
		<-ended
		if call.Rec.Class != want {
			t.Errorf("refused %d times: %v: %v", refusals, call.Rec.Class, call.Err)
		}
		if again := call.Rec.Flags&record.Resent != 0; again != (refusals > 0) {
			t.Errorf("refused %d times: recorded as sent again: %v", refusals, again)
		}
		if want == record.OK && srv.Refusals() != -1 {
			t.Errorf("refused %d times: %d requests more than that", refusals, -srv.Refusals())
		}
	}
}
