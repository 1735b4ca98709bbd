package workload_test

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/service"
	"github.com/redline-bench/redline/internal/tensor"
	"github.com/redline-bench/redline/internal/workload"
)

// declare makes the input of a plan: shapes as --shape has them, and one JSON file where data is not empty.
func declare(t *testing.T, batch int, data string, shapes ...string) plan.Input {
	t.Helper()
	in := plan.Default().Input
	in.Batch = batch
	for _, s := range shapes {
		if err := in.AppendShape(s); err != nil {
			t.Fatal(err)
		}
	}
	if data != "" {
		path := filepath.Join(t.TempDir(), "data.json")
		if err := os.WriteFile(path, []byte(`{"data":[`+data+`]}`), 0o600); err != nil {
			t.Fatal(err)
		}
		in.Source, in.Paths = plan.JSONFiles, []string{path}
	}
	return in
}

func fp32(name string, dims ...int64) service.TensorSpec {
	return spec(name, tensor.FP32, dims...)
}

// completed checks the first request, or the error, of a model whose server states these inputs and no configuration.
func completed(t *testing.T, want string, in plan.Input, stated ...service.TensorSpec) {
	t.Helper()
	m, err := workload.Complete(in, &service.Model{Name: "m", Unconfigured: true, Inputs: stated})
	got := ""
	if err == nil {
		got, err = sent(t, in, m)
	}
	if err != nil {
		got = err.Error()
	}
	if !strings.Contains(got, want) || err == nil && got != want {
		t.Errorf("%+v: got %s, want %s", in.Shapes, got, want)
	}
}

// sent are the tensors of the first request.
func sent(t *testing.T, in plan.Input, m *service.Model) (string, error) {
	t.Helper()
	data, err := workload.Load(in, m)
	if err != nil {
		return "", err
	}
	_, got := prepare(t, data)
	var list []string
	for _, x := range got[0].Tensors {
		list = append(list, x.Name+" "+x.Type.String()+" "+x.Shape.String())
	}
	return strings.Join(list, ", "), nil
}

// The shapes of the requests that a server without model configurations gets.
func TestComplete(t *testing.T) {
	f := func(want string, in plan.Input, stated ...service.TensorSpec) {
		t.Helper()
		completed(t, want, in, stated...)
	}
	one := func(shapes ...string) plan.Input { return declare(t, 1, "", shapes...) }
	eight := func(shapes ...string) plan.Input { return declare(t, 8, "", shapes...) }

	// The metadata state the inputs.
	f("IN FP32 [1,4]", one(), fp32("IN", -1, 4))
	f("IN FP32 [8,4]", eight(), fp32("IN", -1, 4))
	f("IN FP32 [1]", one(), fp32("IN", -1))
	f("A FP32 [8,4], B FP32 [8,2]", eight(), fp32("A", -1, 4), fp32("B", -1, 2))
	f("IN FP32 [3,4]", one(), fp32("IN", 3, 4))
	f("-b 8 needs inputs that begin with a batch dimension, and input IN", eight(), fp32("IN", 3, 4))
	f("-b 8 needs inputs", eight(), fp32("A", -1, 4), fp32("B", 2))
	f("input A has a variable shape", one(), fp32("A", -1, 4), fp32("B", 2))
	f("A FP32 [1,4], B FP32 [2]", one("A:1,4"), fp32("A", -1, 4), fp32("B", 2))
	f("IN FP32 [8,16]", eight("IN:16"), fp32("IN", -1, -1))
	f("IN FP32 [8,16]", eight("IN:-1,16"), fp32("IN", -1, -1))
	f("IN FP32 [8,16]", eight("IN:FP32:1,16"), fp32("IN", -1, -1))
	f("IN FP32 [3,16]", one("IN:3,16"), fp32("IN", -1, -1))
	f("IN FP32 [8,4]", eight("IN:-1,4"), fp32("IN", 1, 4))
	f("does not fit input IN of model \"m\", which has the shape [-1,4]", one("IN:5"), fp32("IN", -1, 4))
	f("does not fit", one("IN:-1,5"), fp32("IN", -1, 4))
	f("has the datatype FP32, not INT8", one("IN:INT8:4"), fp32("IN", -1, 4))

	// They do not: --shape does.
	f("IN FP32 [1,4]", one("IN:FP32:-1,4"))
	f("IN FP32 [8,4]", eight("IN:FP32:-1,4"))
	f("IN FP32 [8,4]", eight("IN:FP32:1,4"))
	f("IN FP32 [4]", one("IN:FP32:4"))
	f("-b 8 needs inputs", eight("IN:FP32:4"))
	f("--shape A:-1,4 begins with a batch dimension, and input B has none", one("A:FP32:-1,4", "B:FP32:2"))
	f("A FP32 [8,4], B INT32 [8]", eight("A:FP32:-1,4", "B:INT32:-1"))
	f("say what each of them is", one())
	f("say what IN is", one("IN:4"))
}

// Input data states inputs with "datatype" and "shape".
func TestCompleteByData(t *testing.T) {
	f := func(want string, batch int, data string, shapes []string, stated ...service.TensorSpec) {
		t.Helper()
		completed(t, want, declare(t, batch, data, shapes...), stated...)
	}
	const single, typed = `{"IN":{"content":[1,2,3,4],"shape":[1,4],"datatype":"FP32"}}`, `{"IN":{"content":[1,2,3,4],"shape":[4],"datatype":"FP32"}}`
	f("IN FP32 [1,4]", 1, single, nil)
	f("IN FP32 [2,4]", 2, single+","+single, nil)
	f("IN FP32 [2,4]", 2, "["+single+","+single+"]", nil)
	f("IN FP32 [4]", 1, typed, nil)
	f("-b 2 needs inputs", 2, typed, nil)
	f("IN FP32 [4]", 1, typed+`,{"IN":{"content":[1],"shape":[1],"datatype":"FP32"}}`, nil)
	f("IN FP32 [2,2]", 1, `{"IN":{"content":[1,2,3,4],"shape":[2,2],"datatype":"FP32"}},`+single, nil)
	f("IN INT64 [2,4]", 2, `{"IN":[1,2,3,4]}`, []string{"IN:INT64:-1,4"})
	f("say what IN is", 1, `{"IN":[1,2,3,4]}`, nil)
	f("say what IN is", 1, `{"IN":{"content":[1],"datatype":"FP32"}}`, nil)
	f(`"datatype" of IN is "FP33"`, 1, `{"IN":{"content":[1],"datatype":"FP33","shape":[1]}}`, nil)
	f("FP32 in one step and INT8 in another", 1, single+`,{"IN":{"content":[1,2,3,4],"shape":[1,4],"datatype":"INT8"}}`, nil)
	f("not valid JSON", 1, `{`, nil)
	// The metadata state the inputs too.
	f("IN FP32 [2,4]", 2, single, nil, fp32("IN", -1, 4))
	f("IN FP32 [2,4]", 2, typed, nil, fp32("IN", -1, 4))
	f("IN FP32 [2,4]", 2, `{"IN":[1,2,3,4]}`, nil, fp32("IN", -1, 4))
	f("IN FP32 [2,2]", 1, `{"IN":{"content":[1,2,3,4],"shape":[2,2]}}`, nil, fp32("IN", -1, 2))
	f("has the datatype INT8, not FP32", 1, single, nil, spec("IN", tensor.Int8, -1, 4))
}

// Expected outputs need their datatypes too.
func TestCompleteOutputs(t *testing.T) {
	in := declare(t, 2, `{"IN":{"content":[1,2],"shape":[1,2],"datatype":"FP32"}}],"validation_data":[{"OUT":{"content":[1,2],"shape":[1,2],"datatype":"INT8"}}`)
	m, err := workload.Complete(in, &service.Model{Unconfigured: true})
	if err != nil {
		t.Fatal(err)
	}
	if m, err := workload.Complete(declare(t, 1, "", "IN:FP32:1"), &service.Model{Unconfigured: true}); err != nil || m.Outputs == nil {
		t.Errorf("%+v, %v", m, err)
	}
	_, got := prepare(t, load(t, in, m))
	if want := []tensor.Tensor{{Name: "OUT", Type: tensor.Int8, Shape: tensor.Shape{2, 2}, Data: []byte{1, 2, 1, 2}}}; cmp.Diff(want, got[0].Expect) != "" {
		t.Errorf("%+v", got[0].Expect)
	}
}

// A server with configurations states everything.
func TestCompleteConfigured(t *testing.T) {
	m := &service.Model{Name: "m", MaxBatch: 4, Inputs: []service.TensorSpec{fp32("IN", -1, 4)}}
	if got, err := workload.Complete(declare(t, 1, "", "IN:FP32:1"), m); got != m || err != nil {
		t.Errorf("%+v, %v", got, err)
	}
	m.Unconfigured = true
	m.Outputs = []service.TensorSpec{fp32("A", -1, 2), fp32("B", 3)}
	want := &service.Model{
		Name: "m", MaxBatch: math.MaxInt32, Unconfigured: true,
		Inputs: []service.TensorSpec{fp32("IN", 4)}, Outputs: []service.TensorSpec{fp32("A", 2), fp32("B", 3)},
	}
	got, err := workload.Complete(plan.Default().Input, m)
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v, -want +got:\n%s", err, diff)
	}
}
