package rpc_test

import (
	"bytes"
	"context"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/redline-bench/redline/internal/plan"
	pb "github.com/redline-bench/redline/internal/proto/kserve"
	"github.com/redline-bench/redline/internal/record"
	"github.com/redline-bench/redline/internal/service"
	"github.com/redline-bench/redline/internal/service/kserve/rpc"
	"github.com/redline-bench/redline/internal/tensor"
)

func (f *fake) SystemSharedMemoryRegister(_ context.Context, r *pb.SystemSharedMemoryRegisterRequest) (*pb.SystemSharedMemoryRegisterResponse, error) {
	f.shm.mu.Lock()
	defer f.shm.mu.Unlock()
	f.shm.log = append(f.shm.log, "register "+r.GetName())
	if f.shm.files == nil {
		f.shm.files = map[string]string{}
	}
	f.shm.files[r.GetName()] = "/dev/shm" + r.GetKey()
	return &pb.SystemSharedMemoryRegisterResponse{}, nil
}

func (f *fake) SystemSharedMemoryUnregister(_ context.Context, r *pb.SystemSharedMemoryUnregisterRequest) (*pb.SystemSharedMemoryUnregisterResponse, error) {
	f.shm.mu.Lock()
	defer f.shm.mu.Unlock()
	f.shm.log = append(f.shm.log, "unregister "+r.GetName())
	return &pb.SystemSharedMemoryUnregisterResponse{}, nil
}

// copyShared is a model that copies its input's region into its output's, and answers as Triton does: with an empty
// piece of raw data.
func (f *fake) copyShared(_ context.Context, r *pb.ModelInferRequest) (*pb.ModelInferResponse, error) {
	f.shm.mu.Lock()
	defer f.shm.mu.Unlock()
	in, out := r.GetInputs()[0].GetParameters(), r.GetOutputs()[0].GetParameters()
	data, err := os.ReadFile(f.shm.files[in["shared_memory_region"].GetStringParam()])
	if err != nil {
		return nil, err
	}
	file, err := os.OpenFile(f.shm.files[out["shared_memory_region"].GetStringParam()], os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	if _, err := file.WriteAt(data[:in["shared_memory_byte_size"].GetInt64Param()], 0); err != nil {
		return nil, err
	}
	return &pb.ModelInferResponse{
		Id:                r.GetId(),
		Outputs:           []*pb.ModelInferResponse_InferOutputTensor{{Name: "OUT", Datatype: "INT32", Shape: []int64{1, 16}}},
		RawOutputContents: [][]byte{{}},
	}, nil
}

// TestSharedMemory goes through all of it: registration, one region for all slots or one for each, comparison, the end.
func TestSharedMemory(t *testing.T) {
	same := inputs().Tensors[0].Data
	f := func(name string, expect []byte, compression string, class record.Class, want ...string) {
		t.Run(name, func(t *testing.T) {
			srv := &fake{}
			srv.infer = srv.copyShared
			startFake(t, srv)
			svc, err := rpc.New(plan.Target{URL: srv.addr, Model: "echo", Compression: compression},
				plan.Input{Batch: 1, SharedMemory: plan.SystemSharedMemory})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = svc.Close() })
			if _, err := svc.Describe(t.Context()); err != nil {
				t.Fatal(err)
			}
			in := inputs()
			if expect != nil {
				in.Expect = []tensor.Tensor{{Name: "OUT", Type: tensor.Int32, Data: expect}}
			}
			req, err := svc.Prepare(in)
			if err != nil {
				t.Fatal(err)
			}
			if err := svc.Stage(t.Context()); err != nil {
				t.Fatal(err)
			}
			d := &driver{ended: make(chan *service.Call, 2), ids: true}
			d.onEnd = func(c *service.Call) {
				if c.Rec.Class != class {
					t.Errorf("%v: %v", c.Rec.Class, c.Err)
				}
			}
			if d.tr, err = svc.Open(t.Context(), d); err != nil {
				t.Fatal(err)
			}
			if err := d.tr.Grow(t.Context(), 2); err != nil {
				t.Fatal(err)
			}
			d.calls = []*service.Call{{Slot: 0, Req: req}, {Slot: 1, Req: req}}
			d.run(20)
			_ = d.tr.Close()
			if err := svc.Close(); err != nil {
				t.Fatal(err)
			}
			if raw := srv.seen[0].GetRawInputContents(); raw != nil {
				t.Errorf("%d tensors went over the connection", len(raw))
			}
			if diff := cmp.Diff(append(append([]string{"unregister ", "register OUT", "register IN_0_0"}, want...), "unregister "), srv.shm.log); diff != "" {
				t.Errorf("calls (-want +got):\n%s", diff)
			}
			for region, path := range srv.shm.files {
				if _, err := os.Stat(path); !os.IsNotExist(err) {
					t.Errorf("%s is still there: %v", region, err)
				}
			}
		})
	}
	f("shared", nil, "", record.OK)
	f("compressed", nil, "gzip", record.OK)
	f("expected", same, "", record.OK, "register OUT_1")
	f("expected and compressed", same, "gzip", record.OK, "register OUT_1")
	f("not as expected", bytes.Repeat([]byte{7}, 64), "", record.Mismatch, "register OUT_1")
	f("another size", same[:60], "", record.Mismatch, "register OUT_1")
}
