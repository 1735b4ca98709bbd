package rest

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/redline-bench/redline/internal/record"
	"github.com/redline-bench/redline/internal/service"
	"github.com/redline-bench/redline/internal/tensor"
	"github.com/redline-bench/redline/internal/wire"
)

// answered is a reply of status 200 with a JSON part and binary data.
func answered(json, binary string) *wire.Reply {
	return &wire.Reply{Status: 200, Number: int64(len(json)), Body: []byte(json + binary)}
}

func vars(id uint64) *service.Vars { return &service.Vars{HasID: true, ID: id} }

const one = `{"id":"ID","outputs":[{"name":"O","datatype":"INT32","shape":[1],"parameters":{"binary_data_size":4}}]}`

func withID(id string) string { return strings.Replace(one, "ID", id, 1) }

// TestRepeatedReplies: the short way for a JSON part seen before must come to the same verdict as the long one.
func TestRepeatedReplies(t *testing.T) {
	var k checker
	req := &request{}
	f := func(r *wire.Reply, v *service.Vars, want record.Class) {
		t.Helper()
		got := record.OK
		if err := k.check(r, req, v); err != nil {
			got = err.Class
		}
		if got != want {
			t.Errorf("%s for id %d: got %v, want %v", r.Body, v.ID, got, want)
		}
	}
	f(answered(withID("9"), "abcd"), vars(9), record.OK)
	f(answered(withID("10"), "abcd"), vars(10), record.OK)
	f(answered(withID("10"), "abcd"), vars(11), record.Protocol)
	f(answered(withID("11"), "abcd"), vars(11), record.OK)
	f(answered(withID("12"), "abc"), vars(12), record.Protocol)
	f(answered(withID("12"), "abcde"), vars(12), record.Protocol)
	f(answered(withID("12"), "abcd"), vars(12), record.OK)
	f(answered(withID("12"), "abcd"), &service.Vars{}, record.OK) // no id was sent: any will do
	f(answered(withID("x"), "abcd"), &service.Vars{}, record.OK)
	// Servers may leave the id out. An answer that came without one says nothing about the id of the next.
	for _, none := range []string{withID(""), strings.Replace(withID(""), `"id":"",`, "", 1), strings.Replace(withID(""), `"id":""`, `"id":null`, 1)} {
		f(answered(none, "abcd"), vars(1), record.OK)
		f(answered(none, "abcd"), vars(23), record.OK)
		f(answered(none, "abc"), vars(23), record.Protocol)
		f(answered(withID("1"), "abcd"), vars(23), record.Protocol)
	}
	f(answered(withID("7"), "abcd"), &service.Vars{}, record.OK)
	f(answered(withID("7"), "abcd"), vars(8), record.Protocol)
	// The id occurs twice: the place that may change is not known, so each is looked at in full.
	twice := `{"parameters":{"id":"3"},` + withID("3")[1:]
	f(answered(twice, "abcd"), vars(3), record.OK)
	f(answered(strings.Replace(twice, `"3"`, `"4"`, 1), "abcd"), vars(4), record.Protocol)
	f(answered(strings.ReplaceAll(twice, `"3"`, `"4"`), "abcd"), vars(4), record.OK)
	// White space around is fine, anything else is not.
	f(answered(" "+withID("5")+"\n", "abcd"), vars(5), record.OK)
	f(answered(withID("5")+"\x00", "abcd"), vars(5), record.Protocol)
	f(answered(withID("5")+"{}", "abcd"), vars(5), record.Protocol)
}

func TestMalformedReplies(t *testing.T) {
	for _, json := range []string{
		``, `[]`, `1`, `{`, `{}`, `{"outputs":{}}`, `{"outputs":[1]}`, `{"outputs":[{}]}`,
		`{"outputs":[{"name":"O","datatype":"INT32","shape":[1]}]}`,
		`{"outputs":[{"name":"O","datatype":"INT32","shape":[1],"data":{}}]}`,
		`{"outputs":[{"name":1,"datatype":"INT32","shape":[1],"data":[1]}]}`,
		`{"outputs":[{"name":"O","datatype":"INT33","shape":[1],"data":[1]}]}`,
		`{"outputs":[{"name":"O","datatype":"INT32","shape":[-1],"data":[1]}]}`,
		`{"outputs":[{"name":"O","datatype":"INT32","shape":["1"],"data":[1]}]}`,
		`{"outputs":[{"name":"O","datatype":"INT32","shape":[1],"parameters":{"binary_data_size":8}}]}`,
		`{"outputs":[{"name":"O","datatype":"BYTES","shape":[1],"parameters":{"binary_data_size":-8}}]}`,
		`{"outputs":[{"name":"O","datatype":"BYTES","shape":[1],"parameters":{"binary_data_size":18446744073709551615}}]}`,
		`{"outputs":[{"name":"O","datatype":"UINT8","shape":[9999999999,9999999999],"parameters":{"binary_data_size":1}}]}`,
	} {
		var k checker
		if err := k.check(answered(json, ""), &request{}, &service.Vars{}); err == nil || err.Class != record.Protocol {
			t.Errorf("%s: got %v", json, err)
		}
	}
}

func TestExpectations(t *testing.T) {
	const size, differs = string(service.OutputSize), string(service.OutputDiffers)
	inline := `{"outputs":[{"name":"O","datatype":"INT32","shape":[2,1],"data":[[1],[2]]}]}`
	binary := `{"outputs":[{"name":"X","datatype":"UINT8","shape":[1],"parameters":{"binary_data_size":1}},` +
		`{"name":"O","datatype":"INT32","shape":[2],"parameters":{"binary_data_size":8}}]}`
	data := "\x01\x00\x00\x00\x02\x00\x00\x00"
	for name, tc := range map[string]struct {
		r      *wire.Reply
		expect string
		want   string
	}{
		"binary":          {answered(binary, "x"+data), data, ""},
		"binary, differs": {answered(binary, "x"+data), "\x01\x00\x00\x00\x03\x00\x00\x00", differs},
		"binary, short":   {answered(binary, "x"+data), data[:4], size},
		"json":            {answered(inline, ""), data, ""},
		"json, differs":   {answered(inline, ""), data[4:] + data[:4], differs},
		"json, long":      {answered(inline, ""), data + data, size},
		"missing":         {answered(`{"outputs":[]}`, ""), data, size},
	} {
		t.Run(name, func(t *testing.T) {
			var k checker
			req := &request{expect: []tensor.Tensor{{Name: "O", Type: tensor.Int32, Data: []byte(tc.expect)}}}
			for range 3 { // the second time takes the short way
				err := k.check(tc.r, req, &service.Vars{})
				if (err == nil) != (tc.want == "") || err != nil && (err.Error() != tc.want || err.Class != record.Mismatch) {
					t.Fatalf("got %v, want %q", err, tc.want)
				}
			}
		})
	}
}

func TestCheckAllocatesNothing(t *testing.T) {
	inline := `{"id":"7","outputs":[{"name":"OUTPUT0","datatype":"INT32","shape":[1,4],"data":[1,2,3,4]}]}`
	a, b := answered(withID("7"), "abcd"), answered(inline, "")
	req := &request{expect: []tensor.Tensor{}}
	var k checker
	if n := testing.AllocsPerRun(100, func() {
		for _, r := range []*wire.Reply{a, a, b, b} { // each second one is new to the checker
			if err := k.check(r, req, vars(7)); err != nil {
				t.Fatal(err)
			}
		}
	}); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestOutputs(t *testing.T) {
	json := `{"id":"3","outputs":[{"name":"A","datatype":"INT32","shape":[1,2],"parameters":{"binary_data_size":8}},` +
		`{"name":"B","datatype":"BYTES","shape":[2],"data":["x","é"]},{"name":"C","datatype":"BYTES","shape":[1],"parameters":{"binary_data_size":5}}]}`
	body := json + "\x01\x00\x00\x00\x02\x00\x00\x00" + "\x01\x00\x00\x00y"
	p := append([]byte{byte(len(json)), byte(len(json) >> 8), 0, 0}, body...)
	got, err := new(Service).Outputs(p)
	want := []tensor.Tensor{
		{Name: "A", Type: tensor.Int32, Shape: tensor.Shape{1, 2}, Data: []byte("\x01\x00\x00\x00\x02\x00\x00\x00")},
		{Name: "B", Type: tensor.Bytes, Shape: tensor.Shape{2}, Data: []byte("\x01\x00\x00\x00x\x02\x00\x00\x00é")},
		{Name: "C", Type: tensor.Bytes, Shape: tensor.Shape{1}, Data: []byte("\x01\x00\x00\x00y")},
	}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v, -want +got:\n%s", err, diff)
	}
	for _, bad := range [][]byte{nil, {1}, {9, 0, 0, 0, '{', '}'}, p[:len(p)-1], append(bytes.Clone(p), 0), {2, 0, 0, 0, '{', '}'}} {
		if _, err := new(Service).Outputs(bad); err == nil {
			t.Errorf("%q: no error", bad)
		}
	}
}

// FuzzReply checks that no reply makes the checker panic, that a second look at the same reply, which may take
// the short way, agrees with the first, and that what is accepted can be decoded.
func FuzzReply(f *testing.F) {
	f.Add([]byte(withID("7")+"abcd"), int64(len(withID("7"))), uint64(7))
	f.Add([]byte(`{"outputs":[{"name":"O","datatype":"BYTES","shape":[1],"data":["a"]}]}`), int64(-1), uint64(0))
	f.Add([]byte(`{"error":"x"}`), int64(-1), uint64(0))
	f.Add([]byte("{\"outputs\":[]}\x00"), int64(14), uint64(0))
	f.Fuzz(func(t *testing.T, body []byte, number int64, id uint64) {
		r := &wire.Reply{Status: 200, Number: max(number, -1), Body: body}
		v := &service.Vars{HasID: id != 0, ID: id}
		var k checker
		first := k.check(r, &request{}, v)
		second := k.check(r, &request{}, v)
		if (first == nil) != (second == nil) {
			t.Fatalf("first %v, then %v", first, second)
		}
		if first != nil {
			return
		}
		for _, o := range k.outputs {
			if o.at < 0 || o.size < 0 || o.at+o.size > len(body) {
				t.Fatalf("output at %d+%d of %d", o.at, o.size, len(body))
			}
		}
		// A different id must not pass.
		if id != 0 && k.check(r, &request{}, vars(id+1)) == nil {
			t.Fatal("another id passes")
		}
	})
}
