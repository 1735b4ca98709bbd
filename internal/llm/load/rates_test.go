package load_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/redline-bench/redline/internal/llm/load"
)

// A file of rates gives stages that follow each other without a jump, each with a rate and a length.
func FuzzReadRates(f *testing.F) {
	f.Add([]byte(`[{"time_s":0,"qps":5},{"time_s":60,"qps":50}]`))
	f.Add([]byte(`{"points":[{"time_s":10,"qps":1e9},{"time_s":1e9,"qps":0.001}]}`))
	f.Add([]byte(`[{"time_s":0,"qps":5},{"time_s":1e-12,"qps":50}]`))
	f.Add([]byte(`[{"time_s":0},{"qps":1}]`))
	path := filepath.Join(f.TempDir(), "rates.json")
	f.Fuzz(func(t *testing.T, text []byte) {
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		stages, err := load.ReadRates(path)
		if err != nil {
			return
		}
		for _, s := range stages {
			if s.From <= 0 || s.To <= 0 || s.Time <= 0 {
				t.Errorf("stage %+v", s)
			}
		}
	})
}
