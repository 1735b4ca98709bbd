package tensor_test

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/redline-bench/redline/internal/tensor"
	"github.com/redline-bench/redline/internal/tensor/jsonscan"
)

func TestElements(t *testing.T) {
	var data []byte
	want := []string{"hello", "", "a\x00b"}
	for _, s := range want {
		data = tensor.AppendElement(data, s)
	}
	var got []string
	for rest := data; len(rest) > 0; {
		elem, next, err := tensor.NextElement(rest)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, string(elem))
		rest = next
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	for _, bad := range [][]byte{data[:len("hello")], {1, 0, 0}, {255, 255, 255, 255, 1}} {
		if _, _, err := tensor.NextElement(bad); !errors.Is(err, tensor.ErrFraming) {
			t.Errorf("%v: got %v", bad, err)
		}
	}
}

func TestPack(t *testing.T) {
	f := func(got []byte, want string) {
		t.Helper()
		if string(got) != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	f(tensor.Pack(tensor.Bool, []bool{true, false}), "\x01\x00")
	f(tensor.Pack(tensor.Int8, []int32{-1, 2, 300}), "\xff\x02\x2c")
	f(tensor.Pack(tensor.Uint16, []uint32{1, 0x10002}), "\x01\x00\x02\x00")
	f(tensor.Pack(tensor.BF16, []int32{0x3f80}), "\x80\x3f")
	f(tensor.Pack(tensor.Int64, []int64{-2}), "\xfe\xff\xff\xff\xff\xff\xff\xff")
	f(tensor.Pack(tensor.FP32, []float32{1}), "\x00\x00\x80\x3f")
	f(tensor.Pack(tensor.FP64, []float64(nil)), "")
	f(tensor.PackBytes([][]byte{[]byte("ab"), nil}), "\x02\x00\x00\x00ab\x00\x00\x00\x00")
}

func TestAppendQuoted(t *testing.T) {
	f := func(text, want string) {
		t.Helper()
		if got := string(tensor.AppendQuoted([]byte("x"), text)); got != "x"+want {
			t.Errorf("%q: got %s, want x%s", text, got, want)
		}
	}
	f("", `""`)
	f("plain é \x7f", "\"plain é \x7f\"")
	f("\"\\\b\f\n\r\t\x1f", `"\"\\\b\f\n\r\t\u001F"`)
	f("a\xffb\xe2\x82", "\"a\ufffdb\ufffd\ufffd\"")
	f("\ufffd", "\"\ufffd\"")
}

func TestAppendRaw(t *testing.T) {
	le := binary.LittleEndian
	f := func(dt tensor.Datatype, text string, want []byte) {
		t.Helper()
		got, err := tensor.AppendRaw([]byte("x"), dt, []byte(text))
		if err != nil {
			t.Errorf("%s %s: %v", dt, text, err)
			return
		}
		if d := cmp.Diff(append([]byte("x"), want...), got); d != "" {
			t.Errorf("%s %s: %s", dt, text, d)
		}
	}
	f32 := func(v float64) []byte { return le.AppendUint32(nil, math.Float32bits(float32(v))) }
	f(tensor.Bool, "[true, false]", []byte{1, 0})
	f(tensor.Uint8, "[255, 257]", []byte{255, 1})
	f(tensor.Int8, "[-1, 300]", []byte{255, 44})
	f(tensor.Uint16, "[1, 65537]", []byte{1, 0, 1, 0})
	f(tensor.Int16, "[-2]", []byte{254, 255})
	f(tensor.Uint32, "[4294967295]", []byte{255, 255, 255, 255})
	f(tensor.Int32, "[-2147483648]", []byte{0, 0, 0, 128})
	f(tensor.Uint64, "[18446744073709551615]", bytes.Repeat([]byte{255}, 8))
	f(tensor.Int64, "[-1]", bytes.Repeat([]byte{255}, 8))
	f(tensor.FP32, "[1, 1.5]", append(f32(1), f32(1.5)...))
	f(tensor.FP32, "[-Inf, 1e39]", append(f32(math.Inf(-1)), f32(math.Inf(1))...))
	f(tensor.FP64, "[Infinity, -0.25]", le.AppendUint64(le.AppendUint64(nil, math.Float64bits(math.Inf(1))), math.Float64bits(-0.25)))
	f(tensor.Bytes, `["a\u0000b", "été", ""]`, []byte("\x03\x00\x00\x00a\x00b\x05\x00\x00\x00été\x00\x00\x00\x00"))
	f(tensor.JSON, `[ {"a" : [1, 2.50], "b":" "} ]`, []byte(`{"a":[1,2.50],"b":" "}`))
	f(tensor.Int32, "[]", nil)
	nan, err := tensor.AppendRaw(nil, tensor.FP32, []byte("[NaN]"))
	if v := math.Float32frombits(le.Uint32(nan)); err != nil || v == v {
		t.Errorf("NaN became %v, %v", v, err)
	}
}

func TestAppendRawErrors(t *testing.T) {
	f := func(dt tensor.Datatype, text, want string) {
		t.Helper()
		got, err := tensor.AppendRaw([]byte("x"), dt, []byte(text))
		if err == nil || err.Error() != want {
			t.Errorf("%s %s: got error %v, want %s", dt, text, err, want)
		}
		if string(got) != "x" {
			t.Errorf("%s %s: the destination changed to %q", dt, text, got)
		}
	}
	f(tensor.Bool, "[1]", "element 0 does not fit the datatype BOOL")
	f(tensor.Uint8, "[1, -1]", "element 1 does not fit the datatype UINT8")
	f(tensor.Uint16, "[1.0]", "element 0 does not fit the datatype UINT16")
	f(tensor.Uint32, "[4294967296]", "element 0 does not fit the datatype UINT32")
	f(tensor.Uint64, "[-1]", "element 0 does not fit the datatype UINT64")
	f(tensor.Int8, "[2147483648]", "element 0 does not fit the datatype INT8")
	f(tensor.Int16, `["1"]`, "element 0 does not fit the datatype INT16")
	f(tensor.Int32, "[[1]]", "element 0 does not fit the datatype INT32")
	f(tensor.Int64, "[9223372036854775808]", "element 0 does not fit the datatype INT64")
	f(tensor.FP32, "[null]", "element 0 does not fit the datatype FP32")
	f(tensor.FP64, "[true]", "element 0 does not fit the datatype FP64")
	f(tensor.Bytes, "[1]", "element 0 does not fit the datatype BYTES")
	f(tensor.FP16, "[1.0]", `FP16 values cannot be written as JSON numbers: use "b64"`)
	f(tensor.BF16, "[1.0]", `BF16 values cannot be written as JSON numbers: use "b64"`)
	f(tensor.JSON, "[]", "an input of JSON takes one value")
	f(tensor.JSON, "[{}, {}]", "an input of JSON takes one value")
	f(tensor.Invalid, "[1]", "element 0 does not fit the datatype INVALID")
	f(tensor.Int32, "{}", tensor.ErrNotArray.Error())
	var syntax *jsonscan.SyntaxError
	if _, err := tensor.AppendRaw(nil, tensor.Int32, []byte("[1 2]")); !errors.As(err, &syntax) {
		t.Errorf("got %v, want a syntax error", err)
	}
	var value *tensor.ValueError
	if _, err := tensor.AppendRaw(nil, tensor.Int32, []byte("[1,2,x]")); errors.As(err, &value) {
		t.Errorf("got %v, want no value error", err)
	}
	if _, err := tensor.AppendRaw(nil, tensor.Int32, []byte("[1,2,1.5]")); !errors.As(err, &value) || value.Index != 2 {
		t.Errorf("got %v, want the place of the element", err)
	}
}

func TestAppendNested(t *testing.T) {
	got, err := tensor.AppendNested(nil, tensor.Uint8, []byte("[[1,2],[[3],[4]],5]"))
	if err != nil || !bytes.Equal(got, []byte{1, 2, 3, 4, 5}) {
		t.Errorf("got %v, %v", got, err)
	}
	var value *tensor.ValueError
	if _, err := tensor.AppendNested(nil, tensor.Uint8, []byte("[[1],[true]]")); !errors.As(err, &value) || value.Index != 1 {
		t.Errorf("got %v", err)
	}
	deep := strings.Repeat("[", 100) + strings.Repeat("]", 100)
	if _, err := tensor.AppendNested(nil, tensor.Uint8, []byte(deep)); err == nil {
		t.Error("a hundred levels were accepted")
	}
}

func TestAppendJSON(t *testing.T) {
	le := binary.LittleEndian
	f := func(dt tensor.Datatype, raw []byte, want string) {
		t.Helper()
		got, err := tensor.AppendJSON(nil, dt, raw)
		if err != nil || string(got) != want {
			t.Errorf("%s: got %s, %v, want %s", dt, got, err, want)
		}
	}
	f32 := func(vs ...float32) (raw []byte) {
		for _, v := range vs {
			raw = le.AppendUint32(raw, math.Float32bits(v))
		}
		return raw
	}
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	f(tensor.Bool, []byte{0, 1, 7}, "[false,true,true]")
	f(tensor.Int8, []byte{255, 1}, "[-1,1]")
	f(tensor.Uint8, []byte{255, 1}, "[255,1]")
	f(tensor.Int16, []byte{254, 255}, "[-2]")
	f(tensor.Uint16, []byte{254, 255}, "[65534]")
	f(tensor.Int32, []byte{0, 0, 0, 128}, "[-2147483648]")
	f(tensor.Uint32, []byte{0, 0, 0, 128}, "[2147483648]")
	f(tensor.Int64, bytes.Repeat([]byte{255}, 8), "[-1]")
	f(tensor.Uint64, bytes.Repeat([]byte{255}, 8), "[18446744073709551615]")
	f(tensor.FP32, f32(1, 0.1, nan, -inf, 1e30, 1e-10, 0), "[1.0,0.1,null,null,1e+30,1e-10,0.0]")
	f(tensor.FP64, le.AppendUint64(nil, math.Float64bits(0.1)), "[0.1]")
	f(tensor.FP16, le.AppendUint16(nil, tensor.FP16FromFloat32(1.5)), "[1.5]")
	f(tensor.BF16, le.AppendUint16(nil, tensor.BF16FromFloat32(-2)), "[-2.0]")
	f(tensor.Bytes, tensor.AppendElement(tensor.AppendElement(nil, "é\"\\\n\x01"), []byte{0xff, 'a'}), "[\"é\\\"\\\\\\n\\u0001\",\"\ufffda\"]")
	f(tensor.JSON, []byte(`{"a": 1}`), `[{"a":1}]`)
	f(tensor.JSON, []byte(`{"a": [NaN]}`), `["{\"a\": [NaN]}"]`)
	f(tensor.Int32, nil, "[]")
	for _, dt := range []tensor.Datatype{tensor.Int32, tensor.Bytes, tensor.Invalid} {
		if got, err := tensor.AppendJSON([]byte("x"), dt, []byte{1, 2, 3}); err == nil || string(got) != "x" {
			t.Errorf("%s: got %s, %v", dt, got, err)
		}
	}
}

func TestHalf(t *testing.T) {
	for h := range 1 << 16 {
		h := uint16(h)
		v := tensor.Float32FromFP16(h)
		if back := tensor.FP16FromFloat32(v); back != h && v == v {
			t.Fatalf("FP16 %#04x is %g, which is %#04x", h, v, back)
		}
		w := tensor.Float32FromBF16(h)
		if back := tensor.BF16FromFloat32(w); back != h && w == w {
			t.Fatalf("BF16 %#04x is %g, which is %#04x", h, w, back)
		}
	}
	f := func(v float32, half, brain uint16) {
		t.Helper()
		if got := tensor.FP16FromFloat32(v); got != half {
			t.Errorf("FP16 of %g: %#04x, want %#04x", v, got, half)
		}
		if got := tensor.BF16FromFloat32(v); got != brain {
			t.Errorf("BF16 of %g: %#04x, want %#04x", v, got, brain)
		}
	}
	f(1, 0x3c00, 0x3f80)
	f(-2, 0xc000, 0xc000)
	f(65504, 0x7bff, 0x4780)
	f(65520, 0x7c00, 0x4780) // half way to the next: rounds to infinity
	f(float32(math.Inf(-1)), 0xfc00, 0xff80)
	f(1+1.0/2048, 0x3c00, 0x3f80) // a tie goes to the even neighbor
	f(1+3.0/2048, 0x3c02, 0x3f80)
	f(0x1p-24, 0x0001, 0x3380)
	f(0x1p-25, 0x0000, 0x3300)
	f(0x1.8p-25, 0x0001, 0x3340)
	if v := tensor.Float32FromFP16(tensor.FP16FromFloat32(float32(math.NaN()))); v == v {
		t.Error("FP16 lost NaN")
	}
	if v := tensor.Float32FromBF16(tensor.BF16FromFloat32(math.Float32frombits(0x7f800001))); v == v {
		t.Error("BF16 lost NaN")
	}
}

func TestSlice(t *testing.T) {
	f := func(in tensor.Tensor, i int, want tensor.Tensor) {
		t.Helper()
		got, err := in.Slice(i)
		if err != nil {
			t.Error(err)
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Error(d)
		}
	}
	f(tensor.Tensor{Name: "a", Type: tensor.Int16, Shape: tensor.Shape{2, 2}, Data: []byte{1, 0, 2, 0, 3, 0, 4, 0}}, 1,
		tensor.Tensor{Name: "a", Type: tensor.Int16, Shape: tensor.Shape{2}, Data: []byte{3, 0, 4, 0}})
	var words []byte
	for _, w := range []string{"a", "bc", "", "def"} {
		words = tensor.AppendElement(words, w)
	}
	f(tensor.Tensor{Type: tensor.Bytes, Shape: tensor.Shape{2, 2}, Data: words}, 1,
		tensor.Tensor{Type: tensor.Bytes, Shape: tensor.Shape{2}, Data: tensor.AppendElement(tensor.AppendElement(nil, ""), "def")})
	for _, bad := range []tensor.Tensor{
		{Type: tensor.Int8, Shape: tensor.Shape{}, Data: []byte{1}},
		{Type: tensor.Int8, Shape: tensor.Shape{1, 2}, Data: []byte{1, 2}},
		{Type: tensor.Int8, Shape: tensor.Shape{2, 2}, Data: []byte{1, 2}},
		{Type: tensor.Bytes, Shape: tensor.Shape{2, 3}, Data: words},
		{Type: tensor.JSON, Shape: tensor.Shape{2}, Data: words},
	} {
		if got, err := bad.Slice(1); err == nil {
			t.Errorf("%+v: got %+v", bad, got)
		}
	}
}

func TestByteSize(t *testing.T) {
	f := func(dt tensor.Datatype, s tensor.Shape, want int64) {
		t.Helper()
		if got := tensor.ByteSize(dt, s); got != want {
			t.Errorf("%s %s: %d, want %d", dt, s, got, want)
		}
	}
	f(tensor.FP32, tensor.Shape{2, 3}, 24)
	f(tensor.FP32, nil, 4)
	f(tensor.FP32, tensor.Shape{2, -1}, -1)
	f(tensor.FP32, tensor.Shape{0, 5}, 0)
	f(tensor.Bytes, tensor.Shape{2}, -1)
	f(tensor.FP32, tensor.Shape{math.MaxInt64, math.MaxInt64}, math.MaxInt64)
}

func TestAllocations(t *testing.T) {
	text := []byte(`[1.5,-2,3e4,NaN]`)
	raw, err := tensor.AppendRaw(nil, tensor.FP32, text)
	if err != nil {
		t.Fatal(err)
	}
	words := tensor.AppendElement(tensor.AppendElement(nil, "é"), "plain")
	dst := make([]byte, 0, 1024)
	n := testing.AllocsPerRun(100, func() {
		_, _ = tensor.AppendRaw(dst, tensor.FP32, text)
		_, _ = tensor.AppendJSON(dst, tensor.FP32, raw)
		_, _ = tensor.AppendJSON(dst, tensor.Bytes, words)
	})
	if n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func FuzzAppendJSON(f *testing.F) {
	f.Add(uint8(tensor.FP32), []byte{0, 0, 0x80, 0x7f})
	f.Add(uint8(tensor.Bytes), []byte{2, 0, 0, 0, 0xc3, '"'})
	f.Add(uint8(tensor.JSON), []byte(`{"a":Inf}`))
	f.Fuzz(func(t *testing.T, kind uint8, raw []byte) {
		dt := tensor.Datatype(kind)
		text, err := tensor.AppendJSON(nil, dt, raw)
		if err != nil {
			return
		}
		if !json.Valid(text) {
			t.Fatalf("%s %v: invalid JSON %q", dt, raw, text)
		}
		back, err := tensor.AppendRaw(nil, dt, text)
		switch dt {
		case tensor.Uint8, tensor.Uint16, tensor.Uint32, tensor.Uint64, tensor.Int8, tensor.Int16, tensor.Int32, tensor.Int64:
			if err != nil || !bytes.Equal(back, raw) {
				t.Fatalf("%s %v came back as %v, %v", dt, raw, back, err)
			}
		case tensor.FP32, tensor.FP64:
			if err == nil && !bytes.Equal(back, raw) {
				t.Fatalf("%s %v came back as %v", dt, raw, back)
			}
		default: // the others lose something on the way
		}
	})
}

func FuzzAppendRaw(f *testing.F) {
	f.Add(uint8(tensor.FP32), []byte("[1,NaN,-Inf]"))
	f.Add(uint8(tensor.Bytes), []byte(`["a","\u00e9"]`))
	f.Fuzz(func(t *testing.T, kind uint8, text []byte) {
		dt := tensor.Datatype(kind)
		raw, err := tensor.AppendRaw(nil, dt, text)
		if nested, nerr := tensor.AppendNested(nil, dt, text); err == nil && dt != tensor.JSON && (nerr != nil || !bytes.Equal(raw, nested)) {
			t.Fatalf("%s %q: flat and nested differ: %v, %v, %v", dt, text, raw, nested, nerr)
		}
		if err != nil {
			return
		}
		if _, err := tensor.AppendJSON(nil, dt, raw); err != nil && len(raw) > 0 {
			t.Fatalf("%s %q: %v", dt, text, err)
		}
	})
}
