// Package reqlog logs when each request was received and when its response was written, for a stream also when each event was
// written. Tests compare a client's measurements with it. The log has one JSON object per line.
package reqlog

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"sync"
	"time"

	"google.golang.org/grpc/metadata"
)

// Log accepts lines from many goroutines. A nil Log drops them.
type Log struct {
	mu     sync.RWMutex // held while lines may still be sent
	closed bool
	lines  chan []byte
	done   chan struct{}
	err    error
}

// New starts a log that writes to w.
func New(w io.Writer) *Log {
	l := &Log{lines: make(chan []byte, 4096), done: make(chan struct{})}
	go l.write(w)
	return l
}

// On reports whether there is a log.
func (l *Log) On() bool { return l != nil }

// Entry is one request and its response. Times are nanoseconds of the wall clock.
type Entry struct {
	Model string `json:"model"`
	ID    string `json:"id"`
	// Parent is the request's traceparent, if it has one.
	Parent string `json:"traceparent,omitempty"`
	// Received and Replied are when the request was complete and when the response had been written.
	Received int64 `json:"received_ns"`
	Replied  int64 `json:"replied_ns"`
	// Events are when each event of a streamed response was written, and Tokens, if known, how many tokens each had.
	Events []int64 `json:"events_ns,omitempty"`
	Tokens []int   `json:"tokens,omitempty"`
}

// Add logs a request that was received at this time, and has its response now.
func (l *Log) Add(received time.Time, e Entry) {
	if l == nil {
		return
	}
	if e.Received = received.UnixNano(); e.Replied == 0 {
		e.Replied = time.Now().UnixNano()
	}
	line, err := json.Marshal(e)
	l.mu.RLock()
	defer l.mu.RUnlock()
	if err == nil && !l.closed { // numbers and texts can always be written
		l.lines <- append(line, '\n')
	}
}

// ParentOf is the traceparent of a call over gRPC; empty if it has none.
func ParentOf(ctx context.Context) string {
	return append(metadata.ValueFromIncomingContext(ctx, "traceparent"), "")[0]
}

// Close writes what is left. What is added afterwards is lost.
func (l *Log) Close() error {
	if l == nil {
		return nil
	}
	l.mu.Lock()
	if !l.closed {
		l.closed = true
		close(l.lines)
	}
	l.mu.Unlock()
	<-l.done
	if l.err != nil {
		return fmt.Errorf("write request log: %w", l.err)
	}
	return nil
}

func (l *Log) write(w io.Writer) {
	defer close(l.done)
	buf := bufio.NewWriterSize(w, 1<<16) // keeps the first error
	for line := range l.lines {
		_, _ = buf.Write(line)
		if len(l.lines) == 0 {
			_ = buf.Flush()
		}
	}
	l.err = buf.Flush()
}
