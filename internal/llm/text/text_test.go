package text

import (
	"math"
	"testing"

	"github.com/redline-bench/redline/internal/result"
)

func TestPythonFloats(t *testing.T) {
	for v, want := range map[float64]string{7830.079494413578: "7830.079494413578", 3: "3.0", 0.03435562758944755: "0.03435562758944755", 0.00001: "1e-05", 0: "0.0"} {
		if got := pyFloat(v); got != want {
			t.Errorf("%v is %s, want %s", v, got, want)
		}
	}
	if pyFloat(math.NaN()) != "nan" {
		t.Error(pyFloat(math.NaN()))
	}
}

// An interval without an upper end says so.
func TestIntervalsInTheTable(t *testing.T) {
	m := &result.Metric{
		Name: "Latency", Unit: "ms", Avg: 10, Dist: &result.Dist{}, Interval: &result.Interval{Low: 9, High: 12},
		Intervals: map[string]result.Interval{"p99": {Low: 15, Open: true}},
	}
	rows := distRow(m, true)
	if len(rows) != 2 || rows[1][1] != "9.00–12.00" {
		t.Fatalf("%q", rows)
	}
	found := false
	for _, cell := range rows[1] {
		found = found || cell == "at least 15.00"
	}
	if !found {
		t.Errorf("%q", rows[1])
	}
}
