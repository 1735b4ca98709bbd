package h2

import (
	"encoding/binary"
	"errors"
	"slices"
	"time"

	"github.com/redline-bench/redline/internal/wire/neterr"
)

// release takes s out of the connection, tells the server where it may still wait for us, and lets waiting
// streams in. After it, s belongs to the caller.
func (c *Conn) release(s *Stream, reset bool, code uint32) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.forget(s, reset, code)
	c.admit()
}

func (c *Conn) forget(s *Stream, reset bool, code uint32) {
	if reset {
		c.out.Buf = appendShort(c.out.Buf, frameReset, s.id, code)
	}
	s.state = idle
	c.streams.remove(s)
	if s.blocked {
		c.blocked = slices.DeleteFunc(c.blocked, func(b *Stream) bool { return b == s })
		s.blocked = false
	}
	clear(s.unsent)
	s.unsent = s.unsent[:0]
	c.in.drop(s, c.cfg.MaxMessage)
}

// failStream ends one stream for a fault of the server.
func (c *Conn) failStream(s *Stream, err *neterr.Error, at int64) {
	c.release(s, true, err.Code)
	s.h.OnEnd(End{Err: err}, at)
}

// isCut tells whether Cancel has asked to end the exchange of s.
func (c *Conn) isCut(s *Stream) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := range c.cuts {
		if k := &c.cuts[i]; k.s == s && k.seq == s.seq {
			return true
		}
	}
	return false
}

// runCuts ends the exchanges that Cancel asked to end.
func (c *Conn) runCuts(at int64) {
	c.mu.Lock()
	if len(c.cuts) == 0 {
		c.mu.Unlock()
		return
	}
	c.cuts, c.in.cutsRun = c.in.cutsRun[:0], c.cuts
	c.mu.Unlock()
	for i := range c.in.cutsRun {
		k := &c.in.cutsRun[i]
		c.mu.Lock()
		live := k.s.seq == k.seq && k.s.state != idle
		if live && k.s.state == waiting {
			c.unqueue(k.s)
		} else if live {
			c.forget(k.s, true, codeCancel)
			c.admit()
		}
		c.mu.Unlock()
		if live {
			k.s.h.OnEnd(End{Err: &neterr.Error{Kind: neterr.Canceled, Err: k.cause}}, at)
		}
	}
	clear(c.in.cutsRun)
}

func (c *Conn) unqueue(s *Stream) {
	c.queue = slices.DeleteFunc(c.queue, func(q *Stream) bool { return q == s })
	s.state = idle
	clear(s.unsent)
	s.unsent = s.unsent[:0]
}

// fail ends the connection and all of its streams.
func (c *Conn) fail(err error, at int64) error {
	var own *neterr.Error
	c.mu.Lock()
	switch {
	case c.err != nil:
		own = c.err
	case err == nil:
		own = &neterr.Error{Kind: neterr.GoAway, Text: "the server asked to leave the connection", Unprocessed: true}
	case !errors.As(err, &own):
		own = readError(err)
		if c.farewell != "" {
			own.Text = c.farewell
		}
	}
	c.err = own
	if own.Kind == neterr.Malformed && !c.out.Busy() { // tell the server, as far as one write does
		bye := appendFrameHeader(nil, 8, frameGoAway, 0, 0)
		bye = binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(bye, 0), own.Code)
		_ = c.nc.SetWriteDeadline(time.Now().Add(100 * time.Millisecond))
		_, _ = c.nc.Write(bye)
	}
	_ = c.nc.Close()
	failing := c.streams.all()
	for _, s := range failing {
		c.forget(s, false, 0)
	}
	for len(c.queue) > 0 {
		failing = append(failing, c.queue[0])
		c.unqueue(c.queue[0])
	}
	c.cuts = nil
	c.mu.Unlock()
	c.in.free, c.in.kept = nil, 0
	c.in.share.Release()
	c.in.unzip.Share.Release()

	c.lock()
	for _, s := range failing {
		s.h.OnEnd(End{Err: own}, at)
	}
	c.unlock()
	c.out.Wait()
	if err == nil && own.Kind == neterr.GoAway {
		return nil
	}
	return own
}
