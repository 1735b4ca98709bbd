package model

import (
	"testing"

	"github.com/redline-bench/redline/internal/proto/kserve"
)

func TestDefaultsAreTritons(t *testing.T) {
	text, err := builtin.ReadFile("builtin/simple/config.pbtxt")
	if err != nil {
		t.Fatal(err)
	}
	cfg, err := ParseConfig(text)
	if err != nil {
		t.Fatal(err)
	}
	if got := cfg.GetDynamicBatching().GetPreferredBatchSize(); len(got) != 1 || got[0] != 8 {
		t.Errorf("preferred batch sizes %v", got)
	}
	if g := cfg.GetInstanceGroup()[0]; g.GetName() != "simple_0" || g.GetCount() != 1 || g.GetKind() != kserve.ModelInstanceGroup_KIND_CPU {
		t.Errorf("instance group %v", g)
	}
	if cfg.GetVersionPolicy().GetLatest().GetNumVersions() != 1 {
		t.Errorf("version policy: %v", cfg)
	}
}

func FuzzParseConfig(f *testing.F) {
	f.Add([]byte(`name: "x" backend: "identity" max_batch_size: 1 input { name: "A" data_type: TYPE_FP32 dims: 1 } output { name: "B" data_type: TYPE_FP32 dims: 1 }`))
	f.Fuzz(func(_ *testing.T, text []byte) {
		_, _ = ParseConfig(text)
		_, _ = parseOverride(string(text), "m", nil)
	})
}
