package parquet_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	lib "github.com/parquet-go/parquet-go"

	"github.com/redline-bench/redline/internal/parquet"
)

// row is a table with a column of every kind, as the library reads it.
type row struct {
	A int32   `parquet:"a"`
	B int64   `parquet:"b"`
	C uint32  `parquet:"c"`
	D uint64  `parquet:"d"`
	E bool    `parquet:"e"`
	F string  `parquet:"f"`
	G float64 `parquet:"g"`
}

func write(t testing.TB, rows []row, group int) []byte {
	t.Helper()
	var out bytes.Buffer
	w := parquet.NewWriter(&out, "redline version test", group)
	a, b, c, d := w.Int32("a"), w.Int64("b"), w.Uint32("c"), w.Uint64("d")
	e, f, g := w.Bool("e"), w.Text("f"), w.Float("g")
	for _, r := range rows {
		a.Add(int64(r.A))
		b.Add(r.B)
		c.Add(int64(r.C))
		d.Add(int64(r.D))
		e.Add(r.E)
		f.Add(r.F)
		g.Add(r.G)
		if err := w.EndRow(); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func check(t testing.TB, rows []row, group int) {
	t.Helper()
	b := write(t, rows, group)
	got, err := lib.Read[row](bytes.NewReader(b), int64(len(b)))
	if err != nil {
		t.Fatalf("the library cannot read %d rows in groups of %d: %v", len(rows), group, err)
	}
	same := func(a, b row) bool {
		bits := math.Float64bits(a.G) == math.Float64bits(b.G) // also of what is not a number
		a.G, b.G = 0, 0
		return bits && a == b
	}
	if !slices.EqualFunc(rows, got, same) {
		t.Errorf("%d rows in groups of %d differ (-written +read):\n%s", len(rows), group, cmp.Diff(rows, got))
	}
}

// TestRoundTrip writes tables of many sizes and kinds of values, and reads them with a library.
func TestRoundTrip(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	kinds := map[string]func(i int) row{
		"zero":   func(int) row { return row{} },
		"growth": func(i int) row { return row{int32(i), int64(i) * 1e6, uint32(i), uint64(i), i%3 == 0, "ok", 4} },
		"extremes": func(i int) row {
			if i%2 == 0 {
				return row{math.MinInt32, math.MinInt64, math.MaxUint32, math.MaxUint64, true, strings.Repeat("ä", i%40), math.Inf(1)}
			}
			return row{math.MaxInt32, math.MaxInt64, 0, 0, false, "", math.NaN()}
		},
		"random": func(int) row {
			return row{int32(rng.Uint32()), int64(rng.Uint64()), rng.Uint32(), rng.Uint64(), rng.IntN(2) == 0, fmt.Sprint(rng.Uint32()), rng.Float64()}
		},
		"runs": func(i int) row {
			return row{int32(i / 100), int64(i / 37), uint32(rng.IntN(3)), uint64(i / 9), i/50%2 == 0, fmt.Sprint(i / 13 % 300), float64(i / 21 % 5)}
		},
		"small": func(i int) row {
			return row{int32(rng.IntN(4)), int64(rng.IntN(1 << 20)), 7, uint64(rng.IntN(2)), true, fmt.Sprint(rng.IntN(5)), float64(rng.IntN(17))}
		},
	}
	for name, make := range kinds {
		t.Run(name, func(t *testing.T) {
			for _, n := range []int{0, 1, 2, 8, 9, 32, 33, 34, 128, 129, 130, 161, 257, 1500} {
				rows := []row{}
				for i := range n {
					rows = append(rows, make(i))
				}
				check(t, rows, 1024)
				if n < 300 {
					check(t, rows, 33)
				}
			}
		})
	}
}

func TestSchema(t *testing.T) {
	b := write(t, []row{{}}, 10)
	f, err := lib.OpenFile(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		t.Fatal(err)
	}
	want := `message row {
	required int32 a (INT(32,true));
	required int64 b (INT(64,true));
	required int32 c (INT(32,false));
	required int64 d (INT(64,false));
	required boolean e;
	required binary f (STRING);
	required double g;
}`
	if diff := cmp.Diff(want, f.Schema().String()); diff != "" {
		t.Errorf("schema (-want +got):\n%s", diff)
	}
	if got := f.Metadata().CreatedBy; got != "redline version test" {
		t.Errorf("created by %q", got)
	}
}

// TestUneven: a row that lacks a value is an error, not a file that shifts.
func TestUneven(t *testing.T) {
	w := parquet.NewWriter(&bytes.Buffer{}, "", 10)
	a, _ := w.Int32("a"), w.Int32("b")
	a.Add(1)
	if err := w.EndRow(); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err == nil || !strings.Contains(err.Error(), "the column b has 0 values in 1 rows") {
		t.Errorf("error %v", err)
	}
}

type broken struct{ left int }

func (b *broken) Write(p []byte) (int, error) {
	if b.left -= len(p); b.left < 0 {
		return 0, errors.New("the disk is full")
	}
	return len(p), nil
}

func TestWriteError(t *testing.T) {
	for left := range 200 {
		w := parquet.NewWriter(&broken{left}, "", 4)
		a := w.Int64("a")
		for i := range 10 {
			a.Add(int64(i))
			if err := w.EndRow(); err != nil {
				break
			}
		}
		if err := w.Close(); err == nil || err.Error() != "the disk is full" {
			if left < 100 {
				t.Fatalf("with room for %d bytes: error %v", left, err)
			}
		}
	}
}

func TestAllocs(t *testing.T) {
	w := parquet.NewWriter(&broken{math.MaxInt}, "", 1<<20)
	a, b, c, d := w.Int64("a"), w.Text("b"), w.Bool("c"), w.Float("d")
	add := func() {
		for i := range 1000 {
			a.Add(int64(i) * 12345)
			b.Add("ok")
			c.Add(i%2 == 0)
			d.Add(8)
			_ = w.EndRow()
		}
	}
	for range 600 {
		add()
	}
	if n := testing.AllocsPerRun(10, add); n > 4 { // the buffers of a group still grow
		t.Errorf("%v allocations for 1000 rows", n)
	}
}

func BenchmarkRow(b *testing.B) {
	w := parquet.NewWriter(&broken{math.MaxInt}, "", 64<<10)
	var ints []*parquet.Ints
	for i := range 14 {
		ints = append(ints, w.Int64(fmt.Sprint(i)))
	}
	class := w.Text("class")
	b.ReportAllocs()
	for i := range b.N {
		for j, c := range ints {
			c.Add(int64(i*1000 + j*i%77))
		}
		class.Add("ok")
		if err := w.EndRow(); err != nil {
			b.Fatal(err)
		}
	}
}

func FuzzRows(f *testing.F) {
	f.Add([]byte("0123456789012345678901234567890123456789"), uint8(3))
	f.Fuzz(func(t *testing.T, b []byte, group uint8) {
		var rows []row
		for len(b) >= 12 {
			v := binary.LittleEndian.Uint64(b)
			w := binary.LittleEndian.Uint32(b[8:])
			rows = append(rows, row{int32(w), int64(v), w, v, w&1 == 1, strings.ToValidUTF8(string(b[:w%12]), "?"), math.Float64frombits(v)})
			b = b[1+w%12:]
		}
		check(t, rows, 1+int(group))
	})
}
