package kserve

import (
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"errors"
	"io"
	"strings"

	"github.com/redline-bench/redline/internal/refserver/infer"
)

// body reads the request's body and decompresses it.
func (x *exchange) body() ([]byte, error) {
	var r io.Reader
	var err error
	switch x.Request.Header.Get("Content-Encoding") {
	case "", "identity":
		return readAll(x.Body, x.ContentLength)
	case "gzip":
		r, err = gzip.NewReader(x.Body)
	case "deflate":
		r, err = zlib.NewReader(x.Body)
	default:
		x.ResponseWriter.Header().Set("Accept-Encoding", "gzip, deflate")
		return nil, infer.Errorf(infer.Unsupported, "the request must be compressed with gzip or deflate, or not at all")
	}
	if err != nil {
		return nil, bad("the request cannot be decompressed: %v", err)
	}
	return readAtMost(r, maxDecompressed)
}

const (
	// maxDecompressed limits a compressed request: a few kilobytes can decompress to gigabytes.
	maxDecompressed = 1 << 30
	// maxUpfront limits the memory that is allocated because of a Content-Length alone.
	maxUpfront = 1 << 26
)

// readAtMost refuses to read more than so many bytes.
func readAtMost(r io.Reader, limit int64) ([]byte, error) {
	data, err := readAll(io.LimitReader(r, limit+1), -1)
	if int64(len(data)) > limit {
		return nil, infer.Errorf(infer.TooLarge, "the request decompresses to more than %d bytes", limit)
	}
	return data, err
}

// readAll reads everything. It allocates a known length at once, but a very large one only when part of it has arrived.
func readAll(r io.Reader, length int64) ([]byte, error) {
	var err error
	var data []byte
	if length >= 0 {
		data = make([]byte, min(length, maxUpfront))
		if _, err = io.ReadFull(r, data); err == nil && length > maxUpfront {
			first := data
			data = make([]byte, length)
			_, err = io.ReadFull(r, data[copy(data, first):])
		}
	} else {
		data, err = io.ReadAll(r)
	}
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, bad("the request cannot be read: %v", err)
	}
	return data, nil
}

// compress compresses the body as the client accepts it, if that makes it smaller. Only inference responses are compressed:
// clients that name gzip in every request do not decompress others.
func (x *exchange) compress(body []byte) []byte {
	var buf bytes.Buffer
	var w io.WriteCloser
	kind := ""
	for part := range strings.SplitSeq(x.Request.Header.Get("Accept-Encoding"), ",") {
		switch kind, _, _ = strings.Cut(strings.TrimSpace(part), ";"); kind {
		case "gzip":
			w = gzip.NewWriter(&buf)
		case "deflate":
			w = zlib.NewWriter(&buf)
		default:
			continue
		}
		break
	}
	if w == nil {
		return body
	}
	_, errWrite := w.Write(body)
	if err := errors.Join(errWrite, w.Close()); err != nil || buf.Len() >= len(body) {
		return body
	}
	x.ResponseWriter.Header().Set("Content-Encoding", kind)
	return buf.Bytes()
}
