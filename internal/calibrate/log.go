package calibrate

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"strconv"
	"time"

	"github.com/redline-bench/redline/internal/clock"
)

// Logged is one line of the reference server's request log. Times are nanoseconds of the wall clock.
type Logged struct {
	ID       string  `json:"id"`
	Model    string  `json:"model"`
	Received int64   `json:"received_ns"` // when the request was complete
	Replied  int64   `json:"replied_ns"`  // when the response was written
	Events   []int64 `json:"events_ns"`   // when each event of a streamed response was written
	Tokens   []int   `json:"tokens"`      // number in each event; nil where the server does not count them
}

// Log is the request log of the reference server, which may grow while it is read.
type Log struct {
	Path string
	read int64 // bytes of complete lines
}

// Read returns the lines that were completed since the last call.
func (l *Log) Read() ([]Logged, error) {
	f, err := os.Open(l.Path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.NewSectionReader(f, l.read, math.MaxInt64-l.read))
	if err != nil {
		return nil, err
	}
	whole := text[:bytes.LastIndexByte(text, '\n')+1]
	l.read += int64(len(whole))
	var list []Logged
	for line := range bytes.Lines(whole) {
		var one Logged
		if err := json.Unmarshal(line, &one); err != nil {
			return nil, fmt.Errorf("read the server's log: %w", err)
		}
		list = append(list, one)
	}
	return list, nil
}

// Streams returns the next n streamed responses, or what is there after a wait. Responses without tokens are left out.
func (l *Log) Streams(ctx context.Context, n int, wait time.Duration) ([]Stream, error) {
	var out []Stream
	for deadline := clock.Now() + int64(wait); ; {
		lines, err := l.Read()
		if err != nil {
			return nil, err
		}
		for i := range lines {
			if s := lines[i].stream(); len(s.At) > 0 {
				out = append(out, s)
			}
		}
		if len(out) >= n || clock.Now() > deadline {
			return out, nil
		}
		if !clock.SleepUntil(ctx, clock.Now()+int64(20*time.Millisecond)) {
			return nil, ctx.Err()
		}
	}
}

// stream has the times of the events with tokens. Where the server does not count tokens, every event has one.
func (l *Logged) stream() Stream {
	s := Stream{ID: l.ID, From: l.Received}
	for i, at := range l.Events {
		if i >= len(l.Tokens) || l.Tokens[i] > 0 {
			s.At = append(s.At, at)
		}
	}
	return s
}

// Exchanges are the requests of a log. named is false where not all of them have a number as their id.
func Exchanges(log []Logged) (list []Exchange, named bool) {
	named = true
	for _, l := range log {
		x := Exchange{From: l.Received, To: l.Replied}
		if n := len(l.Events); n > 0 { // these are noted nearer to the write
			x.To = l.Events[n-1]
		}
		var err error
		if x.ID, err = strconv.ParseUint(l.ID, 10, 64); err != nil {
			named = false
		}
		list = append(list, x)
	}
	return list, named
}
