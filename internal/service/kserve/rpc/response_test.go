package rpc

import (
	"bytes"
	"testing"

	"google.golang.org/protobuf/proto"

	pb "github.com/redline-bench/redline/internal/proto/kserve"
	"github.com/redline-bench/redline/internal/service"
	"github.com/redline-bench/redline/internal/tensor"
)

func sample() *pb.ModelInferResponse {
	return &pb.ModelInferResponse{
		ModelName: "m", ModelVersion: "1", Id: "18446744073709551615",
		Parameters: map[string]*pb.InferParameter{
			"triton_final_response": {ParameterChoice: &pb.InferParameter_BoolParam{BoolParam: true}},
			"other":                 {ParameterChoice: &pb.InferParameter_DoubleParam{DoubleParam: 1}},
		},
		Outputs: []*pb.ModelInferResponse_InferOutputTensor{
			{Name: "A", Datatype: "INT32", Shape: []int64{1, 2}},
			{Name: "B", Datatype: "BYTES", Shape: []int64{1}},
		},
		RawOutputContents: [][]byte{{1, 0, 0, 0, 2, 0, 0, 0}, {1, 0, 0, 0, 'x'}},
	}
}

func TestVerifyDoesNotAllocate(t *testing.T) {
	b, err := proto.Marshal(sample())
	if err != nil {
		t.Fatal(err)
	}
	r := &request{expect: []tensor.Tensor{{Name: "B", Data: []byte{1, 0, 0, 0, 'x'}}}}
	v := &service.Vars{ID: 18446744073709551615, HasID: true}
	if n := testing.AllocsPerRun(100, func() {
		if err := r.verify(b, v); err != nil {
			t.Error(err)
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// Servers may leave the id out, and MLServer sends typed contents without values beside raw data.
func TestVerifyLenient(t *testing.T) {
	f := func(change func(*pb.ModelInferResponse), want *service.Error) {
		t.Helper()
		a := sample()
		change(a)
		b, err := proto.Marshal(a)
		if err != nil {
			t.Fatal(err)
		}
		r := &request{expect: []tensor.Tensor{{Name: "B", Data: []byte{1, 0, 0, 0, 'x'}}}}
		if got := r.verify(b, &service.Vars{ID: 18446744073709551615, HasID: true}); got != want {
			t.Errorf("%v: got %v", a, got)
		}
	}
	f(func(a *pb.ModelInferResponse) { a.Id = "" }, nil)
	f(func(a *pb.ModelInferResponse) { a.Id = "7" }, errID)
	f(func(a *pb.ModelInferResponse) {
		for _, o := range a.Outputs {
			o.Contents = &pb.InferTensorContents{}
		}
	}, nil)
}

func BenchmarkVerify(b *testing.B) {
	p, err := proto.Marshal(sample())
	if err != nil {
		b.Fatal(err)
	}
	r := &request{}
	v := &service.Vars{ID: 18446744073709551615, HasID: true}
	b.ReportAllocs()
	for b.Loop() {
		if err := r.verify(p, v); err != nil {
			b.Fatal(err)
		}
	}
}

// What the walk accepts, the protobuf library accepts too, and both see the same.
func FuzzWalk(f *testing.F) {
	b, err := proto.Marshal(sample())
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	f.Add([]byte{0x2a, 0x00, 0x32, 0x00})
	f.Fuzz(func(t *testing.T, b []byte) {
		a, ok := walk(b)
		var r pb.ModelInferResponse
		err := proto.Unmarshal(b, &r)
		output(b, "A")
		unwrap(b)
		if !ok || err != nil {
			return // the library looks deeper, at UTF-8 and at what is inside of contents
		}
		if a.outputs != len(r.GetOutputs()) || a.raws != len(r.GetRawOutputContents()) || string(a.id) != r.GetId() {
			t.Errorf("walk saw %+v, the library %v", a, &r)
		}
		for i, o := range r.GetOutputs() {
			data, typed, ok := output(b, o.GetName())
			if !ok || typed || i >= len(r.GetRawOutputContents()) {
				continue
			}
			first := -1
			for j, p := range r.GetOutputs() {
				if p.GetName() == o.GetName() {
					first = j
					break
				}
			}
			if first == i && !bytes.Equal(data, r.GetRawOutputContents()[i]) {
				t.Errorf("output %d is %x, the library has %x", i, data, r.GetRawOutputContents()[i])
			}
		}
	})
}
