package h2

import "encoding/binary"

// The frame types.
const (
	frameData         = 0x0
	frameHeaders      = 0x1
	framePriority     = 0x2
	frameReset        = 0x3
	frameSettings     = 0x4
	framePush         = 0x5
	framePing         = 0x6
	frameGoAway       = 0x7
	frameWindow       = 0x8
	frameContinuation = 0x9
)

// The frame flags; which apply depends on the type.
const (
	flagEndStream  = 0x1
	flagAck        = 0x1
	flagEndHeaders = 0x4
	flagPadded     = 0x8
	flagPriority   = 0x20
)

// The settings.
const (
	settingTableSize   = 0x1
	settingPush        = 0x2
	settingMaxStreams  = 0x3
	settingWindow      = 0x4
	settingFrameSize   = 0x5
	settingHeaderBytes = 0x6
)

const (
	preface        = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
	frameHeaderLen = 9
	minFrameSize   = 1 << 14   // what every peer accepts, and the default
	maxFrameSize   = 1<<24 - 1 // the largest a peer may announce
	maxWindow      = 1<<31 - 1
	defaultWindow  = 1<<16 - 1
	maxStreamID    = 1<<31 - 1

	// What we announce. DATA is handled as it arrives and nothing waits behind it, so that a window has no
	// use for us but to be out of the way: both are as large as is safe, and given back by halves.
	ourWindow      = 1 << 30
	ourFrameSize   = 1 << 20
	ourHeaderBytes = 1 << 18
)

type frameHeader struct {
	length int
	typ    byte
	flags  byte
	stream uint32
}

func parseFrameHeader(b []byte) frameHeader {
	_ = b[8]
	return frameHeader{
		length: int(b[0])<<16 | int(b[1])<<8 | int(b[2]),
		typ:    b[3],
		flags:  b[4],
		stream: binary.BigEndian.Uint32(b[5:]) & maxStreamID,
	}
}

func (h frameHeader) has(flag byte) bool { return h.flags&flag != 0 }

func appendFrameHeader(dst []byte, length int, typ, flags byte, stream uint32) []byte {
	return append(dst, byte(length>>16), byte(length>>8), byte(length), typ, flags,
		byte(stream>>24), byte(stream>>16), byte(stream>>8), byte(stream))
}

// appendShort adds a frame whose payload is one 32-bit number: RST_STREAM and WINDOW_UPDATE.
func appendShort(dst []byte, typ byte, stream, n uint32) []byte {
	dst = appendFrameHeader(dst, 4, typ, 0, stream)
	return binary.BigEndian.AppendUint32(dst, n)
}

func appendSetting(dst []byte, id uint16, value uint32) []byte {
	return binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint16(dst, id), value)
}

// appendHello adds what a client opens a connection with.
func appendHello(dst []byte) []byte {
	dst = append(dst, preface...)
	dst = appendFrameHeader(dst, 4*6, frameSettings, 0, 0)
	dst = appendSetting(dst, settingPush, 0)
	dst = appendSetting(dst, settingWindow, ourWindow)
	dst = appendSetting(dst, settingFrameSize, ourFrameSize)
	dst = appendSetting(dst, settingHeaderBytes, ourHeaderBytes)
	return appendShort(dst, frameWindow, 0, ourWindow-defaultWindow)
}

// unpad removes the padding of a HEADERS frame's payload; ok is false where it is longer than the frame.
func unpad(p []byte) (rest []byte, ok bool) {
	if len(p) == 0 || int(p[0]) > len(p)-1 {
		return nil, false
	}
	return p[1 : len(p)-int(p[0])], true
}
