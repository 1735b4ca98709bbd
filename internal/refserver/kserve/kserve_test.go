package kserve_test

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	pb "github.com/redline-bench/redline/internal/proto/kserve"
	"github.com/redline-bench/redline/internal/refserver/kserve"
	"github.com/redline-bench/redline/internal/refserver/model"
	"github.com/redline-bench/redline/internal/refserver/pause"
)

const (
	sixteen = `[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16]`
	first   = `{"name":"INPUT0","datatype":"INT32","shape":[1,16],"data":` + sixteen + `}`
	second  = `{"name":"INPUT1","datatype":"INT32","shape":[1,16],"data":` + sixteen + `}`
)

// newServer has models with inputs of many kinds of encodings, and no schedule that waits.
func newServer(f testing.TB) *kserve.Server {
	clock := pause.NewByTimers()
	models, err := model.Open(model.Options{Clock: clock, Explicit: true, Load: []string{"simple", "simple_string", "simple_identity"}})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { models.Close(); clock.Close() })
	settings, err := kserve.NewTraceSettings(nil)
	if err != nil {
		f.Fatal(err)
	}
	return kserve.New(kserve.Config{Models: models, Trace: settings})
}

func simpleRequest() *pb.ModelInferRequest {
	data := bytes.Repeat([]byte{3, 0, 0, 0}, 16)
	in := func(name string) *pb.ModelInferRequest_InferInputTensor {
		return &pb.ModelInferRequest_InferInputTensor{Name: name, Datatype: "INT32", Shape: []int64{1, 16}}
	}
	return &pb.ModelInferRequest{ModelName: "simple", Inputs: []*pb.ModelInferRequest_InferInputTensor{in("INPUT0"), in("INPUT1")}, RawInputContents: [][]byte{data, data}}
}

// A request over HTTP, whatever its bytes are, has a response with a status, and JSON where it is an error.
func FuzzHTTP(f *testing.F) {
	h := newServer(f).HTTP()
	paths := []string{"simple/infer", "simple_string/infer", "simple_identity/infer", "simple/generate", "simple_string/generate"}
	f.Add(uint8(0), "", `{"inputs":[`+first+`,`+second+`]}`)
	f.Add(uint8(0), "35", `{"inputs":[{"name":"INPUT0","datatype":"INT32","shape":[1,16],"parameters":{"binary_data_size":64}}]}`)
	f.Add(uint8(2), "", `{"inputs":[{"name":"INPUT0","datatype":"BYTES","shape":[1,1],"data":["x"]}],"outputs":[{"name":"OUTPUT0","parameters":{"classification":1}}]}`)
	f.Add(uint8(3), "", `{"INPUT0":[1],"INPUT1":[2]}`)
	f.Add(uint8(2), "0", "\x01\x00\x00\x00x")
	f.Fuzz(func(t *testing.T, path uint8, length, body string) {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/v2/models/"+paths[int(path)%len(paths)], strings.NewReader(body))
		if length != "" {
			r.Header.Set("Inference-Header-Content-Length", length)
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code != http.StatusOK && !strings.HasPrefix(w.Body.String(), `{"error":`) {
			t.Errorf("%d %q", w.Code, w.Body)
		}
	})
}

// The same over gRPC: a message that can be decoded has a response or a status.
func FuzzGRPC(f *testing.F) {
	s := newServer(f)
	add := func(change func(*pb.ModelInferRequest)) {
		r := simpleRequest()
		change(r)
		b, err := proto.Marshal(r)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	add(func(*pb.ModelInferRequest) {})
	add(func(r *pb.ModelInferRequest) { r.RawInputContents = [][]byte{make([]byte, 63)} })
	add(func(r *pb.ModelInferRequest) { r.Inputs[0].Shape = []int64{1 << 62, 4} })
	add(func(r *pb.ModelInferRequest) { r.ModelName = "simple_identity" })
	f.Fuzz(func(t *testing.T, b []byte) {
		r := &pb.ModelInferRequest{}
		if proto.Unmarshal(b, r) != nil {
			return
		}
		if resp, err := s.ModelInfer(t.Context(), r); (resp == nil) != (err != nil) || err != nil && status.Code(err) == codes.Unknown && status.Convert(err).Message() == "" {
			t.Errorf("response %v, error %v", resp, err)
		}
	})
}

// Contents of another type than the tensor's are refused, however wide its elements are.
func TestContentsOfAnotherType(t *testing.T) {
	for _, kind := range []string{"INT64", "FP64", "BYTES", "INT8"} {
		r := simpleRequest()
		r.RawInputContents = nil
		for _, in := range r.GetInputs() {
			in.Datatype, in.Contents = kind, &pb.InferTensorContents{Fp32Contents: make([]float32, 16)}
		}
		if _, err := newServer(t).ModelInfer(t.Context(), r); status.Code(err) != codes.InvalidArgument || !strings.Contains(err.Error(), "but its contents are FP32") {
			t.Errorf("%s: %v", kind, err)
		}
	}
}
