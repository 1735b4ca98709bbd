package plan_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/tensor"
)

func TestAppendShape(t *testing.T) {
	f := func(text, name string, datatype tensor.Datatype, dims ...int64) {
		t.Helper()
		var in, want plan.Input
		if err := in.AppendShape(text); err != nil {
			t.Errorf("%s: %v", text, err)
		}
		want.Shapes = map[string][]int64{name: dims}
		if datatype != tensor.Invalid {
			want.Datatypes = map[string]tensor.Datatype{name: datatype}
		}
		if diff := cmp.Diff(want, in); diff != "" {
			t.Errorf("%s: -want +got:\n%s", text, diff)
		}
	}
	f("IN:4", "IN", tensor.Invalid, 4)
	f("IN:-1,3,224", "IN", tensor.Invalid, -1, 3, 224)
	f("IN:FP32:-1,4", "IN", tensor.FP32, -1, 4)
	f("IN:bytes:1", "IN", tensor.Bytes, 1)
	f("serving_default_x:0:4", "serving_default_x:0", tensor.Invalid, 4)
	f("serving_default_x:0:INT64:4", "serving_default_x:0", tensor.Int64, 4)
	f("FP32:4", "FP32", tensor.Invalid, 4)
	for _, text := range []string{"", "IN", ":4", "IN:", "IN:0", "IN:4,-1", "IN:-2", "IN:4,", "IN:x", "IN:FP32", "IN:FP32:", "IN:99999999999999999999"} {
		if err := new(plan.Input).AppendShape(text); err == nil {
			t.Errorf("%q is accepted", text)
		}
	}
}
