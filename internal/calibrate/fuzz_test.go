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

// Each line of the server's log is read or refused.
func FuzzLog(f *testing.F) {
	f.Add([]byte(`{"id":"a","events_ns":[1,2,3],"tokens":[0,2]}` + "\n"))
	f.Add([]byte(`{"tokens":[1,2,3]}` + "\n"))
	f.Add([]byte(`{"events_ns":null}` + "\n{"))
	path := filepath.Join(f.TempDir(), "log")
	f.Fuzz(func(t *testing.T, text []byte) {
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		list, err := (&calibrate.Log{Path: path}).Streams(t.Context(), 0, 0)
		if err != nil && list != nil {
			t.Errorf("%+v beside %v", list, err)
		}
		for _, s := range list {
			if len(s.At) == 0 {
				t.Errorf("a stream without tokens: %+v", s)
			}
		}
	})
}
