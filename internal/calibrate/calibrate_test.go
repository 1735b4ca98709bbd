package calibrate_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/redline-bench/redline/internal/calibrate"
)

func TestTableSurvivesTheDiskAndBelongsToItsMachine(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sub", "floor.json")
	here := calibrate.Machine{Hostname: "a", CPUs: 2, Version: "v1"}
	if got, err := calibrate.Load(path, here); got != nil || err != nil {
		t.Errorf("no file: %v, %v", got, err)
	}
	want := &calibrate.Table{Machine: here, When: time.Unix(5, 0).UTC(), Floors: []calibrate.Floor{{Protocol: "http", InFlight: 1, P50Ns: 9}}}
	if err := want.Save(path); err != nil {
		t.Fatal(err)
	}
	got, err := calibrate.Load(path, here)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(got, want); d != "" {
		t.Error(d)
	}
	if got, err := calibrate.Load(path, calibrate.Machine{Hostname: "b"}); got != nil || err != nil {
		t.Errorf("another machine: %v, %v", got, err)
	}
}

func TestBrokenTableNamesTheFileAndTheWayOut(t *testing.T) {
	path := filepath.Join(t.TempDir(), "floor.json")
	if err := os.WriteFile(path, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := calibrate.Load(path, calibrate.Machine{}); err == nil || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), "redline calibrate") {
		t.Errorf("got %v", err)
	}
}

func TestLookupTakesTheNearestByRatio(t *testing.T) {
	table := &calibrate.Table{Floors: []calibrate.Floor{
		{Protocol: "grpc", InFlight: 1, Bytes: 128},
		{Protocol: "grpc", InFlight: 8, Bytes: 128},
		{Protocol: "grpc", InFlight: 8, Bytes: 1 << 20},
		{Protocol: "http", InFlight: 64, Bytes: 128},
	}}
	f := func(protocol string, inFlight float64, bytes uint64, want int) {
		t.Helper()
		got, ok := table.Lookup(protocol, inFlight, bytes)
		if !ok || got != table.Floors[want] {
			t.Errorf("%s %g %d: %+v %v", protocol, inFlight, bytes, got, ok)
		}
	}
	f("grpc", 1, 100, 0)
	f("grpc", 2, 128, 0)
	f("grpc", 4, 128, 1)
	f("grpc", 1000, 200, 1)
	f("grpc", 8, 500_000, 2)
	f("http", 1, 1, 3)
	if _, ok := table.Lookup("", 1, 1); ok {
		t.Error("found a floor of no protocol")
	}
	if _, ok := (*calibrate.Table)(nil).Lookup("grpc", 1, 1); ok {
		t.Error("found a floor in no table")
	}
}
