package openai

import (
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"errors"
	"fmt"
	"io"
	"iter"

	"github.com/redline-bench/redline/internal/service"
	"github.com/redline-bench/redline/internal/wire"
	"github.com/redline-bench/redline/internal/wire/h2/zip"
)

// inflater undoes the compression of a stream piece by piece: what can be had of each piece is passed on before
// feed returns. Go's decompressors pull their input, so one runs as a coroutine that gives way when it is hungry.
type inflater struct {
	piece []byte // input not used yet
	out   func([]byte) bool
	next  func() (struct{}, bool) // runs the decompressor until it is hungry; false when it has ended
	stop  func()
	err   error // why it ended
	eof   bool  // no more input will come
}

// newInflater makes an inflater that passes plain text to out, until out returns false.
func newInflater(encoding []byte, out func([]byte) bool) (*inflater, error) {
	open, err := decompressor(encoding)
	if err != nil {
		return nil, err
	}
	z := &inflater{out: out}
	z.next, z.stop = iter.Pull(func(yield func(struct{}) bool) {
		z.err = z.run(open, &hungry{z, yield})
	})
	return z, nil
}

func decompressor(encoding []byte) (func(io.Reader) (io.Reader, error), error) {
	switch {
	case isGzip(encoding):
		return func(r io.Reader) (io.Reader, error) { return gzip.NewReader(r) }, nil
	case isDeflate(encoding):
		return func(r io.Reader) (io.Reader, error) { return zlib.NewReader(r) }, nil
	}
	return nil, unsupported(encoding)
}

func (z *inflater) run(open func(io.Reader) (io.Reader, error), in io.Reader) error {
	r, err := open(in)
	if err != nil {
		return err
	}
	buf := make([]byte, 32<<10)
	for {
		n, err := r.Read(buf)
		if n > 0 && !z.out(buf[:n]) {
			return errStopped
		}
		if err != nil {
			return err
		}
	}
}

// errStopped ends a decompressor whose text is no longer needed.
var errStopped = errors.New("stopped")

// feed takes a piece of the compressed stream.
func (z *inflater) feed(b []byte) {
	z.piece = b
	z.next()
	z.piece = nil
}

// end tells that the stream has ended, and whether its compression was whole.
func (z *inflater) end() error {
	z.eof = true
	z.next()
	if errors.Is(z.err, io.EOF) {
		return nil
	}
	return fmt.Errorf("its compression is broken: %w", z.err)
}

// hungry is the decompressor's input. It reads byte by byte too, so that nothing buffers in between.
type hungry struct {
	z     *inflater
	yield func(struct{}) bool
}

func (h *hungry) fill() bool {
	for len(h.z.piece) == 0 {
		if h.z.eof || !h.yield(struct{}{}) {
			return false
		}
	}
	return true
}

func (h *hungry) Read(b []byte) (int, error) {
	if !h.fill() {
		return 0, io.EOF
	}
	n := copy(b, h.z.piece)
	h.z.piece = h.z.piece[n:]
	return n, nil
}

func (h *hungry) ReadByte() (byte, error) {
	if !h.fill() {
		return 0, io.EOF
	}
	c := h.z.piece[0]
	h.z.piece = h.z.piece[1:]
	return c, nil
}

// body is the plain body of a reply. What had to be decompressed is valid until the next reply.
func (x *exchange) body(r *wire.Reply) ([]byte, *service.Error) {
	if !encoded(r.Encoding) {
		return r.Body, nil
	}
	var e zip.Encoding
	switch {
	case isGzip(r.Encoding):
		e = zip.Gzip
	case isDeflate(r.Encoding):
		e = zip.Deflate
	default:
		return nil, malformed(unsupported(r.Encoding).Error())
	}
	plain, err := x.unpacker.Unpack(e, r.Body, int(x.limit), x.interrupted)
	switch {
	case errors.Is(err, zip.ErrTooLarge):
		return nil, x.tooLarge()
	case errors.Is(err, zip.ErrNoRoom):
		return nil, x.noRoom()
	case err != nil:
		return nil, malformed(fmt.Sprintf("its compression is broken: %v", err))
	}
	return plain, nil
}

func isGzip(encoding []byte) bool {
	return bytes.EqualFold(encoding, []byte("gzip")) || bytes.EqualFold(encoding, []byte("x-gzip"))
}

func isDeflate(encoding []byte) bool { return bytes.EqualFold(encoding, []byte("deflate")) }

func unsupported(encoding []byte) error {
	return fmt.Errorf("its content encoding %q is not supported: ask for gzip, deflate or none", service.Said(string(encoding)))
}
