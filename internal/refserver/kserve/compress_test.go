package kserve

import (
	"bytes"
	"compress/gzip"
	"net/http"
	"testing"

	"github.com/redline-bench/redline/internal/refserver/infer"
)

// What a body decompresses to has a limit: a few kilobytes can be gigabytes.
func TestDecompressionBomb(t *testing.T) {
	const limit = 100_000
	for size, refused := range map[int]bool{limit: false, limit + 1: true, 100 * limit: true} {
		var packed bytes.Buffer
		w := gzip.NewWriter(&packed)
		if _, err := w.Write(make([]byte, size)); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		r, err := gzip.NewReader(&packed)
		if err != nil {
			t.Fatal(err)
		}
		data, err := readAtMost(r, limit)
		if refused != (err != nil) || !refused && len(data) != size || refused && infer.HTTPStatus(err) != http.StatusRequestEntityTooLarge {
			t.Errorf("%d bytes: %d were read, %v", size, len(data), err)
		}
	}
}
