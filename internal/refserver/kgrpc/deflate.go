package kgrpc

import (
	"compress/zlib"
	"io"

	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/encoding/gzip"

	"github.com/redline-bench/redline/internal/refserver/unpack"
)

// init registers the compression that Triton's clients call deflate, and limits both compressions by one budget. grpc allows
// this only before any call.
func init() {
	budget := &unpack.Budget{}
	encoding.RegisterCompressor(limited{encoding.GetCompressor(gzip.Name), budget})
	encoding.RegisterCompressor(limited{deflate{}, budget})
}

// LimitUnpacked limits the decompressed size of all messages that the process decompresses at once; 0 means no limit.
func LimitUnpacked(bytes int64) {
	if c, ok := encoding.GetCompressor(gzip.Name).(limited); ok {
		c.budget.SetLimit(bytes)
	}
}

// limited is a compression whose unpacked bytes are counted. The gRPC library closes the reader after each message.
type limited struct {
	encoding.Compressor
	budget *unpack.Budget
}

func (l limited) Decompress(r io.Reader) (io.Reader, error) {
	z, err := l.Compressor.Decompress(r)
	if err != nil {
		return nil, err
	}
	return l.budget.Reader(z), nil
}

type deflate struct{}

func (deflate) Name() string { return "deflate" }

func (deflate) Compress(w io.Writer) (io.WriteCloser, error) { return zlib.NewWriter(w), nil }

func (deflate) Decompress(r io.Reader) (io.Reader, error) { return zlib.NewReader(r) }
