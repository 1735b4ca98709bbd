package inspect

import (
	"strings"
	"testing"

	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/service"
	"github.com/redline-bench/redline/internal/tensor"
)

func TestSampleTensors(t *testing.T) {
	f := func(name string, dt tensor.Datatype, shape tensor.Shape, want string) {
		t.Helper()
		got, err := sampleTensor(service.TensorSpec{Name: name, Type: dt, Shape: shape})
		if err != nil || !strings.HasPrefix(string(got), want) {
			t.Errorf("%s %s: %.80s, %v; want %s", dt, shape, got, err, want)
		}
	}
	f("x", tensor.Int64, tensor.Shape{3}, `{"content": [0, 1, 2], "shape": [3]}`)
	f("x", tensor.Bool, tensor.Shape{2}, `{"content": [false, true], "shape": [2]}`)
	f("x", tensor.FP32, tensor.Shape{}, `{"content": [0], "shape": []}`)
	f("x", tensor.FP16, tensor.Shape{2}, `{"b64": "ADgAOA==", "shape": [2]}`)
	f("x", tensor.BF16, tensor.Shape{1}, `{"b64": "AD8=", "shape": [1]}`)
	f("x", tensor.Uint8, tensor.Shape{3, 300}, `{"b64": "AAECAwQFBgcICQAB`)
	f("x", tensor.Bytes, tensor.Shape{-1, 2}, `{"content": ["1", "1"], "shape": [1,2]}`)
	f("text_input", tensor.Bytes, tensor.Shape{1}, `{"content": ["Why is the sky blue?"], "shape": [1]}`)
	f("x", tensor.Int32, tensor.Shape{-1, 0}, `{"content": [], "shape": [8,0]}`)
	if _, err := sampleTensor(service.TensorSpec{Type: tensor.FP32, Shape: tensor.Shape{1 << 40, 1 << 40}}); err == nil || !strings.Contains(err.Error(), "too large") {
		t.Errorf("a huge tensor: %v", err)
	}
}

func TestWithPort(t *testing.T) {
	f := func(url string, p plan.Protocol, want string) {
		t.Helper()
		if got := withPort(url, p); got != want {
			t.Errorf("%s: %s, want %s", url, got, want)
		}
	}
	f("gpu", plan.HTTP, "gpu:8000")
	f("gpu", plan.GRPC, "gpu:8001")
	f("gpu:9", plan.GRPC, "gpu:9")
	f("[::1]", plan.HTTP, "[::1]:8000")
	f("https://gpu", plan.HTTP, "https://gpu")
	f("gpu/base", plan.HTTP, "gpu/base")
}

func TestHintOfModelsThatAreNotReady(t *testing.T) {
	f := func(asked, want string, models ...service.ListedModel) {
		t.Helper()
		if got := hint(models, asked, ""); got != want {
			t.Errorf("%s: %q, want %q", asked, got, want)
		}
	}
	unloaded, broken := service.ListedModel{Name: "a"}, service.ListedModel{Name: "b", State: "UNAVAILABLE", Reason: "no\x1b GPU"}
	f("a", "; a is there but not loaded", unloaded, broken)
	f("b", "; b is there but not loaded: no GPU", unloaded, broken)
	f("c", "; the server has loaded none of its models: a, b", unloaded, broken)
	f("c", "; the server has no models")
	f("c", "; the server has d", unloaded, service.ListedModel{Name: "d", State: service.Ready})
}

func TestNotReady(t *testing.T) {
	r := Report{Models: []service.ListedModel{
		{Name: "a", State: service.Ready}, {Name: "b"}, {Name: "c", State: "UNAVAILABLE", Reason: "unloaded"}, {Name: "d", State: "UNAVAILABLE", Reason: "no GPU"},
	}}
	if all, broken := r.NotReady(); all != 3 || broken != 1 {
		t.Errorf("%d not ready, %d of them broken", all, broken)
	}
}
