package h2

import (
	"encoding/binary"
	"fmt"

	"github.com/redline-bench/redline/internal/wire/neterr"
)

// settingsIn applies the server's settings and acknowledges them.
func (c *Conn) settingsIn(h frameHeader, p []byte) error {
	if h.has(flagAck) {
		if len(p) != 0 {
			return violation(codeFrameSize, "a SETTINGS acknowledgment has a payload")
		}
		return nil
	}
	if len(p)%6 != 0 {
		return violation(codeFrameSize, "a SETTINGS frame has %d bytes", len(p))
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for ; len(p) > 0; p = p[6:] {
		if err := c.setting(binary.BigEndian.Uint16(p), binary.BigEndian.Uint32(p[2:])); err != nil {
			return err
		}
	}
	c.in.settled = true
	c.out.Buf = appendFrameHeader(c.out.Buf, 0, frameSettings, flagAck, 0)
	c.pump()
	c.admit()
	return c.answered(frameHeaderLen)
}

// maxAnswers bounds the bytes of unsent answers to SETTINGS and PING frames. A server that reads what it asks for never
// comes near it: Serve writes after each read, and a read is far smaller.
const maxAnswers = 1 << 20

// answered counts n bytes that answer a frame of the server, with the mutex held. It fails where too many are unsent.
func (c *Conn) answered(n int) error {
	if c.out.Answers += n; c.out.Answers > maxAnswers {
		return violation(codeEnhanceCalm, "the server sends SETTINGS or PING frames and does not read the answers: %d bytes of them are unsent", c.out.Answers)
	}
	return nil
}

func (c *Conn) setting(id uint16, v uint32) error {
	switch id {
	case settingTableSize:
		c.enc.Limit(v)
	case settingMaxStreams:
		c.peer.maxStreams = v
	case settingWindow:
		if v > maxWindow {
			return violation(codeFlow, "a window of %d bytes is too large", v)
		}
		delta := int64(v) - c.peer.window
		c.peer.window = int64(v)
		for _, s := range c.streams.all() {
			if s.win += delta; s.win > maxWindow {
				return violation(codeFlow, "the window of stream %d grows too large", s.id)
			}
		}
	case settingFrameSize:
		if v < minFrameSize || v > maxFrameSize {
			return violation(codeProtocol, "a frame size of %d bytes is not allowed", v)
		}
		c.peer.frameSize = int(v)
	case settingPush:
		if v > 1 {
			return violation(codeProtocol, "ENABLE_PUSH is %d", v)
		}
	}
	return nil
}

// windowIn lets us send more.
func (c *Conn) windowIn(h frameHeader, p []byte, at int64) error {
	if len(p) != 4 {
		return violation(codeFrameSize, "a WINDOW_UPDATE frame has %d bytes", len(p))
	}
	n := int64(binary.BigEndian.Uint32(p) & maxWindow)
	if h.stream == 0 {
		if n == 0 {
			return violation(codeProtocol, "a WINDOW_UPDATE adds nothing")
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.win += n; c.win > maxWindow {
			return violation(codeFlow, "the connection's window grows too large")
		}
		c.pump()
		return nil
	}
	s, err := c.find(h.stream)
	if s == nil || err != nil {
		return err
	}
	if n == 0 {
		c.failStream(s, violation(codeProtocol, "a WINDOW_UPDATE adds nothing"), at)
		return nil
	}
	c.mu.Lock()
	s.win += n
	over := s.win > maxWindow
	if !over && s.blocked {
		c.pump()
	}
	c.mu.Unlock()
	if over {
		c.failStream(s, violation(codeFlow, "the stream's window grows too large"), at)
	}
	return nil
}

func (c *Conn) resetIn(h frameHeader, p []byte, at int64) error {
	if len(p) != 4 {
		return violation(codeFrameSize, "a RST_STREAM frame has %d bytes", len(p))
	}
	s, err := c.find(h.stream)
	if s == nil || err != nil {
		return err
	}
	code := binary.BigEndian.Uint32(p)
	refused := code == codeRefused && !s.in.headers // who has begun to answer has looked at the request
	c.release(s, false, 0)
	s.h.OnEnd(End{Err: &neterr.Error{
		Kind: neterr.StreamReset, Code: code, Text: "the server reset the stream: " + codeName(code), Unprocessed: refused,
	}}, at)
	return nil
}

func (c *Conn) pingIn(h frameHeader, p []byte) error {
	if len(p) != 8 {
		return violation(codeFrameSize, "a PING frame has %d bytes", len(p))
	}
	if h.has(flagAck) {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.out.Buf = append(appendFrameHeader(c.out.Buf, 8, framePing, flagAck, 0), p...)
	return c.answered(frameHeaderLen + 8)
}

// goAwayIn ends the streams that the server will not handle; the others go on.
func (c *Conn) goAwayIn(p []byte, at int64) error {
	if len(p) < 8 {
		return violation(codeFrameSize, "a GOAWAY frame has %d bytes", len(p))
	}
	last, code := binary.BigEndian.Uint32(p)&maxStreamID, binary.BigEndian.Uint32(p[4:])
	text := "the server asked to leave the connection"
	if code != codeNo {
		text = fmt.Sprintf("the server ended the connection: %s %.200q", codeName(code), p[8:])
	}
	err := &neterr.Error{Kind: neterr.GoAway, Code: code, Text: text, Unprocessed: true}
	c.mu.Lock()
	if code != codeNo {
		c.farewell = text
	}
	c.drain()
	ended := append([]*Stream(nil), c.queue...)
	for _, s := range ended {
		c.unqueue(s)
	}
	for _, s := range c.streams.all() {
		if s.id > last {
			c.forget(s, false, 0)
			ended = append(ended, s)
		}
	}
	c.mu.Unlock()
	for _, s := range ended {
		s.h.OnEnd(End{Err: err}, at)
	}
	return nil
}
