package h2

import (
	"bytes"
	"errors"
	"io"
	"os"
	"time"

	"github.com/redline-bench/redline/internal/clock"
	"github.com/redline-bench/redline/internal/wire/budget"
	"github.com/redline-bench/redline/internal/wire/h2/zip"
	"github.com/redline-bench/redline/internal/wire/neterr"
)

// reader is the receiving half of a connection. Only Serve's goroutine touches it (and Dial before it).
type reader struct {
	buf  []byte
	r, w int // unread bytes are buf[r:w]

	settled bool // the server's settings have come
	win     int64
	late    int64 // how long the last read's bytes lay unread, where that is known

	// A DATA frame that is being read: bytes of payload and padding still to come, and where they go.
	inData  bool
	data    int
	pad     int
	dataEnd bool
	dst     *Stream

	// A header block that is being gathered over CONTINUATION frames.
	block    []byte
	blockOf  uint32
	blockEnd bool

	meta  metaReader
	unzip zip.Unpacker
	// unpacking is the stream whose message is being unpacked, and stop tells whether to give that up.
	unpacking *Stream
	stop      func() bool

	free    [][]byte     // assembly buffers not in use
	kept    int          // bytes of those
	unread  int          // bytes of the assembly buffers that are in use
	share   budget.Share // of both
	last    *Stream      // the stream of the last lookup
	cutsRun []cut
}

// The read buffer starts small, so that many connections cost little, and grows where reads fill it.
const (
	firstRead = 16 << 10
	readSize  = 64 << 10
)

func (in *reader) init(b *budget.Budget) {
	in.share, in.unzip.Share = b.Share(), b.Share()
	in.buf = make([]byte, firstRead)
	in.win = ourWindow
	in.meta.init()
}

// Serve reads until the connection ends, and returns why; every stream has ended then. It returns nil when a
// connection that the server asked to leave has no streams any more.
func (c *Conn) Serve() error {
	for {
		n, err := c.fill()
		at := c.arrived(n)
		read := at + c.in.late
		if n < 0 { // woken by Cancel
			_ = c.nc.SetReadDeadline(time.Time{})
			err = nil
		}
		c.lock()
		if n > 0 {
			if ferr := c.feed(at); ferr != nil {
				err = ferr
			}
		}
		for err == nil && c.plain() && c.came.More() { // what came with the same read, at other times
			if n, err = c.fill(); err == nil {
				at = c.arrived(n)
				err = c.feed(at)
			}
		}
		c.runCuts(at + c.in.late)
		c.unlock()
		if err != nil {
			return c.fail(err, at)
		}
		c.Flush()
		if c.cfg.Busy != nil {
			c.cfg.Busy.Add(clock.Now() - read)
		}
		if c.spent() {
			return c.fail(nil, at)
		}
	}
}

// arrived is when the last read's n bytes came.
func (c *Conn) arrived(n int) (at int64) {
	if c.in.late = 0; n <= 0 || c.came == nil {
		return clock.Now()
	}
	at, c.in.late = c.came.Last()
	return at
}

func (c *Conn) lock() {
	if c.cfg.Lock != nil {
		c.cfg.Lock.Lock()
	}
}

func (c *Conn) unlock() {
	if c.cfg.Lock != nil {
		c.cfg.Lock.Unlock()
	}
}

// spent tells whether a draining connection has nothing left to do.
func (c *Conn) spent() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.draining && c.streams.live == 0 && len(c.queue) == 0
}

// fill reads once. It returns -1 when Cancel woke it.
func (c *Conn) fill() (int, error) {
	in := &c.in
	if in.r == in.w {
		if in.w == len(in.buf) && len(in.buf) < readSize {
			in.buf = make([]byte, 2*len(in.buf))
		}
		in.r, in.w = 0, 0
		if dst := in.direct(c.cfg.MaxUnread); dst != nil {
			n, err := c.readLarge(dst)
			in.commit(n)
			return c.woken(n, err)
		}
	} else if in.r > 0 {
		in.w = copy(in.buf, in.buf[in.r:in.w])
		in.r = 0
	}
	if in.w == len(in.buf) { // a frame larger than the buffer; its size was checked
		in.buf = append(in.buf, make([]byte, len(in.buf))...)
	}
	if c.came != nil {
		c.came.Expect(in.data)
	}
	n, err := c.src.Read(in.buf[in.w:])
	in.w += n
	return c.woken(n, err)
}

// readLarge reads into the message itself.
func (c *Conn) readLarge(b []byte) (int, error) {
	if c.plain() {
		return c.came.ReadLarge(b)
	}
	return c.src.Read(b)
}

// plain tells whether the reads themselves tell when bytes came, with no TLS in between.
func (c *Conn) plain() bool { return c.came != nil && c.cfg.TLS == nil }

// Late is how long what is at hand lay unread; 0 where that is not known. Only handlers may call it.
func (c *Conn) Late() int64 { return c.in.late }

func (c *Conn) woken(n int, err error) (int, error) {
	if n == 0 && err == nil {
		return 0, io.ErrNoProgress
	}
	if n == 0 && errors.Is(err, os.ErrDeadlineExceeded) && c.in.settled {
		return -1, nil
	}
	return n, err
}

// feed handles every whole frame in the buffer, and DATA as far as it has come.
func (c *Conn) feed(at int64) error {
	in := &c.in
	for {
		if in.inData {
			if !c.feedData(at) {
				return nil
			}
			continue
		}
		b := in.buf[in.r:in.w]
		if !in.settled {
			if err := notHTTP2(b); err != nil {
				return err
			}
		}
		if len(b) < frameHeaderLen {
			return nil
		}
		h := parseFrameHeader(b)
		if err := c.check(h); err != nil {
			return err
		}
		if h.typ == frameData {
			pad := 0
			if h.has(flagPadded) {
				if len(b) == frameHeaderLen && h.length > 0 {
					return nil
				}
				if h.length == 0 || int(b[frameHeaderLen]) >= h.length {
					return violation(codeProtocol, "padding is longer than its frame")
				}
				pad = int(b[frameHeaderLen]) + 1
				in.r++
			}
			in.r += frameHeaderLen
			if err := c.beginData(h, pad, at); err != nil {
				return err
			}
			continue
		}
		if len(b) < frameHeaderLen+h.length {
			return nil
		}
		in.r += frameHeaderLen + h.length
		if err := c.frameIn(h, b[frameHeaderLen:frameHeaderLen+h.length], at); err != nil {
			return err
		}
	}
}

// notHTTP2 recognizes a server that speaks something else, by the first bytes that it sends.
func notHTTP2(b []byte) error {
	const http1 = "HTTP/"
	if n := min(len(b), len(http1)); n > 0 && string(b[:n]) == http1[:n] {
		if len(b) < len(http1) {
			return nil // the frame's length could begin so; wait for more
		}
		line, _, _ := bytes.Cut(b, []byte("\r\n"))
		return &neterr.Error{Kind: neterr.NotHTTP, Err: neterr.ErrHTTP1, Text: "the server answered " + string(line[:min(len(line), 60)])}
	}
	if len(b) >= frameHeaderLen {
		if h := parseFrameHeader(b); h.typ != frameSettings || h.has(flagAck) || h.stream != 0 || h.length > minFrameSize {
			return &neterr.Error{Kind: neterr.NotHTTP, Text: "the server does not speak HTTP/2: its first bytes are not a SETTINGS frame"}
		}
	}
	return nil
}

// check holds a frame header against what must be true of all frames.
func (c *Conn) check(h frameHeader) error {
	if h.length > ourFrameSize {
		return violation(codeFrameSize, "a frame of %d bytes is larger than allowed", h.length)
	}
	if c.in.blockOf != 0 && (h.typ != frameContinuation || h.stream != c.in.blockOf) {
		return violation(codeProtocol, "a frame of type %d interrupts a header block", h.typ)
	}
	switch h.typ {
	case frameData, frameHeaders, framePriority, frameReset, frameContinuation:
		if h.stream == 0 {
			return violation(codeProtocol, "a frame of type %d lacks its stream", h.typ)
		}
	case frameSettings, framePing, frameGoAway:
		if h.stream != 0 {
			return violation(codeProtocol, "a frame of type %d has a stream", h.typ)
		}
	}
	return nil
}

// frameIn handles one whole frame that is not DATA.
func (c *Conn) frameIn(h frameHeader, p []byte, at int64) error {
	switch h.typ {
	case frameHeaders:
		return c.headersIn(h, p, at)
	case frameContinuation:
		return c.continuationIn(h, p, at)
	case frameSettings:
		return c.settingsIn(h, p)
	case frameWindow:
		return c.windowIn(h, p, at)
	case frameReset:
		return c.resetIn(h, p, at)
	case framePing:
		return c.pingIn(h, p)
	case frameGoAway:
		return c.goAwayIn(p, at)
	case framePush:
		return violation(codeProtocol, "the server pushes, which was forbidden")
	case framePriority:
		if len(p) != 5 {
			return violation(codeFrameSize, "a PRIORITY frame has %d bytes", len(p))
		}
	}
	return nil // a type that we do not know: to be ignored
}

// find returns the live stream of an id; nil for one that has ended. An id that was never used is an error.
func (c *Conn) find(id uint32) (*Stream, error) {
	if s := c.in.last; s != nil && s.id == id {
		return s, nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if id&1 == 0 || id >= c.nextID {
		return nil, violation(codeProtocol, "a frame for stream %d, which was never opened", id)
	}
	s := c.streams.get(id)
	c.in.last = s
	return s, nil
}
