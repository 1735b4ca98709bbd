package serve

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTraceFlag(t *testing.T) {
	o, err := parse(t.Context(), []string{"--trace-config", "triton,file=a.json", "--trace-config", "level=TIMESTAMPS", "--trace-config", "level=TENSORS", "--trace-config", "log-frequency=5"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"trace_file": "a.json", "trace_level": "TIMESTAMPS+TENSORS", "log_frequency": "5"}
	if diff := cmp.Diff(want, o.config.Trace); diff != "" {
		t.Error(diff)
	}
	for _, v := range []string{"opentelemetry,url=x", "file", "color=red"} {
		if _, err := parse(t.Context(), []string{"--trace-config", v}, nil); err == nil {
			t.Errorf("%q is taken", v)
		}
	}
}
