package records_test

import (
	"encoding/csv"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	"github.com/google/go-cmp/cmp"
	"github.com/parquet-go/parquet-go"

	"github.com/redline-bench/redline/internal/clock"
	"github.com/redline-bench/redline/internal/record"
	"github.com/redline-bench/redline/internal/report/records"
	"github.com/redline-bench/redline/internal/testkit"
	"github.com/redline-bench/redline/internal/testkit/columns"
)

func rec(i int) *record.Record {
	at := int64(1e9) + int64(i)*1e6
	return &record.Record{
		Due: at, Sent: at + 100, Written: at + 200, First: at + 5000, End: at + 10000 + int64(i%977), SeqID: uint64(i % 5), In: 1000, Out: 200,
		Step: uint32(i % 7), Slot: uint32(i % 64), Responses: 1,
	}
}

func write(tb testing.TB, path string, n int) {
	tb.Helper()
	w, err := records.Create(nil, path, "1.0")
	if err != nil {
		tb.Fatal(err)
	}
	for i := range n {
		r := rec(i)
		if i == 3 {
			r.Class, r.First = record.Timeout, 0
		}
		if err := w.Add(records.Level{Mode: "concurrency", Value: float64(4 + 4*(2*i/n)), Window: 6 * i / n % 3}, r); err != nil {
			tb.Fatal(err)
		}
	}
	if _, err := os.Stat(path); err == nil {
		tb.Error("the file is there before it is complete")
	}
	if err := w.Close(); err != nil {
		tb.Fatal(err)
	}
}

type row struct {
	Wall     int64   `parquet:"wall_ns"`
	Due      int64   `parquet:"due_ns"`
	Sent     int64   `parquet:"sent_ns"`
	First    int64   `parquet:"first_ns"`
	End      int64   `parquet:"end_ns"`
	Latency  int64   `parquet:"latency_ns"`
	Class    string  `parquet:"class"`
	In       int64   `parquet:"answer_bytes"`
	Slot     int32   `parquet:"slot"`
	Sequence int64   `parquet:"sequence"`
	Level    float64 `parquet:"level"`
	Window   int32   `parquet:"window"`
}

// schema is what programs that read the file rely on.
const schema = `message row {
	required int64 wall_ns (INT(64,true));
	required int64 due_ns (INT(64,true));
	required int64 sent_ns (INT(64,true));
	required int64 written_ns (INT(64,true));
	required int64 first_ns (INT(64,true));
	required int64 end_ns (INT(64,true));
	required int64 latency_ns (INT(64,true));
	required binary class (STRING);
	required int64 request_bytes (INT(64,true));
	required int64 answer_bytes (INT(64,true));
	required int32 step (INT(32,true));
	required int32 slot (INT(32,true));
	required int64 sequence (INT(64,true));
	required int32 responses (INT(32,true));
	required boolean delayed;
	required binary mode (STRING);
	required double level;
	required int32 window (INT(32,true));
}`

func TestParquet(t *testing.T) {
	path := filepath.Join(t.TempDir(), "r.parquet")
	write(t, path, 100_000)
	columns.Check(t, path, schema, 64<<10)
	rows, err := parquet.ReadFile[row](path)
	if err != nil {
		t.Fatal(err)
	}
	if len(rows) != 100_000 {
		t.Fatalf("%d rows", len(rows))
	}
	want := row{Wall: clock.Wall(rec(3).Sent), Due: 3e6, Sent: 3e6 + 100, First: -1, End: 3e6 + 10003, Latency: 9903, Class: "timeout", In: 1000, Slot: 3, Sequence: 3, Level: 4, Window: 0}
	if d := cmp.Diff(rows[3], want); d != "" {
		t.Errorf("row 3 (-got +want):\n%s", d)
	}
	if r := rows[99_999]; r.Level != 8 || r.Class != "ok" || r.Due != 99_999*1e6 {
		t.Errorf("last row %+v", r)
	}
}

func TestCSV(t *testing.T) {
	path := filepath.Join(t.TempDir(), "r.csv")
	write(t, path, 10)
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	table, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	if len(table) != 11 || table[0][0] != "wall_ns" || table[4][7] != "timeout" || table[4][4] != "-1" || table[2][1] != strconv.Itoa(1e6) || table[10][16] != "8" {
		t.Errorf("table %v", table)
	}
}

// In open loop the log has the latency of the report, from the due time, and each interval is a window.
func TestHistogramLogOfAnOpenLoop(t *testing.T) {
	path := filepath.Join(t.TempDir(), "r.hlog")
	w, err := records.Create(nil, path, "1.0")
	if err != nil {
		t.Fatal(err)
	}
	for i := range int64(300) {
		due := int64(1e9) + i*1e7
		r := &record.Record{Due: due, Sent: due + 5e6, End: due + 2e7}
		if err := w.Add(records.Level{Mode: "request_rate", Value: 100, Window: int(i / 150), FromDue: true}, r); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r := hdrhistogram.NewHistogramLogReader(f)
	for window, length := range []int64{1505, 1500} { // from the first send, or the end of the window before, to the last end
		h, err := r.NextIntervalHistogram()
		if err != nil || h == nil {
			t.Fatal(h, err)
		}
		if d := h.EndTimeMs() - h.StartTimeMs(); h.TotalCount() != 150 || h.Min() < 19.9e6 || h.Max() > 20.1e6 || d < length-1 || d > length+1 {
			t.Errorf("window %d: %d latencies of %d to %d ns in %d ms", window, h.TotalCount(), h.Min(), h.Max(), d)
		}
	}
}

func TestHistogramLog(t *testing.T) {
	path := filepath.Join(t.TempDir(), "r.hlog")
	write(t, path, 5000)
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r := hdrhistogram.NewHistogramLogReader(f)
	var total int64
	tags := map[string]int{}
	for {
		h, err := r.NextIntervalHistogram()
		if err != nil {
			t.Fatal(err)
		}
		if h == nil {
			break
		}
		total += h.TotalCount()
		tags[h.Tag()]++
		if h.Max() < 9000 || h.Max() > 12000 {
			t.Errorf("maximum %d", h.Max())
		}
	}
	if total != 4999 || tags["concurrency=4"] != 3 || tags["concurrency=8"] != 3 { // an interval a window
		t.Errorf("%d latencies, tags %v", total, tags)
	}
}

func TestNothingRecorded(t *testing.T) {
	for _, ext := range []string{".parquet", ".csv", ".hlog"} {
		path := filepath.Join(t.TempDir(), "r"+ext)
		write(t, path, 0)
		if info, err := os.Stat(path); err != nil || info.Size() == 0 {
			t.Errorf("%s: %v", ext, err)
		}
	}
}

func TestBadPlaces(t *testing.T) {
	dir := t.TempDir()
	for _, path := range []string{dir, filepath.Join(dir, "none", "r.csv"), filepath.Join(dir, "r.txt")} {
		if _, err := records.Create(nil, path, ""); err == nil {
			t.Errorf("%s: no error", path)
		}
	}
	w, err := records.Create(nil, filepath.Join(dir, "r.csv"), "")
	if err != nil {
		t.Fatal(err)
	}
	w.Abort()
	w.Abort()
	if left, _ := os.ReadDir(dir); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// A file of millions of records takes as much memory as one of thousands.
func TestMemoryIsFlat(t *testing.T) {
	for _, ext := range []string{".parquet", ".csv", ".hlog"} {
		w, err := records.Create(nil, filepath.Join(t.TempDir(), "r"+ext), "")
		if err != nil {
			t.Fatal(err)
		}
		heap := func(n int) uint64 {
			r := rec(1)
			for range n {
				r.Due += 1000
				r.Sent, r.First, r.End = r.Due, r.Due+10, r.Due+r.Due%100000
				if err := w.Add(records.Level{Mode: "request_rate", Value: 1}, r); err != nil {
					t.Fatal(err)
				}
			}
			return testkit.Heap()
		}
		before := heap(70_000)
		after := heap(140_000)
		if after > before+8<<20 {
			t.Errorf("%s: the heap grew from %d to %d MiB", ext, before>>20, after>>20)
		}
		w.Abort()
	}
}

func BenchmarkAdd(b *testing.B) {
	for _, ext := range []string{".parquet", ".csv", ".hlog"} {
		b.Run(ext[1:], func(b *testing.B) {
			w, err := records.Create(nil, filepath.Join(b.TempDir(), "r"+ext), "")
			if err != nil {
				b.Fatal(err)
			}
			defer w.Abort()
			r := rec(1)
			b.ReportAllocs()
			start := time.Now()
			for b.Loop() {
				r.Due += 1000 + r.Due%777
				r.Sent, r.Written, r.First, r.End = r.Due, r.Due+3, r.Due+r.Due%50000, r.Due+r.Due%100000
				r.Slot = uint32(r.Due % 64)
				if err := w.Add(records.Level{Mode: "concurrency", Value: 4}, r); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.N)/time.Since(start).Seconds()/1e6, "Mrecords/s")
		})
	}
}
