package rest

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/record"
	"github.com/redline-bench/redline/internal/service"
	"github.com/redline-bench/redline/internal/tensor"
)

// sharer is a server with shared memory: its model copies INPUT0 to OUTPUT0 and INPUT1 to OUTPUT1.
type sharer struct {
	mu    sync.Mutex
	log   []string
	files map[string]string // by region
	lazy  bool              // it answers without having written
}

func (s *sharer) handle(r *seen) []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	path := strings.Fields(r.line)[1]
	if !strings.HasSuffix(path, "/infer") {
		s.log = append(s.log, path+" "+strings.ReplaceAll(string(r.body), fmt.Sprintf("redline-%d-", os.Getpid()), "PREFIX-"))
		if region, ok := strings.CutPrefix(path, "/v2/systemsharedmemory/region/"); ok {
			var body struct{ Key string }
			_ = json.Unmarshal(r.body, &body)
			s.files[strings.TrimSuffix(region, "/register")] = "/dev/shm" + body.Key
		}
		return plainReply(200, "")
	}
	type ref struct {
		Parameters struct {
			Region string `json:"shared_memory_region"`
			Size   int    `json:"shared_memory_byte_size"`
		}
	}
	var req struct{ Inputs, Outputs []ref }
	if err := json.Unmarshal(r.body, &req); err != nil {
		return plainReply(400, `{"error":"`+err.Error()+`"}`)
	}
	for i, out := range req.Outputs {
		data, err := os.ReadFile(s.files[req.Inputs[i].Parameters.Region])
		if err == nil && !s.lazy {
			err = overwrite(s.files[out.Parameters.Region], data)
		}
		if err != nil {
			return plainReply(400, `{"error":"`+err.Error()+`"}`)
		}
	}
	return plainReply(200, `{"model_name":"simple","outputs":[{"name":"OUTPUT0","datatype":"INT32","shape":[1,16]},{"name":"OUTPUT1","datatype":"INT32","shape":[1,16]}]}`)
}

// file is where a region lies.
func (s *sharer) file(region string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.files[region]
}

// took is what was asked since the last time.
func (s *sharer) took() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	log := s.log
	s.log = nil
	return log
}

func overwrite(path string, data []byte) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = f.WriteAt(data, 0)
	return err
}

// sharing makes a service with shared memory and a prepared request.
func sharing(t *testing.T, expect []tensor.Tensor) (*sharer, *Service, service.Request) {
	t.Helper()
	srv := &sharer{files: map[string]string{}}
	s := newService(t, target(serve(t, srv.handle).addr), plan.Input{Batch: 1, SharedMemory: plan.SystemSharedMemory})
	for _, name := range []string{"OUTPUT0", "OUTPUT1"} {
		if s.model == nil {
			s.model = &service.Model{}
		}
		s.model.Outputs = append(s.model.Outputs, service.TensorSpec{Name: name, Type: tensor.Int32, Shape: tensor.Shape{16}})
	}
	in := simpleInputs()
	in.Tensors[0].Data[0], in.Tensors[1].Data[0] = 1, 2 // INPUT1, INPUT0
	in.Expect = expect
	req, err := s.Prepare(in)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Stage(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return srv, s, req
}

func TestSharedMemory(t *testing.T) {
	srv, s, req := sharing(t, nil)
	want := []string{"/v2/systemsharedmemory/unregister ", "/v2/cudasharedmemory/unregister "}
	for _, name := range []string{"OUTPUT0", "OUTPUT1", "INPUT0_0_0", "INPUT1_0_0"} {
		want = append(want, "/v2/systemsharedmemory/region/"+name+`/register {"key":"/PREFIX-`+name+`","offset":0,"byte_size":64}`)
	}
	if diff := cmp.Diff(want, srv.took()); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
	head, _, _ := req.(*request).render(new([]byte), &service.Vars{})
	_, body, _ := strings.Cut(string(head), "\r\n\r\n")
	part := func(name, region, more string) string {
		return `{"name":"` + name + `"` + more + `,"parameters":{"shared_memory_region":"` + region + `","shared_memory_byte_size":64}}`
	}
	const typed = `,"datatype":"INT32","shape":[1,16]`
	if diff := cmp.Diff(`{"id":"","inputs":[`+part("INPUT0", "INPUT0_0_0", typed)+`,`+part("INPUT1", "INPUT1_0_0", typed)+
		`],"outputs":[`+part("OUTPUT0", "OUTPUT0", "")+`,`+part("OUTPUT1", "OUTPUT1", "")+`]}`, body); diff != "" {
		t.Errorf("body (-want +got):\n%s", diff)
	}
	k, calls := shareCalls(t, s, req, 3)
	k.run(calls, 30)
	for _, e := range k.ends {
		if e.err != nil {
			t.Fatal(e.err)
		}
		if out, err := s.Outputs(e.payload); err != nil || len(out) != 2 || out[0].Data != nil {
			t.Fatalf("an export gets %v, %v", out, err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want[:2], srv.took()); diff != "" {
		t.Errorf("calls at the end (-want +got):\n%s", diff)
	}
	for region, path := range srv.files {
		if _, err := os.Stat(path); !os.IsNotExist(err) {
			t.Errorf("%s is still there: %v", region, err)
		}
	}
}

func shareCalls(t *testing.T, s *Service, req service.Request, slots int) (*collector, []*service.Call) {
	t.Helper()
	k := &collector{keep: true, last: map[int][]byte{}}
	var err error
	if k.tr, err = s.Open(t.Context(), k); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { k.tr.Close() })
	if err := k.tr.Grow(t.Context(), slots); err != nil {
		t.Fatal(err)
	}
	calls := make([]*service.Call, slots)
	for i := range calls {
		calls[i] = &service.Call{Slot: i, Req: req}
	}
	return k, calls
}

// TestSharedMemoryExpected: each slot has memory of its own, and what is in it is compared.
func TestSharedMemoryExpected(t *testing.T) {
	right := tensor.Tensor{Name: "OUTPUT0", Type: tensor.Int32, Data: append([]byte{2}, make([]byte, 63)...)}
	wrong := tensor.Tensor{Name: "OUTPUT1", Type: tensor.Int32, Data: make([]byte, 64)}
	f := func(name string, lazy bool, class record.Class, expect ...tensor.Tensor) {
		t.Run(name, func(t *testing.T) {
			srv, s, req := sharing(t, expect)
			srv.mu.Lock()
			srv.lazy = lazy
			srv.mu.Unlock()
			k, calls := shareCalls(t, s, req, 3)
			k.run(calls, 9)
			for _, e := range k.ends {
				if e.class != class {
					t.Errorf("got %v, %v", e.class, e.err)
				}
			}
			for _, region := range []string{"OUTPUT0", "OUTPUT1_1", "OUTPUT0_2"} {
				if srv.file(region) == "" {
					t.Errorf("no region %s", region)
				}
			}
			if region := "OUTPUT0_3"; srv.file(region) != "" {
				t.Errorf("a region %s", region)
			}
		})
	}
	f("equal", false, record.OK, right)
	f("different", false, record.Mismatch, right, wrong)
	f("not written", true, record.Mismatch, tensor.Tensor{Name: "OUTPUT0", Type: tensor.Int32, Data: make([]byte, 64)})
}
