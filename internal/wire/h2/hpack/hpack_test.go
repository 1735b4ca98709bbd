package hpack_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	xhpack "golang.org/x/net/http2/hpack"

	"github.com/redline-bench/redline/internal/wire/h2/hpack"
)

func decode(d *hpack.Decoder, block []byte) ([]hpack.Field, error) {
	var got []hpack.Field
	d.Reset(block)
	for {
		name, value, ok, err := d.Next()
		if err != nil || !ok {
			return got, err
		}
		got = append(got, hpack.Field{Name: string(name), Value: string(value)})
	}
}

func request() []hpack.Field {
	return []hpack.Field{
		{Name: ":method", Value: "POST"},
		{Name: ":scheme", Value: "http"},
		{Name: ":path", Value: "/inference.GRPCInferenceService/ModelInfer"},
		{Name: ":authority", Value: "localhost:8001"},
		{Name: "te", Value: "trailers"},
		{Name: "content-type", Value: "application/grpc"},
		{Name: "x-key", Value: " with a leading space"},
	}
}

func TestSteadyBlockIsOneByteAField(t *testing.T) {
	e, d := hpack.NewEncoder(), xhpack.NewDecoder(hpack.DefaultTableSize, nil)
	first := e.Append(nil, request())
	if _, err := d.DecodeFull(first); err != nil {
		t.Fatal(err)
	}
	gen := e.Generation()
	for range 3 {
		block := e.Append(nil, request())
		if len(block) != len(request()) {
			t.Errorf("a repeated block has %d bytes, want %d", len(block), len(request()))
		}
		fields, err := d.DecodeFull(block)
		if err != nil {
			t.Fatal(err)
		}
		var got []hpack.Field
		for _, f := range fields {
			got = append(got, hpack.Field{Name: f.Name, Value: f.Value})
		}
		if diff := cmp.Diff(request(), got); diff != "" {
			t.Error(diff)
		}
	}
	if e.Generation() != gen {
		t.Error("a repeated block changed the generation")
	}
}

func TestEncoderNeverEvicts(t *testing.T) {
	e, d := hpack.NewEncoder(), xhpack.NewDecoder(hpack.DefaultTableSize, nil)
	small := []hpack.Field{{Name: "a", Value: "b"}}
	large := []hpack.Field{{Name: "token", Value: strings.Repeat("x", 4090)}}
	for range 3 {
		for _, fields := range [][]hpack.Field{small, large} {
			got, err := d.DecodeFull(e.Append(nil, fields))
			if err != nil || len(got) != 1 || got[0].Value != fields[0].Value {
				t.Fatalf("decoded %v, %v", got, err)
			}
		}
	}
	if n := len(e.Append(nil, small)); n != 1 {
		t.Errorf("the small field costs %d bytes after the large one, want 1", n)
	}
}

func TestEncoderFollowsTheTableSize(t *testing.T) {
	f := func(name string, limits ...uint32) {
		t.Helper()
		e, d := hpack.NewEncoder(), hpack.NewDecoder()
		x := xhpack.NewDecoder(hpack.DefaultTableSize, nil)
		check := func() {
			t.Helper()
			block := e.Append(nil, request())
			got, err := decode(d, block)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if diff := cmp.Diff(request(), got); diff != "" {
				t.Errorf("%s: %s", name, diff)
			}
			if _, err := x.DecodeFull(block); err != nil {
				t.Errorf("%s: the other decoder says %v", name, err)
			}
		}
		check()
		for _, n := range limits {
			e.Limit(n)
		}
		check()
		check()
	}
	f("unchanged", 4096)
	f("none", 0)
	f("small", 100)
	f("larger than the default", 1<<20)
	f("down and up", 0, 4096)
	f("down twice", 200, 100)
}

func TestDecoderRejects(t *testing.T) {
	f := func(block []byte, want error) {
		t.Helper()
		if _, err := decode(hpack.NewDecoder(), block); !errors.Is(err, want) {
			t.Errorf("%x: got %v, want %v", block, err, want)
		}
	}
	f([]byte{0x80}, hpack.ErrIndex)
	f([]byte{0xbe}, hpack.ErrIndex)
	f([]byte{0x40}, hpack.ErrTruncated)
	f([]byte{0x40, 5, 'a'}, hpack.ErrTruncated)
	f([]byte{0xff}, hpack.ErrTruncated)
	f([]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01}, hpack.ErrInteger)
	f([]byte{0x3f, 0xe2, 0x1f}, hpack.ErrResize)
	f([]byte{0x82, 0x20}, hpack.ErrResize)
	f([]byte{0x40, 0x81, 0xff, 0x00}, hpack.ErrHuffman)
}

func FuzzDecoder(f *testing.F) {
	e := hpack.NewEncoder()
	f.Add(e.Append(nil, request()), e.Append(nil, request()))
	f.Add([]byte{0x20, 0x3f, 0xe1, 0x1f, 0x88}, []byte{0x40, 1, 'a', 1, 'b', 0xbe})
	f.Fuzz(func(t *testing.T, one, two []byte) {
		d := hpack.NewDecoder()
		x := xhpack.NewDecoder(hpack.DefaultTableSize, nil)
		for _, block := range [][]byte{one, two} {
			got, err := decode(d, block)
			want, xerr := x.DecodeFull(block)
			if (err == nil) != (xerr == nil) {
				// Ours gives up on integers above 32 bits, and the two differ on when a table may be resized:
				// before the first field, and twice if need be, says the standard.
				if errors.Is(err, hpack.ErrInteger) || errors.Is(err, hpack.ErrResize) || xerr != nil && strings.Contains(xerr.Error(), "size update") {
					return
				}
				t.Fatalf("%x: ours %v, reference %v", block, err, xerr)
			}
			if err != nil {
				return
			}
			if len(got) != len(want) {
				t.Fatalf("%x: %d fields, reference %d", block, len(got), len(want))
			}
			for i, w := range want {
				if got[i].Name != w.Name || got[i].Value != w.Value {
					t.Fatalf("%x: field %d is %v, reference %v", block, i, got[i], w)
				}
			}
		}
	})
}

// A literal field follows any block and changes no table.
func TestLiteralFollowsABlock(t *testing.T) {
	e, d := hpack.NewEncoder(), xhpack.NewDecoder(hpack.DefaultTableSize, nil)
	for range 3 {
		block := hpack.AppendLiteral(e.Append(nil, request()), "traceparent", []byte("00-abc-01"))
		fields, err := d.DecodeFull(block)
		if err != nil || len(fields) != len(request())+1 {
			t.Fatalf("%v, %v", fields, err)
		}
		if last := fields[len(fields)-1]; last.Name != "traceparent" || last.Value != "00-abc-01" {
			t.Errorf("the last field is %v", last)
		}
	}
}
