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
	want := calibrate.New(here)
	want.Put(calibrate.Floor{Traffic: closed("http", 1, 9, 9), P50Ns: 9, When: time.Unix(5, 0).UTC()})
	if err := want.Save(nil, path); err != nil {
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
	if err := os.WriteFile(path, []byte(`{"machine":{"hostname":"a","cpus":2,"version":"v1"},"floors":[{"in_flight":1}]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := calibrate.Load(path, here); got != nil || err != nil {
		t.Errorf("an older form: %v, %v", got, err)
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

func closed(protocol string, n int, request, response uint64) calibrate.Traffic {
	return calibrate.Traffic{Protocol: protocol, Mode: "unary", Concurrency: n, InFlight: float64(n), RequestBytes: request, ResponseBytes: response}
}

func TestLookupTakesTheNearestByRatio(t *testing.T) {
	table := &calibrate.Table{}
	table.Put(
		calibrate.Floor{Traffic: closed("grpc", 1, 64, 64)},
		calibrate.Floor{Traffic: closed("grpc", 8, 64, 64)},
		calibrate.Floor{Traffic: closed("grpc", 8, 512<<10, 512<<10)},
		calibrate.Floor{Traffic: closed("http", 64, 64, 64)},
	)
	f := func(q calibrate.Traffic, want int) {
		t.Helper()
		got, exact, ok := table.Lookup(q)
		if !ok || exact || got != table.Floors[want] {
			t.Errorf("%v: %v %v %v", q, got, exact, ok)
		}
	}
	f(closed("grpc", 2, 64, 64), 0)
	f(closed("grpc", 4, 64, 64), 1)
	f(closed("grpc", 1000, 100, 100), 1)
	f(closed("grpc", 8, 250_000, 250_000), 2)
	f(closed("http", 1, 1, 1), 3)
	if _, _, ok := table.Lookup(closed("", 1, 1, 1)); ok {
		t.Error("found a floor of no protocol")
	}
	if _, _, ok := (*calibrate.Table)(nil).Lookup(closed("grpc", 1, 1, 1)); ok {
		t.Error("found a floor in no table")
	}
}

func TestTheVeryTrafficIsFoundBeforeTheNearest(t *testing.T) {
	base := closed("grpc", 8, 600_000, 4_000)
	base.InFlight = 7.5
	rate := base
	rate.Concurrency, rate.Rate, rate.InFlight = 0, 1000, 0.2
	stream := base
	stream.Mode = "stream"
	table := &calibrate.Table{}
	for i, q := range []calibrate.Traffic{base, rate, stream} {
		table.Put(calibrate.Floor{Traffic: q, P50Ns: int64(i + 1)})
	}
	f := func(want int64, exact bool, change func(*calibrate.Traffic), q calibrate.Traffic) {
		t.Helper()
		change(&q)
		got, is, ok := table.Lookup(q)
		if !ok || is != exact || got.P50Ns != want {
			t.Errorf("%v: found %v, %v", q, got, is)
		}
	}
	same := func(*calibrate.Traffic) {}
	f(1, true, same, base)
	f(2, true, same, rate)
	f(3, true, same, stream)
	// A slower server keeps the same load longer in flight, and ids have more digits: it is the same traffic.
	f(1, true, func(q *calibrate.Traffic) { q.InFlight = 8; q.RequestBytes += 12 }, base)
	f(2, true, func(q *calibrate.Traffic) { q.InFlight = 90 }, rate)
	f(1, false, func(q *calibrate.Traffic) { q.Concurrency, q.InFlight = 16, 16 }, base)
	f(1, false, func(q *calibrate.Traffic) { q.ResponseBytes = 8000 }, base)
	f(2, false, func(q *calibrate.Traffic) { q.Rate = 2000 }, rate)
	f(1, false, func(q *calibrate.Traffic) { q.Service = "tfserving" }, base)
}

// What differs in fewer ways is nearer.
func TestModesAreComparedWordByWord(t *testing.T) {
	table := &calibrate.Table{}
	for i, mode := range []string{"unary TLS", "unary", "stream gzip"} {
		q := closed("grpc", 8, 64, 64)
		q.Mode = mode
		table.Put(calibrate.Floor{Traffic: q, P50Ns: int64(i)})
	}
	for mode, want := range map[string]int64{"stream": 2, "unary TLS poisson": 0, "stream gzip poisson": 2, "unary poisson": 1} {
		q := closed("grpc", 8, 64, 64)
		q.Mode = mode
		if got, exact, ok := table.Lookup(q); !ok || exact || got.P50Ns != want {
			t.Errorf("%s: %v", mode, got)
		}
	}
}

func TestANewerFloorTakesThePlaceOfTheOlder(t *testing.T) {
	table := &calibrate.Table{}
	table.Put(calibrate.Floor{Traffic: closed("grpc", 1, 64, 64), P50Ns: 1}, calibrate.Floor{Traffic: closed("grpc", 8, 64, 64), P50Ns: 2})
	table.Put(calibrate.Floor{Traffic: closed("grpc", 1, 65, 64), P50Ns: 3})
	if f, exact, _ := table.Lookup(closed("grpc", 1, 64, 64)); len(table.Floors) != 2 || f.P50Ns != 3 || !exact {
		t.Errorf("got %v", table.Floors)
	}
}

func TestTrafficInWords(t *testing.T) {
	f := func(q calibrate.Traffic, want string) {
		t.Helper()
		if got := q.String(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	f(closed("grpc", 8, 128, 256), "grpc unary, 8 in flight, 128 + 256 bytes")
	f(calibrate.Traffic{Protocol: "http", Service: "openai", Mode: "stream", Rate: 12.5, InFlight: 3}, "http openai stream, 12.5 requests/s, 0 + 0 bytes")
	f(calibrate.Traffic{Protocol: "llm http", Service: "chat", Mode: "stream", Concurrency: 8, RequestBytes: 120}, "llm http chat stream, 8 in flight, 120 bytes")
	f(calibrate.Traffic{Protocol: "http", Mode: "unary", InFlight: 3.25}, "http unary, 3.25 in flight, 0 + 0 bytes")
}
