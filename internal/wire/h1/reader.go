package h1

import (
	"bytes"
	"strconv"

	"github.com/redline-bench/redline/internal/wire"
	"github.com/redline-bench/redline/internal/wire/budget"
	"github.com/redline-bench/redline/internal/wire/neterr"
)

type state uint8

const (
	inHead state = iota
	inLength
	inChunkSize
	inChunk
	inChunkEnd
	inTrailer
	untilClose
)

func (s state) chunked() bool { return s >= inChunkSize && s <= inTrailer }

// minSpace is the least room that is worth a system call.
const minSpace = 512

// maxInterim is how many 1xx heads may come before the reply proper.
const maxInterim = 16

// reader turns bytes into replies. The buffer always starts with the head of the current reply, with the
// decoded body behind it and what is not parsed yet behind that:
//
//	buf: [ head | body | … | raw ]
//	     0   bodyAt  bodyEnd pos  w
//
// A body of known length needs no decoding, so it is read straight to its final place.
type reader struct {
	h       Handler
	reply   wire.Reply
	number  string // name of the extra header
	maxHead int
	maxBody int64
	share   budget.Share // of buf

	buf     []byte
	w       int // end of what was read
	pos     int // start of what is not parsed yet
	bodyAt  int
	bodyEnd int

	state   state
	stream  bool
	left    int64 // bytes left of the body, or of the chunk
	interim int
	trailer int // bytes of trailers seen

	// last is the previous final head and lastInfo what it said: servers repeat themselves, and comparing is
	// far cheaper than parsing.
	last     []byte
	lastInfo info
}

func (r *reader) init(cfg Config) {
	r.number, r.maxHead, r.maxBody = cfg.Number, cfg.MaxHead, cfg.MaxBody
	if r.maxHead == 0 {
		r.maxHead = DefaultMaxHead
	}
	if r.maxBody == 0 {
		r.maxBody = DefaultMaxBody
	}
	r.buf, r.share = make([]byte, firstBuffer), cfg.Budget.Share()
}

func (r *reader) started() bool { return r.w > 0 || r.interim > 0 }

// reset makes ready for the next reply.
func (r *reader) reset() {
	r.w, r.pos, r.bodyAt, r.bodyEnd = 0, 0, 0, 0
	r.state, r.stream, r.left, r.interim, r.trailer = inHead, false, 0, 0, 0
	r.reply = wire.Reply{}
	if r.share.Spare() {
		r.buf = make([]byte, firstBuffer)
		r.share.Release()
	}
}

// space is where to read to: never empty.
func (r *reader) space() []byte { return r.buf[r.w:] }

// makeSpace sees to it that space is not empty.
func (r *reader) makeSpace() error {
	if r.state.chunked() && r.pos > r.bodyEnd { // what was between the chunks can be overwritten
		r.w = r.bodyEnd + copy(r.buf[r.bodyEnd:], r.buf[r.pos:r.w])
		r.pos = r.bodyEnd
	}
	if len(r.buf)-r.w < minSpace {
		want := r.w + minSpace
		if r.state == inLength && !r.stream {
			want = r.bodyAt + int(r.left) // the limit on bodies keeps it in an int
		}
		if want > len(r.buf) {
			return r.grow(want)
		}
	}
	return nil
}

// grow enlarges the buffer towards want, at most fourfold at a time: a server cannot make us allocate much
// more than it sends, and no more than a reply may have.
func (r *reader) grow(want int) error {
	n := max(2*len(r.buf), min(want, 4*len(r.buf)))
	if most := int64(r.maxHead) + r.maxBody + chunkRoom; int64(n) > most {
		n = max(int(most), want)
	}
	if !r.share.Hold(int64(n) + int64(len(r.buf))) { // both are there while one is copied
		return tooLarge(r.share.Over())
	}
	b := make([]byte, n)
	copy(b, r.buf[:r.w])
	r.buf = b
	r.share.Hold(int64(n))
	return nil
}

// chunkRoom is what may lie behind the largest body: the lines between chunks, and room to read.
const chunkRoom = 2 * maxChunkLine

// largeBody is the fault of a body above the limit.
func (r *reader) largeBody() error {
	return tooLarge("its body has more than " + strconv.FormatInt(r.maxBody, 10) + " bytes, the limit")
}

// feed parses n bytes more, with their time. It returns true at the end of a reply.
func (r *reader) feed(n int, at int64) (done bool, err error) {
	if r.w == 0 && r.reply.First == 0 {
		r.reply.First = at
	}
	r.reply.End = at
	r.w += n
	for {
		var more bool
		switch r.state {
		case inHead:
			more, done, err = r.head()
		case inLength:
			done = r.length(at)
		case untilClose:
			err = r.rest(at)
		default:
			more, done, err = r.chunked(at)
		}
		if err != nil || done || !more {
			break
		}
	}
	if err == nil && !done {
		err = r.makeSpace()
	}
	if err != nil || !done {
		return false, err
	}
	if r.pos < r.w {
		return false, malformed("bytes after the end of the reply")
	}
	r.setBody()
	return true, nil
}

// end tells whether the end of the connection completes a reply.
func (r *reader) end(cause error) bool {
	if r.state != untilClose || !isEOF(cause) {
		return false
	}
	r.setBody()
	return true
}

func (r *reader) setBody() {
	r.reply.Framed = r.buf[r.bodyAt-wire.Room : r.bodyEnd]
	r.reply.Body = r.reply.Framed[wire.Room:]
}

var headEnd = []byte("\r\n\r\n")

// head looks for a whole head and acts on it. more: go on with the next state.
func (r *reader) head() (more, done bool, err error) {
	b := r.buf[:r.w]
	if n := len(r.last); n > 0 && len(b) >= n && bytes.Equal(b[:n], r.last) {
		return r.accept(n, r.lastInfo)
	}
	if !likeHTTP(b) {
		return false, false, &fault{neterr.NotHTTP, "not an HTTP/1.x status line"}
	}
	// pos is where the last search ended; the terminator may straddle it.
	from := max(r.pos-len(headEnd)+1, 0)
	i := bytes.Index(b[from:], headEnd)
	if i < 0 {
		if len(b) > r.maxHead {
			return false, false, tooLarge("its head is above the limit")
		}
		r.pos = len(b)
		return false, false, nil
	}
	n := from + i + len(headEnd)
	if n > r.maxHead {
		return false, false, tooLarge("its head is above the limit")
	}
	in, err := parseHead(b[:n], r.number)
	if err != nil {
		return false, false, err
	}
	if in.status < 200 {
		return r.skipInterim(n, in)
	}
	r.last = append(r.last[:0], b[:n]...)
	r.lastInfo = in
	return r.accept(n, in)
}

func (r *reader) skipInterim(n int, in info) (more, done bool, err error) {
	r.interim++
	if in.status == 101 || r.interim > maxInterim {
		return false, false, malformed("an unexpected 1xx reply")
	}
	r.w = copy(r.buf, r.buf[n:r.w])
	r.pos = 0
	return r.w > 0, false, nil
}

// accept takes the final head of n bytes.
func (r *reader) accept(n int, in info) (more, done bool, err error) {
	r.pos, r.bodyAt, r.bodyEnd = n, n, n
	p := &r.reply
	p.Status, p.Number, p.Close = in.status, in.number, in.close
	p.Type, p.Encoding = r.buf[in.ctype.a:in.ctype.b], r.buf[in.cenc.a:in.cenc.b]
	p.Retry = r.buf[in.retry.a:in.retry.b]
	if in.length > r.maxBody {
		return false, false, r.largeBody()
	}
	r.stream = r.h.Head(p)
	switch {
	case in.chunked:
		r.state = inChunkSize
		return true, false, nil
	case in.length >= 0:
		r.state, r.left = inLength, in.length
		return true, false, nil
	default:
		p.Close = true
		r.state = untilClose
		return r.w > r.pos, false, nil
	}
}
