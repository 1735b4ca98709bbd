package standin

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/prototext"

	"github.com/redline-bench/redline/internal/refserver/model"
	"github.com/redline-bench/redline/internal/service"
	"github.com/redline-bench/redline/internal/tensor"
)

func TestAStandInGivesWhatTheServerGave(t *testing.T) {
	m := Model{
		Spec: &service.Model{
			Name: "m", MaxBatch: 8,
			Inputs: []service.TensorSpec{{Name: "IN", Type: tensor.FP16, Shape: tensor.Shape{-1, 3}}},
			Outputs: []service.TensorSpec{
				{Name: "A", Type: tensor.FP32, Shape: tensor.Shape{-1}}, {Name: "B", Type: tensor.Bytes, Shape: tensor.Shape{1}}, {Name: "C", Type: tensor.Bool, Shape: tensor.Shape{2}},
			},
		},
		Answer: []tensor.Tensor{
			{Name: "A", Type: tensor.FP32, Shape: tensor.Shape{4, 1000}}, {Name: "B", Type: tensor.Bytes, Shape: tensor.Shape{4, 1}, Data: make([]byte, 4*(4+20))},
		},
	}
	text, err := prototext.Marshal(m.config())
	if err != nil {
		t.Fatal(err)
	}
	cfg, err := model.ParseConfig(text)
	if err != nil {
		t.Fatal(err)
	}
	var dims [][]int64
	for _, out := range cfg.GetOutput() {
		dims = append(dims, out.GetDims())
	}
	if d := cmp.Diff([][]int64{{1000}, {1}, {2}}, dims); d != "" {
		t.Error(d)
	}
	if n := cfg.GetParameters()["string_length"].GetStringValue(); n != "20" {
		t.Errorf("texts of %s letters", n)
	}
}

func TestAStandInAnswersAsOftenAsTheServer(t *testing.T) {
	f := func(responses int, decoupled bool) {
		t.Helper()
		m := Model{Spec: &service.Model{Name: "m"}, Responses: responses}
		cfg := m.config()
		if cfg.GetModelTransactionPolicy().GetDecoupled() != decoupled || decoupled && cfg.GetParameters()["responses"].GetStringValue() != fmt.Sprint(responses) {
			t.Errorf("%d responses: %v", responses, cfg)
		}
	}
	f(0, false)
	f(1, false)
	f(20, true)
}

func TestAStandInAnswersWithAsManyBytesAsTheServer(t *testing.T) {
	m := &service.Model{MaxBatch: 8, Outputs: []service.TensorSpec{
		{Name: "A", Type: tensor.FP32, Shape: tensor.Shape{10}}, {Name: "B", Type: tensor.FP16, Shape: tensor.Shape{3, -1}},
	}}
	want := []tensor.Tensor{{Name: "A", Type: tensor.FP32, Shape: tensor.Shape{2, 10}}, {Name: "B", Type: tensor.FP16, Shape: tensor.Shape{2, 3, 100}}}
	if d := cmp.Diff(want, AnswerOf(m, 2, 2*10*4+2*3*100*2)); d != "" {
		t.Error(d)
	}
	text := &service.Model{Outputs: []service.TensorSpec{{Name: "T", Type: tensor.Bytes, Shape: tensor.Shape{-1}}}}
	if got := AnswerOf(text, 1, 500); len(got[0].Data) != 500 || got[0].Shape.Elements() != 1 {
		t.Errorf("%v with %d bytes", got[0].Shape, len(got[0].Data))
	}
	if got := AnswerOf(text, 1, 0); len(got) != 1 || len(got[0].Data) != 0 {
		t.Errorf("an answer of no bytes has %d", len(got[0].Data))
	}
}
