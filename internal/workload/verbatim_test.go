package workload_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/service"
	"github.com/redline-bench/redline/internal/tensor"
	"github.com/redline-bench/redline/internal/testkit"
	"github.com/redline-bench/redline/internal/workload"
)

// A command stands in the data as a plain string, and JSON of any number of values as it is.
func TestDataWithoutArrays(t *testing.T) {
	m := &service.Model{Inputs: []service.TensorSpec{
		{Name: "command", Type: tensor.Bytes, Shape: tensor.Shape{}, Optional: true},
		{Name: "messages", Type: tensor.JSON, Shape: tensor.Shape{-1}, Optional: true},
		{Name: "words", Type: tensor.Bytes, Shape: tensor.Shape{1}, Optional: true},
	}}
	read := func(step string) ([]tensor.Tensor, error) {
		path := filepath.Join(t.TempDir(), "data.json")
		if err := os.WriteFile(path, []byte(`{"data":[`+step+`]}`), 0o600); err != nil {
			t.Fatal(err)
		}
		d, err := workload.Load(plan.Input{Source: plan.JSONFiles, Paths: []string{path}}, m)
		if err != nil {
			return nil, err
		}
		r, err := workload.Prepare(t.Context(), &testkit.Service{}, d)
		if err != nil {
			t.Fatal(err)
		}
		return r.Inputs(0), nil
	}
	good := func(step, name, data string) {
		t.Helper()
		got, err := read(step)
		if err != nil || len(got) != 1 {
			t.Fatalf("%s: %v, %d tensors", step, err, len(got))
		}
		if diff := cmp.Diff([]string{name, data}, []string{got[0].Name, string(got[0].Data)}); diff != "" {
			t.Errorf("%s (-want +got):\n%s", step, diff)
		}
	}
	good(`{"command": "say \u0041"}`, "command", "\x05\x00\x00\x00say A")
	good(`{"command": ["say"]}`, "command", "\x03\x00\x00\x00say")
	good(`{"messages": [{"a": 1}, "b"]}`, "messages", `[{"a":1},"b"]`)
	good(`{"messages": {"content": [1]}}`, "messages", `{"content":[1]}`)
	if _, err := read(`{"words": "one"}`); err == nil || !strings.HasPrefix(said(err), `"data" must be a list of objects`) {
		t.Errorf("a string in place of an array: %v", err)
	}
}
