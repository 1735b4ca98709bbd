package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// bareReader measures the smallest cost of streams in Go: one goroutine per connection sends a request, reads until the end of the
// response, counts the events and reads the clock at each read. It is a separate process, this program with the argument reader,
// so that its CPU time can be measured.
type bareReader struct {
	addr     string
	path     string
	body     string
	streams  int
	requests int

	events atomic.Int64
	left   atomic.Int64
	last   atomic.Int64 // the time of a read, so that the compiler does not remove the clock reading
}

// parseReader reads the arguments: ADDRESS, PATH, STREAMS, REQUESTS and the body.
func parseReader(args []string) (*bareReader, error) {
	if len(args) != 5 {
		return nil, errors.New("reader wants ADDRESS PATH STREAMS REQUESTS BODY")
	}
	b := &bareReader{addr: args[0], path: args[1], body: args[4]}
	var err error
	if b.streams, err = strconv.Atoi(args[2]); err != nil {
		return nil, err
	}
	b.requests, err = strconv.Atoi(args[3])
	return b, err
}

func runReader(args []string) error {
	b, err := parseReader(args)
	if err != nil {
		return err
	}
	return b.run(context.Background())
}

func (b *bareReader) run(ctx context.Context) error {
	b.left.Store(int64(b.requests))
	request := fmt.Appendf(nil, "POST %s HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s",
		b.path, b.addr, len(b.body), b.body)
	errs := make(chan error, b.streams)
	var wg sync.WaitGroup
	for range b.streams {
		wg.Go(func() {
			if err := b.read(ctx, request); err != nil {
				errs <- err
			}
		})
	}
	wg.Wait()
	close(errs)
	if err := <-errs; err != nil {
		return err
	}
	fmt.Printf("events %d\n", b.events.Load())
	return nil
}

func (b *bareReader) read(ctx context.Context, request []byte) error {
	nc, err := new(net.Dialer).DialContext(ctx, "tcp", b.addr)
	if err != nil {
		return err
	}
	defer nc.Close()
	buf := make([]byte, 4<<10)
	end, mark := []byte("\r\n0\r\n\r\n"), []byte("data: {")
	for b.left.Add(-1) >= 0 {
		if _, err := nc.Write(request); err != nil {
			return err
		}
		var events int64
		for tail := false; !tail; {
			n, err := nc.Read(buf)
			if err != nil {
				return err
			}
			b.last.Store(time.Now().UnixNano())
			events += int64(bytes.Count(buf[:n], mark))
			tail = bytes.HasSuffix(buf[:n], end) || bytes.Equal(buf[:n], end[2:])
		}
		b.events.Add(events)
	}
	return nil
}
