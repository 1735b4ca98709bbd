package sse_test

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/redline-bench/redline/internal/wire/sse"
)

// got is an event as it was handed on.
type got struct {
	Text, Data, Type, ID, Retry string
	At                          int64
}

type collector struct{ events []got }

func (c *collector) OnEvent(e *sse.Event) {
	c.events = append(c.events, got{string(e.Text), string(e.Data), string(e.Type), string(e.ID), string(e.Retry), e.At})
}

// feed gives the stream to a parser in pieces of the given size; each is a moment later than the last.
func feed(t testing.TB, stream string, size int) []got {
	t.Helper()
	var p sse.Parser
	var c collector
	for at := int64(1); len(stream) > 0; at++ {
		n := min(size, len(stream))
		if err := p.Feed([]byte(stream[:n]), at, &c); err != nil {
			t.Fatal(err)
		}
		stream = stream[n:]
	}
	return c.events
}

func untimed(events []got) []got {
	for i := range events {
		events[i].At = 0
	}
	return events
}

func TestEvents(t *testing.T) {
	for name, tc := range map[string]struct {
		stream string
		want   []got
	}{
		"one":             {"data: x\n\n", []got{{Text: "data: x\n\n", Data: "x"}}},
		"no space":        {"data:x\n\n", []got{{Text: "data:x\n\n", Data: "x"}}},
		"one space only":  {"data:  x \n\n", []got{{Text: "data:  x \n\n", Data: " x "}}},
		"two":             {"data: a\n\ndata: b\n\n", []got{{Text: "data: a\n\n", Data: "a"}, {Text: "data: b\n\n", Data: "b"}}},
		"CRLF":            {"data: a\r\n\r\ndata: b\r\n\r\n", []got{{Text: "data: a\n\n", Data: "a"}, {Text: "data: b\n\n", Data: "b"}}},
		"CR":              {"data: a\r\rdata: b\r\r", []got{{Text: "data: a\n\n", Data: "a"}, {Text: "data: b\n\n", Data: "b"}}},
		"mixed ends":      {"data: a\ndata: b\r\ndata: c\r\n\n", []got{{Text: "data: a\ndata: b\ndata: c\n\n", Data: "a\nb\nc"}}},
		"LF then CR":      {"data: a\n\rdata: b\n\n", []got{{Text: "data: a\n\n", Data: "a"}, {Text: "data: b\n\n", Data: "b"}}},
		"several lines":   {"data: a\ndata\ndata: b\n\n", []got{{Text: "data: a\ndata\ndata: b\n\n", Data: "a\n\nb"}}},
		"empty data":      {"data\n\ndata:\n\n", []got{{Text: "data\n\n"}, {Text: "data:\n\n"}}},
		"all fields":      {"event: e\nid: 7\nretry: 10\ndata: d\nother: x\n\n", []got{{"event: e\nid: 7\nretry: 10\ndata: d\nother: x\n\n", "d", "e", "7", "10", 0}}},
		"no data":         {"event: e\n\ndata: d\n\n", []got{{Text: "data: d\n\n", Data: "d"}}},
		"comments":        {": ping\n\n:\ndata: a\n: in between\ndata: b\n\n: end\n\n", []got{{Text: "data: a\ndata: b\n\n", Data: "a\nb"}}},
		"CRLF comments":   {": ping\r\n\r\ndata: a\r\n: x\r\n\r\n", []got{{Text: "data: a\n\n", Data: "a"}}},
		"blank lines":     {"\n\n\ndata: a\n\n\n\ndata: b\n\n", []got{{Text: "data: a\n\n", Data: "a"}, {Text: "data: b\n\n", Data: "b"}}},
		"mark":            {"\ufeffdata: a\n\n\ufeffdata: b\n\n", []got{{Text: "data: a\n\n", Data: "a"}}},
		"NUL in an id":    {"id: a\x00b\ndata: d\n\n", []got{{Text: "id: a\x00b\ndata: d\n\n", Data: "d"}}},
		"colons in data":  {"data: {\"a\": \"b:c\"}\n\n", []got{{Text: "data: {\"a\": \"b:c\"}\n\n", Data: `{"a": "b:c"}`}}},
		"unfinished":      {"data: a\n\ndata: b\n", []got{{Text: "data: a\n\n", Data: "a"}}},
		"names with case": {"Data: a\ndata: b\n\n", []got{{Text: "Data: a\ndata: b\n\n", Data: "b"}}},
	} {
		t.Run(name, func(t *testing.T) {
			for size := 1; size <= len(tc.stream); size++ { // split at every byte, and merged
				if d := cmp.Diff(untimed(feed(t, tc.stream, size)), tc.want); d != "" {
					t.Fatalf("in pieces of %d: %s", size, d)
				}
			}
		})
	}
}

// TestTimes: an event has the time of the read that completed it, also where CR leaves open whether an LF follows.
func TestTimes(t *testing.T) {
	for stream, want := range map[string][]int64{
		"data: a|\n|\n|data: b\n\n": {3, 4},
		"data: a\n\nda|ta: b\n\n":   {1, 2},
		"data: a\r\n\r|\ndata: b":   {1},
		"data: a\r\r":               {1},
	} {
		var p sse.Parser
		var c collector
		for i, piece := range strings.Split(stream, "|") {
			if err := p.Feed([]byte(piece), int64(i+1), &c); err != nil {
				t.Fatal(err)
			}
		}
		var at []int64
		for _, e := range c.events {
			at = append(at, e.At)
		}
		if d := cmp.Diff(at, want); d != "" {
			t.Errorf("%q: %s", stream, d)
		}
	}
}

func TestEnd(t *testing.T) {
	for stream, want := range map[string][]got{
		"data: a\n\n":       {{Text: "data: a\n\n", Data: "a"}},
		"data: [DONE]":      {{Text: "data: [DONE]\n\n", Data: "[DONE]"}},
		"data: [DONE]\n":    {{Text: "data: [DONE]\n\n", Data: "[DONE]"}},
		"data: [DONE]\r":    {{Text: "data: [DONE]\n\n", Data: "[DONE]"}},
		"data: [DONE]\r\n":  {{Text: "data: [DONE]\n\n", Data: "[DONE]"}},
		": nothing but air": nil,
		"":                  nil,
	} {
		var p sse.Parser
		var c collector
		if err := errors.Join(p.Feed([]byte(stream), 0, &c), p.End(0, &c)); err != nil || p.Pending() {
			t.Errorf("%q: %v, pending %v", stream, err, p.Pending())
		}
		if d := cmp.Diff(c.events, want); d != "" {
			t.Errorf("%q: %s", stream, d)
		}
	}
}

func TestLimit(t *testing.T) {
	event := "data: " + strings.Repeat("x", 100) + "\n\n"
	for _, size := range []int{1, 7, len(event)} {
		p := sse.Parser{Max: 50}
		var c collector
		var err error
		for at := 0; at < len(event) && err == nil; at += size {
			err = p.Feed([]byte(event[at:min(at+size, len(event))]), 0, &c)
		}
		if !errors.Is(err, sse.ErrTooLarge) || len(c.events) > 0 {
			t.Errorf("in pieces of %d: %v, %d events", size, err, len(c.events))
		}
		p.Reset()
		if err := p.Feed([]byte("data: y\n\n"), 0, &c); err != nil || len(c.events) != 1 {
			t.Errorf("after a reset: %v, %d events", err, len(c.events))
		}
	}
	p := sse.Parser{Max: 50} // comments alone are no event, however many there are
	for range 1000 {
		if err := p.Feed([]byte(": ping\n"), 0, new(collector)); err != nil {
			t.Fatal(err)
		}
	}
}

type counter struct{ n int }

func (c *counter) OnEvent(*sse.Event) { c.n++ }

const token = `data: {"id":"x","object":"chat.completion.chunk","model":"m","choices":[{"index":0,"finish_reason":null,"delta":{"content":"tok "}}]}` + "\n\n"

func TestNoAllocations(t *testing.T) {
	for name, stream := range map[string]string{
		"plain": token + token,
		"odd":   "data: a\r\ndata: b\r\n: c\r\n\r\n" + token,
	} {
		for _, size := range []int{3, 100, 1000} {
			var p sse.Parser
			var c counter
			b := []byte(stream)
			run := func() {
				p.Reset()
				for at := 0; at < len(b); at += size {
					_ = p.Feed(b[at:min(at+size, len(b))], 0, &c)
				}
			}
			run()
			if n := testing.AllocsPerRun(100, run); n > 0 {
				t.Errorf("%s in pieces of %d: %v allocations", name, size, n)
			}
		}
	}
}

// reference is the format's definition, one line after the other, for streams that are there as a whole.
func reference(stream string) (out []got) {
	stream = strings.TrimPrefix(stream, "\ufeff")
	stream = strings.ReplaceAll(strings.ReplaceAll(stream, "\r\n", "\n"), "\r", "\n")
	lines := strings.Split(stream, "\n")
	var e got
	var data []string
	for _, line := range lines[:len(lines)-1] { // what follows the last end of a line is no line yet
		if line == "" {
			if data != nil {
				e.Data = strings.Join(data, "\n")
				e.Text += "\n"
				out = append(out, e)
			}
			e, data = got{}, nil
			continue
		}
		name, value, _ := strings.Cut(line, ":")
		value = strings.TrimPrefix(value, " ")
		if line[0] == ':' {
			continue
		}
		e.Text += line + "\n"
		switch name {
		case "data":
			data = append(data, value)
		case "event":
			e.Type = value
		case "id":
			if !strings.Contains(value, "\x00") {
				e.ID = value
			}
		case "retry":
			e.Retry = value
		}
	}
	return out
}

func FuzzFeed(f *testing.F) {
	f.Add([]byte("event: e\r\ndata: a\r\rdata:b\n: c\n\n"), uint8(3))
	f.Add([]byte("\xef\xbb\xbfid: 1\ndata\n\n\r\r\n\n"), uint8(1))
	f.Add([]byte(": x\rdata: a\n\r\ndata: b"), uint8(2))
	f.Fuzz(func(t *testing.T, stream []byte, size uint8) {
		n := int(size)
		if n == 0 {
			n = len(stream) + 1
		}
		if d := cmp.Diff(untimed(feed(t, string(stream), n)), reference(string(stream))); d != "" {
			t.Errorf("%q in pieces of %d: %s", stream, n, d)
		}
	})
}

func BenchmarkFeed(b *testing.B) {
	stream := []byte(strings.Repeat(token, 16))
	for _, size := range []int{64, len(token), len(stream)} {
		b.Run(fmt.Sprintf("pieces of %d", size), func(b *testing.B) {
			var p sse.Parser
			var c counter
			b.ReportAllocs()
			b.SetBytes(int64(len(stream)))
			for b.Loop() {
				for at := 0; at < len(stream); at += size {
					if err := p.Feed(stream[at:min(at+size, len(stream))], 0, &c); err != nil {
						b.Fatal(err)
					}
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(c.n), "ns/event")
		})
	}
}

// TestLargeEventsAreSearchedOnce: the cost of an event in many pieces grows with its size, not with its square.
func TestLargeEventsAreSearchedOnce(t *testing.T) {
	var p sse.Parser
	var c collector
	piece := bytes.Repeat([]byte{'x'}, 1<<10)
	if err := p.Feed([]byte("data: "), 0, &c); err != nil {
		t.Fatal(err)
	}
	for range 8 << 10 {
		if err := p.Feed(piece, 0, &c); err != nil {
			t.Fatal(err)
		}
	}
	if err := p.Feed([]byte("\n\n"), 9, &c); err != nil {
		t.Fatal(err)
	}
	if len(c.events) != 1 || len(c.events[0].Data) != 8<<20 || c.events[0].At != 9 {
		t.Errorf("%d events", len(c.events))
	}
}
