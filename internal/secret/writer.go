package secret

import (
	"io"
	"sync"
)

// Writer replaces the secrets of a Set in what is written through it, also where a secret comes in several writes. It
// is safe for concurrent use.
type Writer struct {
	set *Set
	w   io.Writer

	mu   sync.Mutex
	held []byte // the end of what was written, which may be the start of a secret
	buf  []byte
	prev [2]byte // the last bytes before held
}

// Writer makes a writer to w. Flush must be called at the end.
func (s *Set) Writer(w io.Writer) *Writer { return &Writer{set: s, w: w} }

// Unwrap is the writer below.
func (w *Writer) Unwrap() io.Writer { return w.w }

// Write implements io.Writer.
func (w *Writer) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	m := w.set.matcher()
	if m == nil {
		return w.w.Write(b)
	}
	text := b
	if len(w.held) > 0 {
		w.held = append(w.held, b...)
		text = w.held
	}
	if err := w.pass(m, text, false); err != nil {
		return 0, err
	}
	return len(b), nil
}

// Flush writes what was held back.
func (w *Writer) Flush() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	m := w.set.matcher()
	if m == nil || len(w.held) == 0 {
		return nil
	}
	return w.pass(m, w.held, true)
}

// pass writes a text except for its end that may be the start of a secret, which it holds back.
func (w *Writer) pass(m *matcher, text []byte, last bool) error {
	out, done := text, len(text)
	if !last {
		done = m.unfinished(text)
		out = text[:done]
	}
	if m.any(text) {
		w.buf, done, w.prev = m.replace(w.buf[:0], text, w.prev, last)
		out = w.buf
	} else {
		w.prev = behind(text, done, w.prev)
	}
	if len(out) > 0 {
		if _, err := w.w.Write(out); err != nil {
			w.held = nil
			return err
		}
	}
	w.held = append(w.held[:0], text[done:]...)
	return nil
}
