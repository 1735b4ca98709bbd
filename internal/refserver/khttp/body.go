package khttp

import (
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"errors"
	"io"
	"strings"

	"github.com/redline-bench/redline/internal/refserver/infer"
)

// body reads the request's body and unpacks it.
func (x *exchange) body() ([]byte, error) {
	var r io.Reader
	switch encoding := x.req.Header.Get("Content-Encoding"); encoding {
	case "", "identity":
		return readAll(x.req.Body, x.req.ContentLength)
	case "gzip":
		z, err := gzip.NewReader(x.req.Body)
		if err != nil {
			return nil, bad("unable to inflate the request: %v", err)
		}
		r = z
	case "deflate":
		z, err := zlib.NewReader(x.req.Body)
		if err != nil {
			return nil, bad("unable to inflate the request: %v", err)
		}
		r = z
	default:
		x.Header().Set("Accept-Encoding", "gzip, deflate")
		return nil, infer.Errorf(infer.Unsupported, "Unsupported compression type")
	}
	x.unpacked = x.budget.Reader(r)
	if x.most == 0 {
		return readAll(x.unpacked, -1)
	}
	data, err := readAll(io.LimitReader(x.unpacked, x.most+1), -1)
	if err == nil && int64(len(data)) > x.most {
		err = bad("Decompressed data size exceeds the maximum allowed value of %d bytes. Use --http-max-input-size to increase the limit.", x.most)
	}
	return data, err
}

// maxUpfront limits the memory that is allocated because of a Content-Length alone.
const maxUpfront = 1 << 26

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
	if infer.CodeOf(err) == infer.TooLarge {
		return nil, err
	}
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, bad("unable to read the request: %v", err)
	}
	return data, nil
}

// compress compresses the body as the client accepts it, if that makes it smaller. Only inference responses are compressed:
// clients that name gzip in every request do not decompress others.
func (x *exchange) compress(body []byte) []byte {
	accept := x.req.Header.Get("Accept-Encoding")
	if accept == "" || len(body) == 0 {
		return body
	}
	var buf bytes.Buffer
	var w io.WriteCloser
	kind := ""
	for part := range strings.SplitSeq(accept, ",") {
		switch name, _, _ := strings.Cut(strings.TrimSpace(part), ";"); name {
		case "gzip":
			kind, w = "gzip", gzip.NewWriter(&buf)
		case "deflate":
			kind, w = "deflate", zlib.NewWriter(&buf)
		}
		if w != nil {
			break
		}
	}
	if w == nil {
		return body
	}
	_, errWrite := w.Write(body)
	if err := errors.Join(errWrite, w.Close()); err != nil || buf.Len() >= len(body) {
		return body
	}
	x.Header().Set("Content-Encoding", kind)
	return buf.Bytes()
}
