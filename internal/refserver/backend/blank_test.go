package backend_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/redline-bench/redline/internal/proto/kserve"
	"github.com/redline-bench/redline/internal/refserver/backend"
	"github.com/redline-bench/redline/internal/refserver/infer"
	"github.com/redline-bench/redline/internal/refserver/pause"
	"github.com/redline-bench/redline/internal/tensor"
)

func TestBlankGivesEveryOutputItsSize(t *testing.T) {
	cfg := &kserve.ModelConfig{
		Name: "m", Backend: "blank", MaxBatchSize: 8,
		Output: []*kserve.ModelOutput{
			{Name: "a", DataType: kserve.DataType_TYPE_FP16, Dims: []int64{2, 3}},
			{Name: "b", DataType: kserve.DataType_TYPE_STRING, Dims: []int64{-1}},
		},
		Parameters: map[string]*kserve.ModelParameter{"string_length": {StringValue: "2"}},
	}
	b, err := backend.New("blank", cfg, backend.Env{})
	if err != nil {
		t.Fatal(err)
	}
	var got []tensor.Tensor
	b.Execute(t.Context(), []*backend.Job{{
		Request: &infer.Request{Batch: 2},
		Answer:  func(outputs []tensor.Tensor, _ error, _ bool) { got = outputs },
	}})
	want := []tensor.Tensor{
		{Name: "a", Type: tensor.FP16, Shape: tensor.Shape{2, 2, 3}, Data: make([]byte, 24)},
		{Name: "b", Type: tensor.Bytes, Shape: tensor.Shape{2, 1}, Data: []byte("\x02\x00\x00\x00xx\x02\x00\x00\x00xx")},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	cfg.ModelTransactionPolicy = &kserve.ModelTransactionPolicy{Decoupled: true}
	cfg.Parameters["responses"] = &kserve.ModelParameter{StringValue: "3"}
	clock := pause.New()
	defer clock.Close()
	const hold = 30 * time.Millisecond
	if b, err = backend.New("blank", cfg, backend.Env{Clock: clock, Hold: hold}); err != nil {
		t.Fatal(err)
	}
	received, sent, done := time.Now(), 0, make(chan struct{})
	b.Execute(t.Context(), []*backend.Job{{
		Request: &infer.Request{Batch: 2, Received: received},
		Answer: func(outputs []tensor.Tensor, _ error, end bool) {
			sent++
			if took := time.Since(received); took < hold*time.Duration(sent)/3 || len(outputs) != 2 {
				t.Errorf("response %d came after %v with %d outputs", sent, took, len(outputs))
			}
			if end {
				close(done)
			}
		},
	}})
	if <-done; sent != 3 {
		t.Errorf("%d responses, want 3", sent)
	}
	cfg.Output[0].DataType = kserve.DataType_TYPE_INVALID
	if _, err := backend.New("blank", cfg, backend.Env{}); err == nil {
		t.Error("an output without a type was taken")
	}
}
