package h2_test

import (
	"encoding/binary"
	"io"
	"net"
	"sync"
	"testing"

	"github.com/redline-bench/redline/internal/wire/h2/hpack"
)

// canned is a server that answers every request at once with the same bytes. It knows just enough of HTTP/2
// to find where requests end, and costs so little that benchmarks measure the client.
type canned struct {
	ln     net.Listener
	answer []byte // the message
	wg     sync.WaitGroup
}

func startCanned(tb testing.TB, answer []byte) *canned {
	tb.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	s := &canned{ln: ln, answer: answer}
	s.wg.Go(func() {
		for {
			nc, err := ln.Accept()
			if err != nil {
				return
			}
			s.wg.Go(func() { s.serve(nc) })
		}
	})
	tb.Cleanup(func() {
		_ = ln.Close()
		s.wg.Wait()
	})
	return s
}

func (s *canned) addr() string { return s.ln.Addr().String() }

func (s *canned) serve(nc net.Conn) {
	defer func() { _ = nc.Close() }()
	hello := make([]byte, 24)
	if _, err := io.ReadFull(nc, hello); err != nil {
		return
	}
	out := appendFrame(nil, 4, 0, 0, []byte{0, 4, 0x7f, 0xff, 0xff, 0xff}) // streams may send without end
	out = appendFrame(out, 8, 0, 0, binary.BigEndian.AppendUint32(nil, 1<<30))
	enc := hpack.NewEncoder()
	head := []hpack.Field{{Name: ":status", Value: "200"}, {Name: "content-type", Value: "application/grpc"}, {Name: "grpc-accept-encoding", Value: "identity"}}
	tail := []hpack.Field{{Name: "grpc-status", Value: "0"}}
	msg := binary.BigEndian.AppendUint32([]byte{0}, uint32(len(s.answer)))
	msg = append(msg, s.answer...)
	buf := make([]byte, 0, 256<<10)
	var scratch []byte
	used := 0
	for {
		if _, err := nc.Write(out); err != nil {
			return
		}
		out = out[:0]
		if cap(buf)-len(buf) < 64<<10 {
			buf = append(make([]byte, 0, 256<<10), buf...)
		}
		n, err := nc.Read(buf[len(buf):cap(buf)])
		if err != nil {
			return
		}
		buf = buf[:len(buf)+n]
		at := 0
		for len(buf)-at >= 9 {
			h := buf[at : at+9]
			size := int(h[0])<<16 | int(h[1])<<8 | int(h[2])
			if len(buf)-at < 9+size {
				break
			}
			at += 9 + size
			id := binary.BigEndian.Uint32(h[5:])
			if h[3] != 0 {
				continue
			}
			if used += size; used > 1<<28 {
				out = appendFrame(out, 8, 0, 0, binary.BigEndian.AppendUint32(nil, uint32(used)))
				used = 0
			}
			if h[4]&1 == 0 {
				continue
			}
			scratch = enc.Append(scratch[:0], head)
			out = appendFrame(out, 1, 4, id, scratch)
			for m := msg; len(m) > 0; {
				k := min(len(m), 1<<14)
				out = appendFrame(out, 0, 0, id, m[:k])
				m = m[k:]
			}
			scratch = enc.Append(scratch[:0], tail)
			out = appendFrame(out, 1, 5, id, scratch)
		}
		buf = append(buf[:0], buf[at:]...)
	}
}

func appendFrame(dst []byte, typ, flags byte, id uint32, p []byte) []byte {
	dst = append(dst, byte(len(p)>>16), byte(len(p)>>8), byte(len(p)), typ, flags)
	return append(binary.BigEndian.AppendUint32(dst, id), p...)
}
