package kserve_test

import (
	"testing"

	"github.com/redline-bench/redline/internal/service/kserve"
	"github.com/redline-bench/redline/internal/tensor/jsonscan"
)

// What a server says of itself is read as a whole or refused; no name, datatype or batch size is made up.
func FuzzDocuments(f *testing.F) {
	for _, s := range []string{
		`{"name":"m","versions":["1"],"platform":"p","inputs":[{"name":"I","datatype":"INT32","shape":[-1,16]}],"outputs":[]}`,
		`{"name":"m","max_batch_size":8,"input":[{"name":"I","optional":true}],"sequence_batching":{},"ensemble_scheduling":{"step":[{"model_name":"a","model_version":-1}]}}`,
		`{"name":"m","max_batch_size":99999999999,"dynamic_batching":{}}`,
		`{"model_stats":[{"name":"m","version":"1","inference_count":3,"inference_stats":{"success":{"count":3,"ns":7}}}]}`,
		`{"model_stats":[{"name":"m","inference_count":-1}]}`, `{"extensions":["trace",5]}`, `[]`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		v, err := jsonscan.Parse(text)
		if err != nil {
			return
		}
		if m, err := kserve.ParseMetadata(v); err == nil {
			for _, in := range append(m.Inputs, m.Outputs...) {
				if m.Name == "" || in.Name == "" || in.Datatype == "" {
					t.Errorf("metadata %+v", m)
				}
			}
		}
		if c, err := kserve.ParseConfig(v); err == nil && c.MaxBatch < 0 {
			t.Errorf("batch size %d", c.MaxBatch)
		}
		_, _ = kserve.ParseStats(v)
		_ = kserve.ParseExtensions(v)
	})
}
