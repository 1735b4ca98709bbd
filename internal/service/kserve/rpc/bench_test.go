package rpc_test

import (
	"fmt"
	"testing"

	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/refserver"
	"github.com/redline-bench/redline/internal/service"
	"github.com/redline-bench/redline/internal/service/kserve/rpc"
	"github.com/redline-bench/redline/internal/tensor"
)

// BenchmarkPrepare is what a distinct request costs before the load starts.
func BenchmarkPrepare(b *testing.B) {
	for _, size := range []int{64, 1 << 20} {
		b.Run(fmt.Sprintf("bytes=%d", size), func(b *testing.B) {
			svc, err := rpc.New(plan.Target{URL: "x:1", Model: "echo"}, plan.Input{})
			if err != nil {
				b.Fatal(err)
			}
			in := service.Inputs{
				Tensors: []tensor.Tensor{{Name: "IN", Type: tensor.Uint8, Shape: tensor.Shape{int64(size)}, Data: make([]byte, size)}},
				Outputs: []string{"OUT"},
			}
			b.ReportAllocs()
			b.SetBytes(int64(size))
			for b.Loop() {
				if _, err := svc.Prepare(in); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkStream is a request on a bidirectional stream to the reference server, which is in the same process.
func BenchmarkStream(b *testing.B) {
	srv, err := refserver.Start(b.Context(), refserver.Config{})
	if err != nil {
		b.Fatal(err)
	}
	defer srv.Close()
	in := service.Inputs{Outputs: []string{"OUTPUT0"}}
	for _, name := range []string{"INPUT0", "INPUT1"} {
		in.Tensors = append(in.Tensors, tensor.Tensor{Name: name, Type: tensor.Int32, Shape: tensor.Shape{1, 16}, Data: make([]byte, 64)})
	}
	for _, slots := range []int{1, 8, 64} {
		b.Run(fmt.Sprintf("inflight=%d", slots), func(b *testing.B) {
			_, d := open(b, plan.Target{URL: srv.Addresses().GRPC, Model: "simple", Streaming: true}, in, slots)
			d.run(1000)
			b.ReportAllocs()
			b.ResetTimer()
			d.run(max(b.N, slots))
		})
	}
}
