package zip_test

import (
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"io"
	"math/rand/v2"
	"testing"

	"github.com/redline-bench/redline/internal/wire/h2/zip"
)

// The standard library unpacks what was packed in two parts, whatever the sizes of the two.
func TestPack(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	random := func(n int) []byte {
		b := make([]byte, n)
		for i := range b {
			b[i] = byte(rng.Uint32() >> 30)
		}
		return b
	}
	f := func(name string, body, tail []byte) {
		t.Helper()
		p, err := zip.Pack(name, body)
		if err != nil {
			t.Fatal(err)
		}
		packed := p.Tail(bytes.Clone(p.Body), tail)
		var r io.Reader
		if name == "gzip" {
			r, err = gzip.NewReader(bytes.NewReader(packed))
		} else {
			r, err = zlib.NewReader(bytes.NewReader(packed))
		}
		if err != nil {
			t.Fatal(err)
		}
		want := append(bytes.Clone(body), tail...)
		if got, err := io.ReadAll(r); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s of %d and %d bytes: got %d bytes, %v", name, len(body), len(tail), len(got), err)
		}
		var u zip.Unpacker
		for range 2 {
			got, err := u.Unpack(zip.Parse([]byte(name)), packed, len(want))
			if err != nil || !bytes.Equal(got, want) {
				t.Errorf("%s: our own unpacker: %d bytes, %v", name, len(got), err)
			}
		}
		if _, err := u.Unpack(zip.Parse([]byte(name)), packed, len(want)-1); len(want) > 0 && err == nil {
			t.Errorf("%s: a message above the limit was unpacked", name)
		}
		if _, err := u.Unpack(zip.Parse([]byte(name)), append(packed, 1), len(want)); err == nil {
			t.Errorf("%s: a message with bytes behind it was unpacked", name)
		}
	}
	for _, name := range []string{"gzip", "deflate"} {
		f(name, nil, nil)
		f(name, random(10), nil)
		f(name, nil, random(10))
		f(name, random(100_000), random(30))
		f(name, random(1000), random(70_000))
	}
	if _, err := zip.Pack("br", nil); err == nil {
		t.Error("an unknown compression was accepted")
	}
}

func FuzzUnpack(f *testing.F) {
	for _, name := range []string{"gzip", "deflate"} {
		p, err := zip.Pack(name, []byte("hello hello hello"))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(p.Tail(p.Body, []byte("tail")))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var u zip.Unpacker
		for _, e := range []zip.Encoding{zip.Gzip, zip.Deflate} {
			if out, err := u.Unpack(e, b, 1000); err == nil && len(out) > 1000 {
				t.Errorf("%d bytes came out", len(out))
			}
		}
	})
}
