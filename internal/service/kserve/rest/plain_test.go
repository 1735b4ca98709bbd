package rest

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/record"
	"github.com/redline-bench/redline/internal/service"
	"github.com/redline-bench/redline/internal/tensor"
)

// plainServer answers as KServe's runtime does, which has none of Triton's extensions.
func plainServer(t *testing.T, infer func(body string) []byte) *canned {
	return serve(t, func(r *seen) []byte {
		switch path := strings.Fields(r.line)[1]; path {
		case "/v2":
			return plainReply(http.StatusOK, `{"name":"kserve","version":"0.21.0","extensions":["model_repository_extension"]}`)
		case "/v2/models":
			return plainReply(http.StatusOK, `{"models":["simple"]}`)
		case "/v2/models/simple":
			return plainReply(http.StatusOK, `{"name":"simple","versions":null,"platform":"","inputs":null}`)
		case "/v2/models/simple/infer":
			return infer(r.head + "\n" + string(r.body))
		default:
			return plainReply(http.StatusNotFound, `{"detail":"Not Found"}`)
		}
	})
}

func TestPlainServer(t *testing.T) {
	asked := ""
	srv := plainServer(t, func(request string) []byte {
		asked = request
		return plainReply(http.StatusOK, `{"model_name":"simple","model_version":null,"id":null,"parameters":null,"outputs":[{"name":"O","shape":[1],"datatype":"INT32","parameters":null,"data":[7]}]}`)
	})
	svc := newService(t, target(srv.addr), plan.Input{})
	m, err := svc.Describe(t.Context())
	want := &service.Model{Name: "simple", Unconfigured: true, Inputs: []service.TensorSpec{}, Outputs: []service.TensorSpec{}}
	if diff := cmp.Diff(want, m); err != nil || diff != "" {
		t.Fatalf("%v, -want +got:\n%s", err, diff)
	}
	if models, err := svc.Models(t.Context()); err != nil || len(models) != 1 || models[0].Name != "simple" {
		t.Errorf("%v, %v", models, err)
	}
	in := service.Inputs{Tensors: []tensor.Tensor{{Name: "I", Type: tensor.Int32, Shape: tensor.Shape{1}, Data: []byte{5, 0, 0, 0}}}}
	k, calls := open(t, svc, in, 1)
	calls[0].Vars.HasID = true
	k.run(calls, 3)
	for _, e := range k.ends {
		if e.class != record.OK {
			t.Errorf("%v: %v", e.class, e.err)
		}
	}
	if !strings.Contains(asked, "Content-Type: application/json") || !strings.Contains(asked, `"inputs":[{"name":"I","datatype":"INT32","shape":[1],"data":[5]}]}`) {
		t.Error(asked)
	}
	if len(svc.Remarks()) != 2 {
		t.Error(svc.Remarks())
	}
}

// What JSON cannot carry goes as bytes unless the user asks for JSON; what the user asks for is sent.
func TestPlainServerFormats(t *testing.T) {
	f := func(in plan.Input, datatype tensor.Datatype, want string) {
		t.Helper()
		asked := ""
		srv := plainServer(t, func(request string) []byte {
			asked = request
			return plainReply(http.StatusOK, `{"outputs":[]}`)
		})
		svc := newService(t, target(srv.addr), in)
		if _, err := svc.Describe(t.Context()); err != nil {
			t.Fatal(err)
		}
		data := make([]byte, max(1, datatype.Size()))
		if datatype == tensor.Bytes {
			data = []byte{1, 0, 0, 0, 0xff}
		}
		req := service.Inputs{Tensors: []tensor.Tensor{{Name: "I", Type: datatype, Shape: tensor.Shape{1}, Data: data}}}
		if want == "" {
			if _, err := svc.Prepare(req); err == nil {
				t.Errorf("%+v, %s: no error", in, datatype)
			}
			return
		}
		k, calls := open(t, svc, req, 1)
		k.run(calls, 1)
		if !strings.Contains(asked, want) {
			t.Errorf("%+v, %s: %s", in, datatype, asked)
		}
	}
	f(plan.Input{}, tensor.Int8, `"data":[0]`)
	f(plan.Input{}, tensor.FP16, `"binary_data_size":2`)
	f(plan.Input{}, tensor.Bytes, `"binary_data_size":5`) // not UTF-8
	f(plan.Input{InputFormat: plan.BinaryTensors}, tensor.Int8, `"binary_data_size":1`)
	f(plan.Input{InputFormat: plan.JSONTensors}, tensor.FP16, "")
}
