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
	if err := os.WriteFile(path, []byte(`{"schema":2,"machine":{"hostname":"a","cpus":2,"version":"v1"},"floors":[{"in_flight":1,"p50_ns":20000}]}`), 0o600); err != nil {
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

// closed is a closed loop at 1,000 requests a second.
func closed(protocol string, n int, request, response uint64) calibrate.Traffic {
	return calibrate.Traffic{Protocol: protocol, Mode: "unary", Concurrency: n, InFlight: float64(n), PerSecond: 1000, RequestBytes: request, ResponseBytes: response}
}

func TestTheNearestTrafficIsTakenByRatio(t *testing.T) {
	table := &calibrate.Table{}
	table.Put(
		calibrate.Floor{Traffic: closed("grpc", 1, 64, 64)},
		calibrate.Floor{Traffic: closed("grpc", 8, 64, 64)},
		calibrate.Floor{Traffic: closed("grpc", 8, 512<<10, 512<<10)},
		calibrate.Floor{Traffic: closed("http", 64, 64, 64)},
	)
	f := func(q calibrate.Traffic, want int) {
		t.Helper()
		got, ok := table.Find(q)
		if d := cmp.Diff(calibrate.Found{Floor: table.Floors[want], Of: table.Floors[want].Traffic.String()}, got); !ok || d != "" {
			t.Errorf("%v: %v %s", q, ok, d)
		}
	}
	f(closed("grpc", 2, 64, 64), 0)
	f(closed("grpc", 4, 64, 64), 1)
	f(closed("grpc", 1000, 100, 100), 1)
	f(closed("grpc", 8, 250_000, 250_000), 2)
	f(closed("http", 1, 1, 1), 3)
	if _, ok := table.Find(closed("", 1, 1, 1)); ok {
		t.Error("found the error of no protocol")
	}
	if _, ok := (*calibrate.Table)(nil).Find(closed("grpc", 1, 1, 1)); ok {
		t.Error("found an error in no table")
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
		got, ok := table.Find(q)
		if !ok || got.Exact != exact || got.P50Ns != want {
			t.Errorf("%v: found %v", q, got)
		}
	}
	same := func(*calibrate.Traffic) {}
	f(1, true, same, base)
	f(2, true, same, rate)
	f(3, true, same, stream)
	// A slower server keeps the load of an open loop longer in flight, and ids have more digits: it is the same traffic.
	f(1, true, func(q *calibrate.Traffic) { q.InFlight = 8; q.RequestBytes += 12 }, base)
	f(2, true, func(q *calibrate.Traffic) { q.InFlight = 90 }, rate)
	f(1, false, func(q *calibrate.Traffic) { q.Concurrency, q.InFlight = 16, 16 }, base)
	f(1, false, func(q *calibrate.Traffic) { q.ResponseBytes = 8000 }, base)
	f(2, false, func(q *calibrate.Traffic) { q.Rate = 2000 }, rate)
	f(1, false, func(q *calibrate.Traffic) { q.Service = "tfserving" }, base)
}

// Back-to-back requests do not tell the error of a server that takes its time: at another pace it is another traffic.
func TestTheErrorBelongsToAPace(t *testing.T) {
	at := func(perSecond float64) calibrate.Traffic {
		q := closed("http", 8, 64, 64)
		q.PerSecond = perSecond
		return q
	}
	table := &calibrate.Table{}
	table.Put(
		calibrate.Floor{Traffic: at(40_000), P50Ns: 20_000, P99Ns: 900_000},
		calibrate.Floor{Traffic: at(400), P50Ns: 134_000, P99Ns: 500_000, AtLeast: true},
		calibrate.Floor{Traffic: at(55), P50Ns: 150_000, P99Ns: 400_000},
	)
	f := func(perSecond float64, p50, p99 int64, atLeast bool, of string) {
		t.Helper()
		got, _ := table.Find(at(perSecond))
		if got.P50Ns != p50 || got.P99Ns != p99 || got.AtLeast != atLeast || got.Of != of || got.Exact != (of == "") {
			t.Errorf("%v requests/s: %+v", perSecond, got)
		}
	}
	f(40_000, 20_000, 900_000, false, "")
	f(500, 134_000, 500_000, true, "")
	f(300, 134_000, 500_000, true, "")
	// Between two paces the larger error is stated, of each percentile.
	f(4_000, 134_000, 900_000, true, "this traffic at 400 requests/s and at 40000 requests/s, the larger error")
	f(150, 150_000, 500_000, true, "this traffic at 55 requests/s and at 400 requests/s, the larger error")
	// Paces at which the client sleeps long between two answers are one.
	f(2, 150_000, 400_000, false, "")
	// Beyond the calibrated ones the nearest is named.
	f(90_000, 20_000, 900_000, false, "http unary, 8 in flight, 40000 requests/s, 64 + 64 bytes")
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
		if got, ok := table.Find(q); !ok || got.Exact || got.P50Ns != want {
			t.Errorf("%s: %v", mode, got)
		}
	}
}

func TestANewerFloorTakesThePlaceOfTheOlder(t *testing.T) {
	table := &calibrate.Table{}
	table.Put(calibrate.Floor{Traffic: closed("grpc", 1, 64, 64), P50Ns: 1}, calibrate.Floor{Traffic: closed("grpc", 8, 64, 64), P50Ns: 2})
	table.Put(calibrate.Floor{Traffic: closed("grpc", 1, 65, 64), P50Ns: 3})
	if f, _ := table.Find(closed("grpc", 1, 64, 64)); len(table.Floors) != 2 || f.P50Ns != 3 || !f.Exact {
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
	f(closed("grpc", 8, 128, 256), "grpc unary, 8 in flight, 1000 requests/s, 128 + 256 bytes")
	f(calibrate.Traffic{Protocol: "http", Service: "openai", Mode: "stream", Rate: 12.5, InFlight: 3, PerSecond: 12.4}, "http openai stream, 12.5 requests/s, 0 + 0 bytes")
	f(calibrate.Traffic{Protocol: "llm http", Service: "chat", Mode: "stream", Concurrency: 8, PerSecond: 75.55, RequestBytes: 120}, "llm http chat stream, 8 in flight, 75.5 tokens/s, 120 bytes")
	f(calibrate.Traffic{Protocol: "http", Mode: "unary", InFlight: 3.25, PerSecond: 5}, "http unary, 3.25 in flight, 5 requests/s, 0 + 0 bytes")
}
