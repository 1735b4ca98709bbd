package workload_test

import (
	"encoding/binary"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/service"
	"github.com/redline-bench/redline/internal/tensor"
	"github.com/redline-bench/redline/internal/workload"
)

func said(err error) string { return err.Error() }

func TestFileErrors(t *testing.T) {
	f := func(m *service.Model, want string, texts ...string) {
		t.Helper()
		_, err := workload.Load(fromJSON(t, texts...), m)
		var e *workload.DataError
		if !errors.As(err, &e) || said(err) != want {
			t.Errorf("%s\n got %v\nwant %s", texts, err, want)
		} else if e.Path == "" {
			t.Errorf("%s: path %q", texts, e.Path)
		}
	}
	i32 := model(tensor.Int32, 2)
	f(i32, `the file has no "data": write {"data": [...]}`, `{}`)
	f(i32, `the file has no "data": write {"data": [...]}`, `[]`)
	f(i32, `"data" must be a list of objects, each with the inputs of one request by name, or a list of such lists`, `{"data":5}`)
	f(i32, `"data" must be a list of objects, each with the inputs of one request by name, or a list of such lists`, `{"data":[5]}`)
	f(i32, `"data" must be a list of objects, each with the inputs of one request by name, or a list of such lists`, `{"data":[{"IN":1}]}`)
	f(i32, `"data" must be a list of objects, each with the inputs of one request by name, or a list of such lists`, `{"data":[{"IN":"x"}]}`)
	f(i32, "the data of IN must have 8 bytes, but it has 12", `{"data":[{"IN":[1,2,3]}]}`)
	f(i32, "the data of IN must have 8 bytes, but it has 0", `{"data":[{"IN":[]}]}`)
	f(i32, "the data of IN must have 8 bytes, but it has 4", `{"data":[{"IN":{"b64":"AQAAAA=="}}]}`)
	f(i32, "element 0 does not fit the datatype INT32", `{"data":[{"IN":[[1],[2]]}]}`)
	f(i32, `"shape" must be a list of whole numbers`, `{"data":[{"IN":{"content":[1,2],"shape":[1.5]}}]}`)
	f(i32, `"shape" must be a list of whole numbers`, `{"data":[{"IN":{"content":[1,2],"shape":[4294967296]}}]}`)
	f(i32, `"shape" must be a list of whole numbers`, `{"data":[{"IN":{"content":[1,2],"shape":5}}]}`)
	f(i32, "the shape [1,2] does not fit input IN, which has the shape [2]", `{"data":[{"IN":{"content":[1,2],"shape":[1,2]}}]}`)
	f(i32, "the shape [3] does not fit input IN, which has the shape [2]", `{"data":[{"IN":{"b64":"AQAAAAIAAAA=","shape":[3]}}]}`)
	f(i32, `input IN has the variable shape [2]: add "shape" to its data, or use --shape`, `{"data":[{"IN":{"content":[1,2],"shape":[-1]}}]}`)
	f(i32, `a tensor in step 0 of stream 0 has neither "content" nor "b64"`, `{"data":[{"IN":{"shape":[2]}}]}`)
	f(i32, `"b64" in step 0 of stream 0 must be a string`, `{"data":[{"IN":{"b64":1}}]}`)
	f(i32, `"b64" in step 1 of stream 0 must be a string`, `{"data":[{"IN":[1,2]},{"IN":{"content":{"b64":1}}}]}`)
	f(i32, `a tensor in step 0 of stream 0 must be a list of values, or {"b64": "..."}`, `{"data":[{"IN":{"content":{"x":1}}}]}`)
	f(i32, `a tensor in step 0 of stream 0 must be a list of values, or {"b64": "..."}`, `{"data":[{"IN":{"content":5}}]}`)
	f(i32, "the data of IN must have 8 bytes, but it has 2", `{"data":[{"IN":{"b64":"AQA#"}}]}`)
	f(i32, "the data of IN must have 8 bytes, but it has 3", `{"data":[{"IN":{"b64":"AQAAA"}}]}`)
	f(i32, "the shape [] does not fit input IN, which has the shape [2]", `{"data":[{"IN":{"content":[1,2],"shape":null}}]}`)
	f(i32, "there is no tensor IN in step 0 of stream 0", `{"data":[null]}`)
	f(i32, "there is no tensor OUT in step 0 of stream 0", `{"data":[{"IN":[1,2]}],"validation_data":[null]}`)
	f(i32, `"data" must be a list of objects, each with the inputs of one request by name, or a list of such lists`, `{"data":{"IN":[1,2]}}`)
	f(i32, `the model has no input or output "X"`, `{"data":[{"IN":[1,2],"X":[1]}]}`)
	f(i32, "there is no tensor IN in step 0 of stream 0", `{"data":[{"X":[1]}]}`)
	f(i32, "there is no tensor IN in step 1 of stream 0", `{"data":[{"IN":[1,2]},[{"IN":[1,2]}]]}`)
	f(i32, "there is no tensor IN in step 0 of stream 1", `{"data":[[{"IN":[1,2]}],[{}]]}`)
	f(i32, "there is no tensor IN in step 1 of stream 1", `{"data":[[{"IN":[1,2]}]]}`, `{"data":[[{"IN":[1,2]},{}]]}`)
	const mixed = `"data" has both objects and lists: write objects for one stream, or lists for several`
	f(i32, mixed, `{"data":[[{"IN":[1,2]}],{"IN":[1,2]}]}`)
	f(i32, mixed, `{"data":[{"IN":[1,2]}]}`, `{"data":[[{"IN":[1,2]}]]}`)
	const misaligned = `"validation_data" must have one entry for each entry of "data"`
	f(i32, misaligned, `{"data":[{"IN":[1,2]}],"validation_data":[]}`)
	f(i32, misaligned, `{"data":[{"IN":[1,2]}],"validation_data":5}`)
	f(i32, misaligned, `{"data":[[{"IN":[1,2]}]],"validation_data":[{"OUT":[1,2]}]}`)
	f(i32, misaligned, `{"data":[[{"IN":[1,2]}]],"validation_data":[[]]}`)
	f(i32, "there is no tensor OUT in step 0 of stream 0", `{"data":[{"IN":[1,2]}],"validation_data":[{}]}`)
	f(i32, "the data of OUT must have 8 bytes, but it has 4", `{"data":[{"IN":[1,2]}],"validation_data":[{"OUT":[1]}]}`)
	f(i32, `the model has no input or output "Y"`, `{"data":[{"IN":[1,2]}],"validation_data":[{"OUT":[1,2],"Y":[1]}]}`)
	f(pair(false, false), "there is no tensor A in step 0 of stream 0", `{"data":[{}]}`)
	f(pair(true, false), "there is no tensor B in step 0 of stream 0", `{"data":[{"A":[1,2]}]}`)

	dyn := model(tensor.FP32, -1)
	f(dyn, `input IN has the variable shape [-1]: add "shape" to its data, or use --shape`, `{"data":[{"IN":[1.0]}]}`)
	f(dyn, "the shape [1,1] does not fit input IN, which has the shape [-1]", `{"data":[{"IN":{"content":[1.0],"shape":[1,1]}}]}`)
	f(dyn, "the shape [1,1] does not fit input OUT, which has the shape [-1]",
		`{"data":[{"IN":{"content":[1.0],"shape":[1]}}],"validation_data":[{"OUT":{"content":[1.0],"shape":[1,1]}}]}`)
}

func TestNoSteps(t *testing.T) {
	for _, text := range []string{`{"data":[]}`, `{"data":[[],[]]}`, `{"data":null}`, `{"data":{},"validation_data":null}`} {
		d, err := workload.Load(fromJSON(t, text), model(tensor.Int32, 2))
		if !errors.Is(err, workload.ErrNoSteps) || said(err) != "there is no data for input IN" || d.Steps(0) != 0 {
			t.Errorf("%s: got %v", text, err)
		}
	}
	uneven := `{"data":[[],[{"IN":[1,2]}]]}`
	d := load(t, fromJSON(t, uneven), model(tensor.Int32, 2))
	if _, err := workload.Prepare(t.Context(), &fake{}, d); err == nil || said(err) != "there is no data for input IN" {
		t.Errorf("an empty first stream: got %v", err)
	}
	m := model(tensor.Int32, 2)
	m.Scheduler = service.SequenceBatcher
	if _, err := workload.Load(fromJSON(t, uneven), m); err == nil {
		t.Error("an empty stream was accepted for sequences")
	}
}

func TestUnreadable(t *testing.T) {
	in := fromJSON(t, `{ this is not json`)
	_, err := workload.Load(in, model(tensor.Int32, 2))
	var e *workload.DataError
	if !errors.As(err, &e) || !strings.HasPrefix(said(err), "not valid JSON at byte 2") || e.Path != in.Paths[0] {
		t.Errorf("got %+v", err)
	}
	in.Paths[0] += "x"
	if _, err := workload.Load(in, model(tensor.Int32, 2)); !errors.Is(err, os.ErrNotExist) || !strings.HasPrefix(said(err), "the file cannot be read") {
		t.Errorf("got %v", err)
	}
}

func TestShapeOption(t *testing.T) {
	in := fromJSON(t, `{"data":[{"IN":{"content":[1.0],"shape":[1]}}]}`)
	in.Shapes = map[string][]int64{"IN": {2}}
	const want = "the shape [1] does not fit input IN, which has the shape [2]"
	if _, err := workload.Load(in, model(tensor.FP32, -1)); err == nil || said(err) != want {
		t.Errorf("got %v", err)
	}
	in.Shapes["IN"] = []int64{1, 1} // another rank is let through
	in.Paths = fromJSON(t, `{"data":[{"IN":[1]}]}`).Paths
	_, got := prepare(t, load(t, in, model(tensor.FP32, -1)))
	if d := cmp.Diff(tensor.Shape{1, 1, 1}, got[0].Tensors[0].Shape); d != "" {
		t.Error(d)
	}
	in = plan.Input{Batch: 1, Source: plan.Zero, Shapes: map[string][]int64{"IN": {7}}} // the model's shape is fixed
	_, got = prepare(t, load(t, in, model(tensor.FP32, 3)))
	if d := cmp.Diff(tensor.Shape{1, 3}, got[0].Tensors[0].Shape); d != "" {
		t.Error(d)
	}
}

func TestFileForms(t *testing.T) {
	f := func(text string, want []byte) {
		t.Helper()
		_, got := prepare(t, load(t, fromJSON(t, `{"data":[`+text+`]}`), model(tensor.Int32, 2)))
		if d := cmp.Diff([]tensor.Tensor{{Name: "IN", Type: tensor.Int32, Shape: tensor.Shape{1, 2}, Data: want}}, got[0].Tensors); d != "" {
			t.Errorf("%s: %s", text, d)
		}
	}
	f(`{"IN":[1,-2]}`, ints(1, -2))
	f(`{"IN":[1,2],"IN":[3]}`, ints(1, 2))
	f(`{"IN":[1,2],"model":"any"}`, ints(1, 2))
	f(`{"I\u004e":{"shape":[2],"content":[1,2]}}`, ints(1, 2))
	f(`{"IN":{"b64":"AQAAAAIAAAA="}}`, ints(1, 2))
	f(`{"IN":{"b64":"AQAA AAI\nAAAA"}}`, ints(1, 2))
	f(`{"IN":{"content":{"b64":"AQAAAAIAAAA="},"shape":[2]}}`, ints(1, 2))
}

func TestStreamsAndSteps(t *testing.T) {
	f := func(streams, steps int, texts ...string) {
		t.Helper()
		d := load(t, fromJSON(t, texts...), model(tensor.Int32, 1))
		if !d.FromJSON || d.Streams() != streams || d.Steps(0) != steps {
			t.Errorf("%s: %d streams, %d steps, want %d and %d", texts, d.Streams(), d.Steps(0), streams, steps)
		}
	}
	f(1, 2, `{"data":[{"IN":[1]},{"IN":[2]}]}`)
	f(1, 3, `{"data":[{"IN":[1]},{"IN":[2]}]}`, `{"data":[{"IN":[3]}]}`)
	f(1, 2, `{"data":[{"IN":[1]},{"IN":[2]}]}`, `{"data":[]}`)
	f(3, 2, `{"data":[[{"IN":[1]},{"IN":[2]}]]}`, `{"other":0,"data":[[{"IN":[3]}],[{"IN":[4]}]]}`)
	if d := load(t, plan.Input{Source: plan.Zero}, model(tensor.Int32, 1)); d.FromJSON || d.Streams() != 1 || d.Steps(0) != 1 {
		t.Error("zero data is one step of one stream that is not announced")
	}
}

func TestDirectory(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	f := func(m *service.Model, want string) {
		t.Helper()
		_, err := workload.Load(plan.Input{Source: plan.Directory, Paths: []string{dir}}, m)
		if err == nil || said(err) != want {
			t.Errorf("got %v\nwant %s", err, want)
		}
	}
	i32, str := model(tensor.Int32, 2), model(tensor.Bytes, 2)
	f(i32, "the file "+dir+"/IN cannot be opened")
	write("IN", "")
	f(i32, "the file "+dir+"/IN is empty")
	f(str, "the file "+dir+"/IN is empty")
	write("IN", "1234567")
	f(i32, "the data of input IN has 7 bytes, but the model needs 8")
	f(str, "the data of input IN has 1 elements, but the model needs 2")
	f(model(tensor.Int32, -1), "input IN has a variable shape: give its dimensions with --shape")
	f(pair(true, false), "the file IN has the name of no input or output of the model: rename or remove it")
	write("OUT", "12345")
	write("IN", "12345678")
	f(i32, "the data of output OUT has 5 bytes, but the model needs 8")
	write(".hidden", "x")
	f(i32, "the file .hidden has the name of no input or output of the model: rename or remove it")
	dir = filepath.Join(dir, "none")
	f(i32, "the folder "+dir+" cannot be read")
}

func TestDirectoryData(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"IN": "a\r\nb\n", "OUT": "one\n\ntwo"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	m := model(tensor.Bytes, 2)
	m.Outputs[0].Shape = tensor.Shape{-1}
	d := load(t, plan.Input{Batch: 2, Source: plan.Directory, Paths: []string{dir}}, m)
	_, got := prepare(t, d)
	frame := func(words ...string) (raw []byte) {
		for _, w := range words {
			raw = tensor.AppendElement(raw, w)
		}
		return raw
	}
	want := []service.Inputs{{
		Tensors: []tensor.Tensor{{Name: "IN", Type: tensor.Bytes, Shape: tensor.Shape{2, 2}, Data: frame("a\r", "b", "a\r", "b")}},
		Outputs: []string{"OUT"},
		Expect:  []tensor.Tensor{{Name: "OUT", Type: tensor.Bytes, Data: frame("one", "", "two", "one", "", "two")}},
	}}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestGenerated(t *testing.T) {
	types := []tensor.Datatype{
		tensor.Bool, tensor.Uint8, tensor.Uint16, tensor.Uint32, tensor.Uint64, tensor.Int8, tensor.Int16, tensor.Int32, tensor.Int64,
		tensor.FP16, tensor.FP32, tensor.FP64, tensor.BF16, tensor.Bytes,
	}
	for _, dt := range types {
		m := model(dt, 100)
		m.Inputs = append(m.Inputs, spec("IN2", dt, 100))
		in := plan.Input{Batch: 1, Source: plan.Random, StringLength: 16, Seed: 7}
		_, got := prepare(t, load(t, in, m))
		_, again := prepare(t, load(t, in, m))
		if d := cmp.Diff(got, again); d != "" {
			t.Errorf("%s: the same seed gives other data", dt)
		}
		a, b := got[0].Tensors[0].Data, got[0].Tensors[1].Data
		if string(a) == string(b) {
			t.Errorf("%s: both inputs have the same data", dt)
		}
		text, err := tensor.AppendJSON(nil, dt, a)
		if err != nil || strings.Contains(string(text), "null") {
			t.Errorf("%s: not a finite tensor: %v", dt, err)
		}
		if dt == tensor.Bool && strings.Trim(string(a), "\x00\x01") != "" {
			t.Errorf("booleans other than 0 and 1: %v", a)
		}
		in.Seed++
		if _, other := prepare(t, load(t, in, m)); string(other[0].Tensors[0].Data) == string(a) {
			t.Errorf("%s: another seed gives the same data", dt)
		}
		in.Source = plan.Zero
		_, zero := prepare(t, load(t, in, m))
		isZero := strings.Trim(string(zero[0].Tensors[0].Data), "\x00") == ""
		if isZero == (dt == tensor.Bytes) {
			t.Errorf("%s: all zero is %v", dt, isZero)
		}
	}
}

func TestGeneratedStrings(t *testing.T) {
	in := plan.Input{Batch: 1, Source: plan.Random, StringLength: 300}
	_, got := prepare(t, load(t, in, model(tensor.Bytes, 2)))
	data := got[0].Tensors[0].Data
	if len(data) != 2*304 || binary.LittleEndian.Uint32(data) != 300 {
		t.Fatalf("%d bytes", len(data))
	}
	const alphabet = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ1234567890 .?!"
	if rest := strings.Trim(string(data[4:304]), alphabet); rest != "" {
		t.Errorf("outside of the alphabet: %q", rest)
	}
	in.StringData = "hi"
	_, got = prepare(t, load(t, in, model(tensor.Bytes, 2)))
	if want := "\x02\x00\x00\x00hi\x02\x00\x00\x00hi"; string(got[0].Tensors[0].Data) != want {
		t.Errorf("got %q", got[0].Tensors[0].Data)
	}
}

func TestGeneratedErrors(t *testing.T) {
	f := func(m *service.Model, want string) {
		t.Helper()
		_, err := workload.Load(plan.Input{Source: plan.Random, StringLength: 8}, m)
		if err == nil || said(err) != want {
			t.Errorf("got %v\nwant %s", err, want)
		}
	}
	f(model(tensor.FP32, -1), "input IN has a variable shape: give its dimensions with --shape")
	f(model(tensor.Bytes, 2, -1), "input IN has a variable shape: give its dimensions with --shape")
	f(pair(false, true), "no data can be made for the shape tensor A: give it with --input-data")
	f(model(tensor.JSON, 1), "no data can be made for input IN of type JSON: give it with --input-data")
	huge := "is too large: more than 16 GiB of data would be generated"
	f(model(tensor.FP32, math.MaxInt32, math.MaxInt32, 8), "input IN with shape [2147483647,2147483647,8] "+huge)
	f(model(tensor.Bytes, math.MaxInt64), "input IN with shape [9223372036854775807] "+huge)
}

// FuzzFile feeds any text to the reader: it must answer with data that can be prepared, or with an error.
func FuzzFile(f *testing.F) {
	for _, s := range []string{
		`{"data":[{"A":[1,2],"B":{"content":[1,2],"shape":[2]}}],"validation_data":[{"O1":[1,2],"O2":{"b64":"AAAA"}}]}`,
		`{"data":[[{"A":[1,2],"B":{"b64":"AQAAAAIAAAA="}}],[]]}`, `{"data":[5]}`, `{"data":{}}`, `[`,
	} {
		f.Add([]byte(s))
	}
	path := filepath.Join(f.TempDir(), "data.json")
	f.Fuzz(func(t *testing.T, text []byte) {
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		for _, m := range []*service.Model{pair(true, true), model(tensor.Bytes, -1)} {
			d, err := workload.Load(plan.Input{Batch: 2, Source: plan.JSONFiles, Paths: []string{path}}, m)
			if err != nil {
				var e *workload.DataError
				if !errors.As(err, &e) || e.Error() == "" {
					t.Fatalf("%q: %v", text, err)
				}
				continue
			}
			r, err := workload.Prepare(t.Context(), &fake{}, d)
			if err == nil && len(r.Inputs(uint32(r.Len()-1))) > len(m.Inputs) {
				t.Fatalf("%q: too many tensors", text)
			}
		}
	})
}
