package outbox_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/redline-bench/redline/internal/testkit"
	"github.com/redline-bench/redline/internal/wire/h2/outbox"
)

// sender is an owner of a box, as a connection is.
type sender struct {
	nc  net.Conn
	mu  sync.Mutex
	box outbox.Box
	err chan error
}

// pair connects a sender to a peer. With plain unset the sender's end hides that it is a socket.
func pair(t *testing.T, plain bool) (*sender, *net.TCPConn) {
	t.Helper()
	near, far := testkit.TCPPair(t)
	s := &sender{nc: near, err: make(chan error, 10)}
	if !plain {
		s.nc = struct{ net.Conn }{near}
	}
	s.box.Init(s.nc, &s.mu, func(err error) { s.err <- err })
	t.Cleanup(func() {
		_ = near.Close()
		_ = far.Close()
		s.box.Wait()
	})
	return s, far
}

func TestFlushDoesNotWait(t *testing.T) {
	for _, plain := range []bool{true, false} {
		s, far := pair(t, plain)
		large := bytes.Repeat([]byte("0123456789abcdef"), 1<<20) // more than any socket buffer
		s.mu.Lock()
		s.box.Buf = append(s.box.Buf, "before"...)
		for i := 0; i < len(large); i += 1 << 20 {
			s.box.Add(large[i : i+1<<20])
		}
		s.box.Add([]byte("after"))
		s.mu.Unlock()
		s.box.Flush() // nobody reads yet
		s.mu.Lock()
		s.box.Add([]byte("and more"))
		s.mu.Unlock()
		s.box.Flush()
		want := append(append([]byte("before"), large...), "afterand more"...)
		got := make([]byte, len(want))
		_ = far.SetReadDeadline(time.Now().Add(testkit.Limit))
		if _, err := io.ReadFull(far, got); err != nil || !bytes.Equal(got, want) {
			t.Errorf("plain %v: %v, or the bytes are not in order", plain, err)
		}
	}
}

// Frames of several goroutines arrive whole and, for each goroutine, in order.
func TestConcurrentFlush(t *testing.T) {
	for _, plain := range []bool{true, false} {
		s, far := pair(t, plain)
		const writers, each = 4, 2000
		var wg sync.WaitGroup
		for w := range writers {
			wg.Go(func() {
				frame := make([]byte, 16)
				for i := range each {
					binary.LittleEndian.PutUint64(frame, uint64(w))
					binary.LittleEndian.PutUint64(frame[8:], uint64(i))
					s.mu.Lock()
					s.box.Add(frame)
					s.mu.Unlock()
					s.box.Flush()
				}
			})
		}
		var next [writers]uint64
		frame := make([]byte, 16)
		_ = far.SetReadDeadline(time.Now().Add(testkit.Limit))
		for range writers * each {
			if _, err := io.ReadFull(far, frame); err != nil {
				t.Fatal(err)
			}
			w, i := binary.LittleEndian.Uint64(frame), binary.LittleEndian.Uint64(frame[8:])
			if w >= writers || next[w] != i {
				t.Fatalf("plain %v: frame %d of writer %d came out of turn", plain, i, w)
			}
			next[w]++
		}
		wg.Wait()
	}
}

// A write to a connection that the peer has reset is told once, and nothing is written after it.
func TestBroken(t *testing.T) {
	for _, plain := range []bool{true, false} {
		s, far := pair(t, plain)
		if err := errors.Join(far.SetLinger(0), far.Close()); err != nil { // a reset
			t.Fatal(err)
		}
		if _, err := s.nc.Read(make([]byte, 1)); !errors.Is(err, syscall.ECONNRESET) {
			t.Fatalf("plain %v: the reset did not come: %v", plain, err)
		}
		s.mu.Lock()
		s.box.Add(make([]byte, 100))
		s.mu.Unlock()
		s.box.Flush()
		if err := <-s.err; !errors.Is(err, syscall.EPIPE) {
			t.Errorf("plain %v: %v", plain, err)
		}
		s.mu.Lock()
		s.box.Add(make([]byte, 100))
		s.mu.Unlock()
		s.box.Flush() // does nothing
		_ = s.nc.Close()
		s.box.Wait()
		if len(s.err) > 0 {
			t.Errorf("plain %v: told again: %v", plain, <-s.err)
		}
	}
}

// BenchmarkFlush writes a message of a megabyte as frames of 16 KiB, each a short piece and a long one.
func BenchmarkFlush(b *testing.B) {
	near, far := testkit.TCPPair(b)
	var mu sync.Mutex
	var box outbox.Box
	box.Init(near, &mu, func(error) {})
	const size, piece = 1 << 20, 16 << 10
	message, got := make([]byte, size), make([]byte, size+size/piece*9)
	b.SetBytes(size)
	b.ReportAllocs()
	for b.Loop() {
		mu.Lock()
		for i := 0; i < size; i += piece {
			box.Buf = append(box.Buf, "123456789"...)
			box.Add(message[i : i+piece])
		}
		mu.Unlock()
		box.Flush()
		if _, err := io.ReadFull(far, got); err != nil {
			b.Fatal(err)
		}
	}
	_ = near.Close()
	_ = far.Close()
	box.Wait()
}
