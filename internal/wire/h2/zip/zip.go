// Package zip packs and unpacks the messages of gRPC by gzip and deflate.
//
// What it packs is made for load: a body that many requests share is compressed once, and the few bytes that
// differ are added behind it without compressing again.
package zip

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"encoding/binary"
	"errors"
	"hash/adler32"
	"hash/crc32"
	"io"

	"github.com/redline-bench/redline/internal/wire/budget"
)

// Encoding is a message compression of gRPC.
type Encoding uint8

// The encodings.
const (
	Identity Encoding = iota
	Gzip
	Deflate // what gRPC calls deflate is zlib's format
	Unknown
)

// Parse reads the value of a grpc-encoding header.
func Parse(name []byte) Encoding {
	switch string(name) {
	case "identity":
		return Identity
	case "gzip":
		return Gzip
	case "deflate":
		return Deflate
	}
	return Unknown
}

// Unpacker unpacks compressed messages with buffers that it keeps. Its zero value is ready.
type Unpacker struct {
	Share budget.Share // of the unpacked message
	src   bytes.Reader
	gz    *gzip.Reader
	zl    io.ReadCloser
	out   []byte
}

// The errors that are not the message's fault alone.
var (
	ErrTooLarge = errors.New("it is larger than the limit")
	ErrStopped  = errors.New("the unpacking was stopped")
	ErrNoRoom   = errors.New("there is no room for it beside the other messages of the run")
)

// step is after how many unpacked bytes Unpack asks whether to stop.
const step = 1 << 20

// Unpack returns the message in msg, of at most limit bytes. It is valid until the next call. stop, where it is not nil,
// is asked now and then whether anyone still waits for the message.
func (k *Unpacker) Unpack(e Encoding, msg []byte, limit int, stop func() bool) ([]byte, error) {
	k.src.Reset(msg)
	r, err := k.reader(e)
	if err != nil {
		return nil, err
	}
	if k.out = k.out[:0]; k.Share.Spare() {
		k.out = nil
		k.Share.Release()
	}
	for asked := 0; ; {
		if len(k.out) == cap(k.out) && !k.grow(limit) {
			return nil, ErrNoRoom
		}
		n, err := r.Read(k.out[len(k.out):cap(k.out)])
		k.out = k.out[:len(k.out)+n]
		if len(k.out) > limit {
			return nil, ErrTooLarge
		}
		if stop != nil && len(k.out)-asked >= step {
			if asked = len(k.out); stop() {
				return nil, ErrStopped
			}
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
	}
	if k.src.Len() > 0 {
		return nil, errors.New("bytes follow its end")
	}
	return k.out, nil
}

// grow makes room for more, up to one byte above the limit: that is enough to see that it is crossed. It returns false
// where the run has no room.
func (k *Unpacker) grow(limit int) bool {
	const first = 512
	size := min(max(2*cap(k.out), first), limit+1)
	if !k.Share.Hold(int64(size) + int64(cap(k.out))) { // both are there while one is copied
		return false
	}
	bigger := make([]byte, len(k.out), size)
	copy(bigger, k.out)
	k.out = bigger
	k.Share.Hold(int64(size))
	return true
}

func (k *Unpacker) reader(e Encoding) (r io.Reader, err error) {
	switch {
	case e == Gzip && k.gz == nil:
		k.gz, err = gzip.NewReader(&k.src)
		return k.gz, err
	case e == Gzip:
		return k.gz, k.gz.Reset(&k.src)
	case k.zl == nil:
		k.zl, err = zlib.NewReader(&k.src)
		return k.zl, err
	default:
		return k.zl, k.zl.(zlib.Resetter).Reset(&k.src, nil)
	}
}

// Packed is a compressed message body to which a tail that differs from request to request is added without
// compressing again: the body's blocks end on a byte boundary, the tail follows as a stored block, and the
// checksum is carried on over it.
type Packed struct {
	Body []byte
	gzip bool
	sum  uint32
	size uint32
}

// Pack compresses body by "gzip" or "deflate".
func Pack(name string, body []byte) (*Packed, error) {
	p := &Packed{size: uint32(len(body))}
	var out bytes.Buffer
	switch Parse([]byte(name)) {
	case Gzip:
		p.gzip, p.sum = true, crc32.ChecksumIEEE(body)
		out.Write([]byte{0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff})
	case Deflate:
		p.sum = adler32.Checksum(body)
		out.Write([]byte{0x78, 0x9c})
	default:
		return nil, errors.New("unknown compression " + name + ": use gzip or deflate")
	}
	w, err := flate.NewWriter(&out, flate.DefaultCompression)
	if err != nil {
		return nil, err
	}
	if _, err = w.Write(body); err == nil {
		err = w.Flush()
	}
	p.Body = out.Bytes()
	return p, err
}

// Tail appends the rest of the compressed message to dst: the plain tail and the closing checksum.
func (p *Packed) Tail(dst, tail []byte) []byte {
	size := p.size + uint32(len(tail))
	sum := p.sum
	if p.gzip {
		sum = crc32.Update(sum, crc32.IEEETable, tail)
	} else {
		sum = adler(sum, tail)
	}
	for {
		n, final := len(tail), byte(1)
		if n > 0xffff {
			n, final = 0xffff, 0
		}
		dst = append(dst, final)
		dst = binary.LittleEndian.AppendUint16(dst, uint16(n))
		dst = binary.LittleEndian.AppendUint16(dst, ^uint16(n))
		dst = append(dst, tail[:n]...)
		if tail = tail[n:]; final == 1 {
			break
		}
	}
	if p.gzip {
		return binary.LittleEndian.AppendUint32(binary.LittleEndian.AppendUint32(dst, sum), size)
	}
	return binary.BigEndian.AppendUint32(dst, sum)
}

// adler carries an Adler-32 checksum on over p.
func adler(sum uint32, p []byte) uint32 {
	const mod = 65521
	a, b := sum&0xffff, sum>>16
	for _, c := range p {
		a = (a + uint32(c)) % mod
		b = (b + a) % mod
	}
	return b<<16 | a
}
