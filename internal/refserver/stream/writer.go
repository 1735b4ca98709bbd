package stream

import (
	"cmp"
	"compress/gzip"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/redline-bench/redline/internal/refserver/conns"
)

// ErrCut means that the script ends the connection here.
var ErrCut = errors.New("the stream is cut on purpose")

// Writer writes the events of one response. Make one with New, and Close it.
type Writer struct {
	w       http.ResponseWriter
	control *http.ResponseController
	script  Script
	zip     *gzip.Writer
	buf     []byte // what is not yet written
	held    int    // events in buf
	fresh   int    // events that are being written
	events  int
	started bool
	cut     bool

	// Log is whether times are kept.
	Log    bool
	tokens []int
	size   int64 // bytes of the body
	times  conns.Times
}

// New makes a writer; nothing is written before the first event.
func New(w http.ResponseWriter, script Script) *Writer {
	return &Writer{w: w, control: http.NewResponseController(w), script: script}
}

// Started reports whether the head of the response was sent, so that errors must go into the stream.
func (w *Writer) Started() bool { return w.started }

// Events is how many events were sent.
func (w *Writer) Events() int { return w.events }

// Start sends the head of the response.
func (w *Writer) Start() {
	if w.started {
		return
	}
	w.started = true
	head := w.w.Header()
	head.Set("Content-Type", "text/event-stream; charset=utf-8")
	head.Set("Cache-Control", "no-cache")
	if w.script.Gzip {
		head.Set("Content-Encoding", "gzip")
		w.zip = gzip.NewWriter(sink{w})
	}
	w.w.WriteHeader(http.StatusOK)
	if w.script.BOM {
		w.buf = append(w.buf, "\ufeff"...)
	}
}

// Event sends one event with this many tokens. name is the event's name, if the API has event names.
func (w *Writer) Event(name string, data []byte, tokens int) error {
	if w.script.Empty {
		w.Start()
		return nil
	}
	if w.script.Cut >= 0 && w.events >= w.script.Cut {
		w.cut = true
		return ErrCut
	}
	w.Start()
	w.encode(name, data)
	w.events++
	w.held++
	w.tokens = append(w.tokens, tokens)
	if w.held < w.script.Merge {
		return nil
	}
	return w.flush()
}

// Done sends [DONE], which ends a stream of OpenAI.
func (w *Writer) Done() error {
	if w.script.NoDone {
		return nil
	}
	return w.Event("", []byte("[DONE]"), 0)
}

// Ping sends a comment, as servers do to keep a connection open.
func (w *Writer) Ping() error {
	w.Start()
	w.buf = append(append(append(w.buf, ": ping"...), w.script.EOL...), w.script.EOL...)
	return w.flush()
}

// Close writes what is left and ends the response, or the connection if the script says so.
func (w *Writer) Close() error {
	err := w.flush()
	if w.zip != nil && !w.cut {
		err = errors.Join(err, w.zip.Close(), w.control.Flush())
	}
	return err
}

// Cut reports whether the connection is to end without the end of the response.
func (w *Writer) Cut() bool { return w.cut }

// Follow makes s record when events were sent; nil changes nothing. It must be called before the first event.
func (w *Writer) Follow(s *conns.Stream) {
	if w.times.Stream = s; s != nil {
		w.w.Header().Set(conns.Header, s.Key)
	}
}

// Told calls fn with the time of each event, in nanoseconds of the wall clock, and its number of tokens, when the last event has been
// sent.
func (w *Writer) Told(fn func(times []int64, tokens []int)) {
	w.times.Told(func(at []int64) { fn(at, w.tokens) })
}

// encode appends an event as the script wants it.
func (w *Writer) encode(name string, data []byte) {
	s, eol, head := &w.script, w.script.EOL, "data: "
	if s.Comments {
		w.buf = append(append(w.buf, ": a comment, data: of nobody"...), eol...)
	}
	if s.Fields {
		w.buf = fmt.Appendf(w.buf, "id: %d%[2]sretry: 1000%[2]sunknown: field%[2]s", w.events, eol)
	}
	if name != "" {
		w.buf = append(append(append(w.buf, "event: "...), name...), eol...)
	}
	if s.Bare {
		head = "data:"
	}
	w.buf = append(w.buf, head...)
	if object := len(data) > 1 && data[0] == '{'; object && (s.Lines || s.Big > len(data)) {
		w.buf, data = append(w.buf, '{'), data[1:]
		if s.Lines {
			w.buf = append(append(w.buf, eol...), head...)
		}
		const padding = `"padding":"",`
		if n := s.Big - len(data) - len(padding); n > 0 {
			w.buf = fmt.Appendf(w.buf, `"padding":"%s",`, strings.Repeat("x", n))
		}
	}
	w.buf = append(append(append(w.buf, data...), eol...), eol...)
}

// flush writes what was encoded. The time is taken when the system is called.
func (w *Writer) flush() error {
	if len(w.buf) == 0 {
		return nil
	}
	buf := w.buf
	w.buf, w.held, w.fresh = w.buf[:0], 0, w.held
	if w.zip == nil {
		_, err := sink{w}.Write(buf)
		return err
	}
	if _, err := w.zip.Write(buf); err != nil {
		return err
	}
	return w.zip.Flush()
}

// sink sends bytes, in pieces if the script wants that.
type sink struct{ *Writer }

func (w sink) Write(buf []byte) (int, error) {
	for p := range slices.Chunk(buf, cmp.Or(w.script.Split, max(len(buf), 1))) {
		if w.size += int64(len(p)); w.Log && w.fresh > 0 {
			w.times.Mark(w.events-w.fresh, w.events, w.size)
		}
		if _, err := w.w.Write(p); err != nil {
			return 0, err
		}
		if err := w.control.Flush(); err != nil {
			return 0, err
		}
	}
	return len(buf), nil
}
