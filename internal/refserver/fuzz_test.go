package refserver_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/redline-bench/redline/internal/proto/kserve"
	"github.com/redline-bench/redline/internal/refserver/core"
	"github.com/redline-bench/redline/internal/refserver/kgrpc"
	"github.com/redline-bench/redline/internal/refserver/khttp"
	"github.com/redline-bench/redline/internal/refserver/model"
	"github.com/redline-bench/redline/internal/refserver/pause"
)

// newCore has two models with inputs of many kinds of encodings, and no schedule that waits.
func newCore(f *testing.F) *core.Core {
	clock := pause.NewByTimers()
	models, err := model.Open(model.Options{Runtime: model.Runtime{Clock: clock}, Explicit: true, Load: []string{"simple", "simple_string", "simple_identity"}})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { models.Close(); clock.Close() })
	return core.New(models, nil)
}

// A request over HTTP, whatever its bytes are, has a response with a status, and JSON where it is an error.
func FuzzHTTP(f *testing.F) {
	h := khttp.New(newCore(f))
	paths := []string{"simple/infer", "simple_string/infer", "simple_identity/infer", "simple/generate", "simple/trace/setting"}
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
	s := kgrpc.New(newCore(f))
	add := func(change func(*kserve.ModelInferRequest)) {
		r := simpleRequest("")
		change(r)
		b, err := proto.Marshal(r)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	add(func(*kserve.ModelInferRequest) {})
	add(func(r *kserve.ModelInferRequest) { r.RawInputContents = [][]byte{make([]byte, 63)} })
	add(func(r *kserve.ModelInferRequest) { r.Inputs[0].Shape = []int64{1 << 62, 4} })
	add(func(r *kserve.ModelInferRequest) { r.ModelName = "simple_identity" })
	f.Fuzz(func(t *testing.T, b []byte) {
		r := &kserve.ModelInferRequest{}
		if proto.Unmarshal(b, r) != nil {
			return
		}
		if resp, err := s.ModelInfer(t.Context(), r); (resp == nil) != (err != nil) || err != nil && status.Code(err) == codes.Unknown && status.Convert(err).Message() == "" {
			t.Errorf("response %v, error %v", resp, err)
		}
	})
}
