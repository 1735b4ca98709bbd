package h1

import (
	"bytes"
	"errors"
	"io"
)

func isEOF(err error) bool { return errors.Is(err, io.EOF) }

// maxChunkLine bounds the line before a chunk, extensions included.
const maxChunkLine = 4 << 10

// length takes a body of known length.
func (r *reader) length(at int64) (done bool) {
	if !r.stream {
		if int64(r.w-r.bodyAt) < r.left {
			return false
		}
		r.reply.Size = r.left
		r.bodyEnd = r.bodyAt + int(r.left)
		r.pos = r.bodyEnd
		return true
	}
	n := min(int64(r.w-r.pos), r.left)
	r.deliver(int(n), at)
	r.left -= n
	return r.left == 0
}

// rest takes a body that the end of the connection ends.
func (r *reader) rest(at int64) error {
	n := r.w - r.pos
	if r.reply.Size+int64(n) > r.maxBody {
		return r.largeBody()
	}
	r.deliver(n, at)
	return nil
}

// deliver takes n raw bytes at pos as body.
func (r *reader) deliver(n int, at int64) {
	if n == 0 {
		return
	}
	r.reply.Size += int64(n)
	b := r.buf[r.pos : r.pos+n]
	r.pos += n
	if !r.stream {
		r.bodyEnd += copy(r.buf[r.bodyEnd:], b)
		return
	}
	r.h.Data(b, at)
	if r.pos == r.w { // nothing is left, so the room can be used again
		r.pos, r.w = r.bodyEnd, r.bodyEnd
	}
}

// chunked takes one step in a chunked body.
func (r *reader) chunked(at int64) (more, done bool, err error) {
	switch r.state {
	case inChunk:
		n := min(int64(r.w-r.pos), r.left)
		r.deliver(int(n), at)
		r.left -= n
		if r.left > 0 {
			return false, false, nil
		}
		r.state = inChunkEnd
		return true, false, nil
	case inChunkEnd:
		if r.w-r.pos < 2 {
			return false, false, nil
		}
		if r.buf[r.pos] != '\r' || r.buf[r.pos+1] != '\n' {
			return false, false, malformed("a chunk is longer than its size says")
		}
		r.pos += 2
		r.state = inChunkSize
		return true, false, nil
	case inChunkSize:
		line, err := r.line(maxChunkLine)
		if line == nil || err != nil {
			return false, false, err
		}
		return r.chunkSize(line)
	default:
		return r.trailers()
	}
}

func (r *reader) chunkSize(line []byte) (more, done bool, err error) {
	if i := bytes.IndexByte(line, ';'); i >= 0 {
		line = bytes.TrimRight(line[:i], " \t")
	}
	n, ok := parseHex(line)
	if !ok {
		return false, false, malformed("a bad chunk size")
	}
	if r.reply.Size+n > r.maxBody {
		return false, false, r.largeBody()
	}
	r.left, r.state = n, inChunk
	if n == 0 {
		r.state = inTrailer
	}
	return true, false, nil
}

// trailers skips the header lines after the last chunk.
func (r *reader) trailers() (more, done bool, err error) {
	line, err := r.line(r.maxHead)
	if line == nil || err != nil {
		return false, false, err
	}
	if len(line) == 0 {
		return false, true, nil
	}
	if r.trailer += len(line); r.trailer > r.maxHead {
		return false, false, tooLarge("its trailers are above the limit")
	}
	if _, _, ok := field(line); !ok {
		return false, false, malformed("a bad trailer line")
	}
	return true, false, nil
}

// line takes a line without its CRLF; nil when it is not complete yet.
func (r *reader) line(limit int) ([]byte, error) {
	b := r.buf[r.pos:r.w]
	i := bytes.IndexByte(b, '\n')
	switch {
	case i < 0 && len(b) > limit, i > limit:
		return nil, tooLarge("a line is above the limit")
	case i < 0:
		return nil, nil
	case i == 0 || b[i-1] != '\r':
		return nil, malformed("a line does not end with CRLF")
	}
	r.pos += i + 1
	return b[: i-1 : i-1], nil
}

func parseHex(b []byte) (int64, bool) {
	if len(b) == 0 || len(b) > 15 {
		return 0, false
	}
	var n int64
	for _, c := range b {
		switch {
		case c >= '0' && c <= '9':
			c -= '0'
		case c|0x20 >= 'a' && c|0x20 <= 'f':
			c = c | 0x20 - 'a' + 10
		default:
			return 0, false
		}
		n = n<<4 | int64(c)
	}
	return n, true
}
