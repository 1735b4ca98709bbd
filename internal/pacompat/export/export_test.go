package export_test

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/redline-bench/redline/internal/clock"
	"github.com/redline-bench/redline/internal/pacompat/export"
	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/record"
	"github.com/redline-bench/redline/internal/tensor"
)

func ints(v ...int32) []byte {
	var b []byte
	for _, n := range v {
		b = binary.LittleEndian.AppendUint32(b, uint32(n))
	}
	return b
}

// wall is a reading of the clock as it stands in the file.
func wall(t int64) string { return strconv.FormatInt(clock.Wall(t), 10) }

// write runs fn on a new file and returns what the file holds at the end.
func write(t *testing.T, cfg export.Config, fn func(*export.Writer)) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "profile.json")
	w, err := export.Create(nil, path, cfg)
	if err != nil {
		t.Fatal(err)
	}
	fn(w)
	if _, err := os.Stat(path); err == nil {
		t.Error("the file is there before it is complete")
	}
	if err := w.Commit(plan.Triton, "v1/chat"); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !json.Valid(data) || !utf8.Valid(data) {
		t.Errorf("not valid JSON in UTF-8: %s", data)
	}
	return string(data)
}

const tail = `],"version":"2.60.0","service_kind":"triton","endpoint":"v1/chat"}`

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestDocument(t *testing.T) {
	cfg := export.Config{
		Inputs: func(step uint32) []tensor.Tensor {
			return []tensor.Tensor{{Name: "INPUT0", Type: tensor.Int32, Data: ints(int32(step), -2)}, {Name: "INPUT1", Type: tensor.Int32, Data: ints(7)}}
		},
		Outputs: func(payload []byte) ([]tensor.Tensor, error) {
			if string(payload) == "end" {
				return nil, nil
			}
			return []tensor.Tensor{{Name: "OUTPUT0", Type: tensor.Int32, Data: payload}}, nil
		},
		Names: []string{"OUTPUT0"},
	}
	got := write(t, cfg, func(w *export.Writer) {
		must(t, w.Begin(plan.Concurrency, 4, 0))
		must(t, w.Request(&record.Record{Sent: 10, End: 30, Step: 5}, []record.Event{{At: 30, Size: 8}}, ints(1, 2)))
		must(t, w.Request(&record.Record{Sent: 11, End: 40, Step: 6, SeqID: 9},
			[]record.Event{{At: 20, Size: 4}, {At: 40, Size: 8}, {At: 41, Size: 3}}, append(ints(3, 4, 5), "end"...)))
		must(t, w.End([]int64{100, 200, 300}))
		must(t, w.Begin(plan.RequestRate, 0, 50))
		must(t, w.Request(&record.Record{Sent: 50, End: 60, Step: 5}, nil, nil))
		must(t, w.End(nil))
	})
	want := `{"experiments":[{"experiment":{"mode":"concurrency","value":4},"requests":[` +
		`{"timestamp":` + wall(10) + `,"request_inputs":{"INPUT0":[5,-2],"INPUT1":7},"response_timestamps":[` + wall(30) + `],"response_outputs":[{"OUTPUT0":[1,2]}]},` +
		`{"timestamp":` + wall(11) + `,"sequence_id":9,"request_inputs":{"INPUT0":[6,-2],"INPUT1":7},"response_timestamps":[` + wall(20) + `,` + wall(40) + `,` + wall(41) +
		`],"response_outputs":[{"OUTPUT0":3},{"OUTPUT0":[4,5]},{"OUTPUT0":""}]}],"window_boundaries":[100,200,300]},` +
		`{"experiment":{"mode":"request_rate","value":50.0},"requests":[` +
		`{"timestamp":` + wall(50) + `,"request_inputs":{"INPUT0":[5,-2],"INPUT1":7},"response_timestamps":[` + wall(60) + `],"response_outputs":[{"OUTPUT0":""}]}],"window_boundaries":[]}` + tail
	if d := cmp.Diff(got, want); d != "" {
		t.Errorf("document (-got +want):\n%s", d)
	}
}

// Readers of the file divide by the time from the first response to the last.
func TestResponsesOfOneRead(t *testing.T) {
	got := write(t, export.Config{}, func(w *export.Writer) {
		must(t, w.Begin(plan.Concurrency, 1, 0))
		must(t, w.Request(&record.Record{Sent: 10, End: 30}, []record.Event{{At: 30}, {At: 30}, {At: 30}, {At: 900}}, nil))
		must(t, w.End(nil))
	})
	if want := `"response_timestamps":[` + wall(30) + `,` + wall(130) + `,` + wall(230) + `,` + wall(900) + `]`; !strings.Contains(got, want) {
		t.Errorf("no %s in\n%s", want, got)
	}
}

func TestVerdict(t *testing.T) {
	got := write(t, export.Config{}, func(w *export.Writer) { w.Verdict = "client-limited" })
	if want := strings.TrimSuffix(tail, "}") + `,"verdict":"client-limited"}`; got != `{"experiments":[`+want {
		t.Errorf("got %s", got)
	}
}

func TestNoLevels(t *testing.T) {
	if got := write(t, export.Config{}, func(*export.Writer) {}); got != `{"experiments":[`+tail {
		t.Errorf("got %s", got)
	}
}

func TestLevelThatNeverEnded(t *testing.T) {
	got := write(t, export.Config{}, func(w *export.Writer) {
		must(t, w.Begin(plan.Concurrency, 1, 0))
		must(t, w.Begin(plan.Concurrency, 2, 0))
	})
	want := `{"experiments":[{"experiment":{"mode":"concurrency","value":1},"requests":[],"window_boundaries":[]},` +
		`{"experiment":{"mode":"concurrency","value":2},"requests":[],"window_boundaries":[]}` + tail
	if got != want {
		t.Errorf("got %s", got)
	}
}

func TestExperimentOfEachMode(t *testing.T) {
	f := func(mode plan.Mode, rate float64, want string) {
		t.Helper()
		got := write(t, export.Config{}, func(w *export.Writer) {
			must(t, w.Begin(mode, 3, rate))
			must(t, w.End([]int64{0, math.MaxInt64}))
		})
		if want = `{"experiments":[{"experiment":{"mode":` + want + `},"requests":[],"window_boundaries":[0,18446744073709551615]}` + tail; got != want {
			t.Errorf("%s: got %s", mode, got)
		}
	}
	f(plan.Concurrency, 0, `"concurrency","value":3`)
	f(plan.RequestRate, 12.25, `"request_rate","value":12.25`)
	f(plan.CustomIntervals, 40, `"request_rate","value":40.0`)
	f(plan.FixedSchedule, 1, `"request_rate","value":0.0`)
	f(plan.PeriodicConcurrency, 0, `"concurrency","value":1`)
	f(plan.SessionConcurrency, 0, `"request_rate","value":0.0`)
}

// value is the JSON form of one input.
func value(t *testing.T, typ tensor.Datatype, raw []byte) string {
	t.Helper()
	cfg := export.Config{Inputs: func(uint32) []tensor.Tensor { return []tensor.Tensor{{Name: "X", Type: typ, Data: raw}} }}
	got := write(t, cfg, func(w *export.Writer) {
		must(t, w.Begin(plan.Concurrency, 1, 0))
		must(t, w.Request(&record.Record{}, nil, nil))
	})
	_, got, _ = strings.Cut(got, `"request_inputs":{"X":`)
	got, _, _ = strings.Cut(got, `},"response_timestamps"`)
	return got
}

func TestValues(t *testing.T) {
	f := func(typ tensor.Datatype, raw []byte, want string) {
		t.Helper()
		if got := value(t, typ, raw); got != want {
			t.Errorf("%s % x: got %s, want %s", typ, raw, got, want)
		}
	}
	le := binary.LittleEndian
	fp32 := func(v ...float32) (b []byte) {
		for _, x := range v {
			b = le.AppendUint32(b, math.Float32bits(x))
		}
		return b
	}
	fp64 := func(v ...float64) (b []byte) {
		for _, x := range v {
			b = le.AppendUint64(b, math.Float64bits(x))
		}
		return b
	}
	f(tensor.Bool, []byte{1, 0, 2}, "[true,false,true]")
	f(tensor.Uint8, []byte{255}, "255")
	f(tensor.Uint16, []byte{255, 255, 1, 0}, "[65535,1]")
	f(tensor.Uint32, []byte{255, 255, 255, 255}, "4294967295")
	f(tensor.Uint64, []byte{255, 255, 255, 255, 255, 255, 255, 255}, "18446744073709551615")
	f(tensor.Int8, []byte{255, 127}, "[-1,127]")
	f(tensor.Int16, []byte{0, 128}, "-32768")
	f(tensor.Int64, []byte{255, 255, 255, 255, 255, 255, 255, 255}, "-1")
	f(tensor.FP32, fp32(0.1, 1, -2.5), "[0.10000000149011612,1.0,-2.5]")
	f(tensor.FP32, fp32(1.8521564e31), "1.8521564417127637e31")
	f(tensor.FP32, fp32(float32(math.NaN()), float32(math.Inf(1)), 3), "[null,null,3.0]")
	f(tensor.FP64, fp64(math.Inf(-1)), "null")
	f(tensor.FP64, fp64(1e21, 1e-7, 1.5e-300, 1e20, 0), "[1e21,1e-7,1.5e-300,100000000000000000000.0,0.0]")
	f(tensor.FP16, []byte{0, 0x3c}, "1.0")
	f(tensor.BF16, []byte{0x80, 0x3f, 0x80, 0x7f}, "[1.0,null]")
	f(tensor.Int32, nil, `""`)
	f(tensor.Int32, []byte{1, 0, 0, 0, 9}, "1")
	f(tensor.Bytes, []byte("\x03\x00\x00\x00abc\x03\x00\x00\x00abc"), `"abc\u0003\u0000\u0000\u0000abc"`)
	f(tensor.Bytes, []byte("\x00\x00\x00\x00"), `""`)
	f(tensor.Bytes, []byte("\x05\x00\x00\x00a\xff/\u00e9"), `"a`+"\ufffd"+`/é"`)
	f(tensor.Bytes, []byte("\x08\x00\x00\x00\"\\\b\f\n\r\t\x1f"), `"\"\\\b\f\n\r\t\u001F"`)
	f(tensor.Bytes, []byte("\x01\x00"), `""`)
	f(tensor.JSON, []byte(`{"a":1}`), `"{\"a\":1}"`)
}

func TestUnreadableResponse(t *testing.T) {
	cfg := export.Config{
		Outputs: func([]byte) ([]tensor.Tensor, error) { return nil, errors.New("broken") },
		Names:   []string{"A", "B"},
	}
	got := write(t, cfg, func(w *export.Writer) {
		must(t, w.Begin(plan.Concurrency, 1, 0))
		must(t, w.Request(&record.Record{}, []record.Event{{Size: 100}}, []byte("short")))
	})
	if !strings.Contains(got, `"response_outputs":[{"A":"","B":""}]`) {
		t.Errorf("got %s", got)
	}
}

func TestAbortLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	w, err := export.Create(nil, filepath.Join(dir, "p.json"), export.Config{})
	must(t, err)
	must(t, w.Begin(plan.Concurrency, 1, 0))
	w.Abort()
	w.Abort()
	left, err := os.ReadDir(dir)
	must(t, err)
	if len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestUnwritablePlace(t *testing.T) {
	dir := t.TempDir()
	for _, path := range []string{filepath.Join(dir, "none", "p.json"), dir} {
		if _, err := export.Create(nil, path, export.Config{}); err == nil {
			t.Errorf("%s: no error", path)
		}
	}
	left, err := os.ReadDir(dir)
	must(t, err)
	if len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestInputsAreEncodedOnce(t *testing.T) {
	calls := 0
	cfg := export.Config{Inputs: func(uint32) []tensor.Tensor {
		calls++
		return []tensor.Tensor{{Name: "X", Type: tensor.Int32, Data: ints(1)}}
	}}
	write(t, cfg, func(w *export.Writer) {
		must(t, w.Begin(plan.Concurrency, 1, 0))
		for i := range 100 {
			must(t, w.Request(&record.Record{Step: uint32(i % 2)}, nil, nil))
		}
	})
	if calls != 2 {
		t.Errorf("inputs were asked for %d times", calls)
	}
}

func TestInputCacheIsBounded(t *testing.T) {
	calls := 0
	big := make([]byte, 16<<20) // its JSON, two bytes a value, is larger than the cache
	cfg := export.Config{Inputs: func(uint32) []tensor.Tensor {
		calls++
		return []tensor.Tensor{{Name: "X", Type: tensor.Uint8, Data: big}}
	}}
	w, err := export.Create(nil, filepath.Join(t.TempDir(), "p.json"), cfg)
	must(t, err)
	defer w.Abort()
	must(t, w.Begin(plan.Concurrency, 1, 0))
	for range 2 {
		must(t, w.Request(&record.Record{}, nil, nil))
	}
	if calls != 2 {
		t.Errorf("inputs were asked for %d times", calls)
	}
}

// simpleWriter exports model simple: two inputs and two outputs of 16 numbers.
func simpleWriter(tb testing.TB) (w *export.Writer, one func() error) {
	in := make([]int32, 16)
	for i := range in {
		in[i] = int32(i * 123_456_789)
	}
	data := ints(in...)
	inputs := []tensor.Tensor{{Name: "INPUT0", Type: tensor.Int32, Data: data}, {Name: "INPUT1", Type: tensor.Int32, Data: data}}
	outputs := []tensor.Tensor{{Name: "OUTPUT0", Type: tensor.Int32, Data: data}, {Name: "OUTPUT1", Type: tensor.Int32, Data: data}}
	w, err := export.Create(nil, filepath.Join(tb.TempDir(), "p.json"), export.Config{
		Inputs:  func(uint32) []tensor.Tensor { return inputs },
		Outputs: func([]byte) ([]tensor.Tensor, error) { return outputs, nil },
	})
	if err != nil {
		tb.Fatal(err)
	}
	if err := w.Begin(plan.Concurrency, 1, 0); err != nil {
		tb.Fatal(err)
	}
	rec, events, payload := &record.Record{Sent: 1, End: 2}, []record.Event{{At: 2, Size: 128}}, make([]byte, 128)
	return w, func() error { return w.Request(rec, events, payload) }
}

func TestRequestAllocatesNothing(t *testing.T) {
	w, one := simpleWriter(t)
	defer w.Abort()
	must(t, one())
	if n := testing.AllocsPerRun(1000, func() { _ = one() }); n > 0 {
		t.Errorf("%v allocations a request", n)
	}
}

func BenchmarkRequest(b *testing.B) {
	w, one := simpleWriter(b)
	defer w.Abort()
	b.ReportAllocs()
	for b.Loop() {
		if err := one(); err != nil {
			b.Fatal(err)
		}
	}
}

func FuzzText(f *testing.F) {
	f.Add([]byte("\x03\x00\x00\x00a\xffb"), uint8(tensor.Bytes))
	f.Add([]byte{1, 2, 3, 4, 5, 6, 7, 8}, uint8(tensor.FP64))
	f.Add([]byte{1}, uint8(tensor.Int32)) // not a whole element
	f.Fuzz(func(t *testing.T, raw []byte, typ uint8) {
		value(t, tensor.Datatype(typ%16), raw)
	})
}
