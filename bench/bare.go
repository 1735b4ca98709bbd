package main

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"time"

	"github.com/redline-bench/redline/internal/wire/h2/hpack"
)

// frame puts the prefix of a gRPC message before it.
func frame(message []byte) []byte {
	return append(binary.BigEndian.AppendUint32([]byte{0}, uint32(len(message))), message...)
}

// bare is a closed loop of gRPC calls that knows nothing except HTTP/2's frames: it sends the same bytes and counts the
// ends of streams. Its arguments are ADDRESS, IN FLIGHT, REQUESTS and the file with the framed message.
func bare(args []string) error {
	if len(args) != 4 {
		return errors.New("bare wants ADDRESS IN-FLIGHT REQUESTS FILE")
	}
	inFlight, err := strconv.Atoi(args[1])
	if err != nil {
		return err
	}
	n, err := strconv.Atoi(args[2])
	if err != nil {
		return err
	}
	message, err := os.ReadFile(args[3])
	if err != nil {
		return err
	}
	nc, err := net.Dial("tcp", args[0])
	if err != nil {
		return err
	}
	defer nc.Close()
	l := &bareLoop{nc: nc, enc: hpack.NewEncoder(), addr: args[0], message: message, left: n, next: 1, buf: make([]byte, 64<<10)}
	l.out = append(l.out, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"...)
	l.frame(4, 0, 0, []byte{0, 4, 0x3f, 0xff, 0xff, 0xff})      // streams may send without end
	l.frame(8, 0, 0, binary.BigEndian.AppendUint32(nil, 1<<30)) // and so may the connection
	for range inFlight {
		l.open()
	}
	start := time.Now()
	for done := 0; done < n; {
		k, err := l.turn()
		if err != nil {
			return err
		}
		done += k
	}
	fmt.Printf("Throughput: %.1f infer/sec\n", float64(n)/time.Since(start).Seconds())
	return nil
}

type bareLoop struct {
	nc      net.Conn
	enc     *hpack.Encoder
	addr    string
	message []byte
	left    int
	next    uint32
	out     []byte
	buf     []byte
	have    int // bytes of an unfinished frame in buf
	taken   int // bytes of data since the window was last given back
}

func (l *bareLoop) frame(typ, flags byte, stream uint32, p []byte) {
	l.out = append(l.out, byte(len(p)>>16), byte(len(p)>>8), byte(len(p)), typ, flags)
	l.out = append(binary.BigEndian.AppendUint32(l.out, stream), p...)
}

// open sends one more request, if any is left.
func (l *bareLoop) open() {
	if l.left == 0 {
		return
	}
	l.left--
	block := l.enc.Append(nil, []hpack.Field{
		{Name: ":method", Value: "POST"},
		{Name: ":scheme", Value: "http"},
		{Name: ":authority", Value: l.addr},
		{Name: ":path", Value: "/inference.GRPCInferenceService/ModelInfer"},
		{Name: "content-type", Value: "application/grpc"},
		{Name: "te", Value: "trailers"},
	})
	l.frame(1, 4, l.next, block)
	l.frame(0, 1, l.next, l.message)
	l.next += 2
}

// turn writes what is due, reads once, and returns how many streams have ended.
func (l *bareLoop) turn() (ended int, err error) {
	if len(l.out) > 0 {
		if _, err := l.nc.Write(l.out); err != nil {
			return 0, err
		}
		l.out = l.out[:0]
	}
	n, err := l.nc.Read(l.buf[l.have:])
	if err != nil {
		return 0, err
	}
	b := l.buf[:l.have+n]
	for len(b) >= 9 {
		size := int(b[0])<<16 | int(b[1])<<8 | int(b[2])
		if size > len(l.buf)-9 {
			return 0, io.ErrShortBuffer
		}
		if len(b) < 9+size {
			break
		}
		typ, flags := b[3], b[4]
		switch {
		case typ == 0:
			l.taken += size
		case typ == 1 && flags&1 != 0: // the trailers
			ended++
			l.open()
		case typ == 3 || typ == 7:
			return 0, fmt.Errorf("the server ended a stream or the connection: frame type %d", typ)
		case (typ == 4 || typ == 6) && flags&1 == 0: // settings and pings are acknowledged
			p := b[9 : 9+size]
			if typ == 4 {
				p = nil
			}
			l.frame(typ, 1, 0, p)
		}
		b = b[9+size:]
	}
	l.have = copy(l.buf, b)
	if l.taken > 1<<28 {
		l.frame(8, 0, 0, binary.BigEndian.AppendUint32(nil, uint32(l.taken)))
		l.taken = 0
	}
	return ended, nil
}
