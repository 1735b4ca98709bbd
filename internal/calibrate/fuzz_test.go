package calibrate_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/redline-bench/redline/internal/calibrate"
)

// A calibration that is damaged is an error, and one of another machine is none: neither gives a floor.
func FuzzLoad(f *testing.F) {
	f.Add([]byte(`{"schema":3,"machine":{"hostname":"h","cpus":2,"version":"v"},"floors":[{"protocol":"http","body":5,"p50_ns":7}]}`))
	f.Add([]byte(`{"schema":1,"machine":{"hostname":"h","cpus":2,"version":"v"},"floors":[{}]}`))
	f.Add([]byte(`{"floors":[null]}`))
	f.Add([]byte(`{`))
	path := filepath.Join(f.TempDir(), "calibration.json")
	machine := calibrate.Machine{Hostname: "h", CPUs: 2, Version: "v"}
	f.Fuzz(func(t *testing.T, text []byte) {
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		table, err := calibrate.Load(path, machine)
		if err != nil && table != nil || table != nil && table.Machine != machine {
			t.Errorf("table %+v, error %v", table, err)
		}
		if _, ok := table.Find(calibrate.Traffic{}); ok && table == nil {
			t.Error("a floor out of no table")
		}
	})
}
