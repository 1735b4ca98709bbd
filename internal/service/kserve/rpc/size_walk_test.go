package rpc

import (
	"testing"

	"google.golang.org/protobuf/proto"

	pb "github.com/redline-bench/redline/internal/proto/kserve"
)

// An output in shared memory has no raw data. Where the server tells how much it wrote there, that must be enough.
func TestSizesInSharedMemory(t *testing.T) {
	for told, fits := range map[int64]bool{-1: true, 0: false, 60: false, 64: true, 100: true} {
		o := &pb.ModelInferResponse_InferOutputTensor{Name: "OUT", Datatype: "INT32", Shape: []int64{1, 16}}
		if told >= 0 {
			o.Parameters = map[string]*pb.InferParameter{
				"shared_memory_region":    {ParameterChoice: &pb.InferParameter_StringParam{StringParam: "r"}},
				"shared_memory_byte_size": {ParameterChoice: &pb.InferParameter_Int64Param{Int64Param: told}},
			}
		}
		b, err := proto.Marshal(&pb.ModelInferResponse{Outputs: []*pb.ModelInferResponse_InferOutputTensor{o}, RawOutputContents: [][]byte{{}}})
		if err != nil {
			t.Fatal(err)
		}
		if err := checkSizes(b, true); (err == nil) != fits {
			t.Errorf("told %d: %v", told, err)
		}
		if err := checkSizes(b, false); err == nil {
			t.Error("an output that was not asked for in shared memory needs its data")
		}
	}
}

func TestCheckSizesAllocatesNothing(t *testing.T) {
	b, err := proto.Marshal(&pb.ModelInferResponse{
		Outputs:           []*pb.ModelInferResponse_InferOutputTensor{{Name: "A", Datatype: "INT32", Shape: []int64{1, 16}}, {Name: "B", Datatype: "BYTES", Shape: []int64{1}}},
		RawOutputContents: [][]byte{make([]byte, 64), make([]byte, 9)},
	})
	if err != nil {
		t.Fatal(err)
	}
	if n := testing.AllocsPerRun(100, func() {
		if err := checkSizes(b, false); err != nil {
			t.Fatal(err)
		}
	}); n > 0 {
		t.Errorf("%g allocations", n)
	}
}

func BenchmarkCheckSizes(b *testing.B) {
	msg, err := proto.Marshal(&pb.ModelInferResponse{
		Outputs:           []*pb.ModelInferResponse_InferOutputTensor{{Name: "A", Datatype: "INT32", Shape: []int64{1, 16}}},
		RawOutputContents: [][]byte{make([]byte, 64)},
	})
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if err := checkSizes(msg, false); err != nil {
			b.Fatal(err)
		}
	}
}
