package openai

import (
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"errors"
	"fmt"
	"io"
	"iter"

	"github.com/redline-bench/redline/internal/wire/h1"
)

// inflater undoes the compression of a stream piece by piece: what can be had of each piece is passed on before
// feed returns. Go's decompressors pull their input, so one runs as a coroutine that gives way when it is hungry.
type inflater struct {
	piece []byte // input not used yet
	out   func([]byte)
	next  func() (struct{}, bool) // runs the decompressor until it is hungry; false when it has ended
	stop  func()
	err   error // why it ended
	eof   bool  // no more input will come
}

// newInflater makes an inflater that passes plain text to out.
func newInflater(encoding []byte, out func([]byte)) (*inflater, error) {
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
	case bytes.EqualFold(encoding, []byte("gzip")), bytes.EqualFold(encoding, []byte("x-gzip")):
		return func(r io.Reader) (io.Reader, error) { return gzip.NewReader(r) }, nil
	case bytes.EqualFold(encoding, []byte("deflate")):
		return func(r io.Reader) (io.Reader, error) { return zlib.NewReader(r) }, nil
	}
	return nil, fmt.Errorf("its content encoding %q is not supported: ask for gzip, deflate or none", encoding)
}

func (z *inflater) run(open func(io.Reader) (io.Reader, error), in io.Reader) error {
	r, err := open(in)
	if err != nil {
		return err
	}
	buf := make([]byte, 32<<10)
	for {
		n, err := r.Read(buf)
		if n > 0 {
			z.out(buf[:n])
		}
		if err != nil {
			return err
		}
	}
}

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

// plainLimit bounds what a small body may unpack to.
const plainLimit = 1 << 30

// body is the plain body of a reply. What had to be decompressed is valid until the next reply.
func (x *exchange) body(r *h1.Reply) ([]byte, error) {
	if !encoded(r.Encoding) {
		return r.Body, nil
	}
	open, err := decompressor(r.Encoding)
	if err != nil {
		return nil, err
	}
	in, err := open(bytes.NewReader(r.Body))
	if err != nil {
		return nil, fmt.Errorf("its compression is broken: %w", err)
	}
	buf := bytes.NewBuffer(x.plain[:0])
	n, err := io.Copy(buf, io.LimitReader(in, plainLimit+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("its compression is broken: %w", err)
	case n > plainLimit:
		return nil, fmt.Errorf("it unpacks to more than %d bytes", plainLimit)
	}
	x.plain = buf.Bytes()
	return x.plain, nil
}
