package secret

import (
	"bytes"
	"io"
	"sync"
)

// matcher finds the patterns of a Set. It does not change after its creation.
type matcher struct {
	patterns []pattern
	longest  int // bytes of the longest pattern
}

// cut marks the end of a truncated text. The text before it may end with the start of a secret.
var cut = []byte("...")

// leastPart is how many bytes before a cut must match to count as the start of a secret.
const leastPart = 4

// any reports whether b may contain a secret. It is the only cost of a text without secrets.
func (m *matcher) any(b []byte) bool {
	if bytes.Contains(b, cut) {
		return true
	}
	for i := range m.patterns {
		p := &m.patterns[i]
		if bytes.Contains(b, p.text[:p.head]) {
			return true
		}
	}
	return false
}

// unfinished returns where a possible start of a secret at the end of b begins; len(b) if there is none.
func (m *matcher) unfinished(b []byte) int {
	at := len(b)
	for i := range m.patterns {
		p := &m.patterns[i]
		most := len(p.text) - 1
		if p.word {
			most++ // the byte after the match decides
		}
		for from := max(0, len(b)-most); from < at; from++ {
			k := bytes.IndexByte(b[from:at], p.text[0])
			if k < 0 {
				break
			}
			if from += k; bytes.HasPrefix(p.text, b[from:]) {
				at = from
				break
			}
		}
	}
	// The rest of a cut may follow.
	for dots := 1; dots < len(cut) && bytes.HasSuffix(b, cut[:dots]); dots++ {
		if n := m.part(b[:len(b)-dots]); n > 0 {
			at = min(at, len(b)-dots-n)
		}
	}
	return at
}

// part is how many bytes at the end of b are the beginning of a secret; 0 if they are none.
func (m *matcher) part(b []byte) int {
	most := 0
	for i := range m.patterns {
		p := &m.patterns[i]
		for n := min(len(p.text)-1, len(b)); n >= max(leastPart, most+1) && !p.word; n-- {
			if bytes.HasSuffix(b, p.text[:n]) {
				most = n
			}
		}
	}
	return most
}

// replace appends b to dst with every secret replaced. It returns how much of b is done and the last byte of that; last
// is false if more bytes follow, before is the byte before b.
func (m *matcher) replace(dst, b []byte, before byte, last bool) (out []byte, done int, prev byte) {
	end := len(b)
	if !last {
		end = m.unfinished(b)
	}
	for done < end {
		at, size := m.next(b, done, end, before)
		if size == 0 {
			break
		}
		dst = append(append(dst, b[done:at]...), Mask...)
		done = at + size
		before = b[done-1]
		if !last && done > end {
			end = done + m.unfinished(b[done:])
		}
	}
	if done < end {
		dst = append(dst, b[done:end]...)
		before, done = b[end-1], end
	}
	return dst, done, before
}

// next finds the first secret of b that starts from from on and before end, and the longest of those that start there.
func (m *matcher) next(b []byte, from, end int, before byte) (at, size int) {
	at = end
	for i := range m.patterns {
		p := &m.patterns[i]
		for start := from; start <= at && start < end; start++ {
			k := bytes.Index(b[start:min(len(b), at+p.head)], p.text[:p.head])
			if k < 0 {
				break
			}
			start += k
			if start >= end {
				break
			}
			n := p.extent(b[start:])
			if p.word && !standsAlone(b, start, n, before) {
				continue
			}
			if start < at || n > size {
				at, size = start, n
			}
			break
		}
	}
	for start := from; ; {
		k := bytes.Index(b[start:], cut)
		if k < 0 || start+k-at >= m.longest {
			return at, size
		}
		start += k
		if n := m.part(b[from:start]); n > 0 && start-n < end && (start-n < at || start-n == at && n > size) {
			at, size = start-n, n
		}
		start++
	}
}

// extent is how many bytes at the start of b are the pattern's.
func (p *pattern) extent(b []byte) int {
	n := p.head
	for n < len(p.text) && n < len(b) && b[n] == p.text[n] {
		n++
	}
	return n
}

// standsAlone reports whether no letter or digit touches a match.
func standsAlone(b []byte, start, n int, before byte) bool {
	if start > 0 {
		before = b[start-1]
	}
	return !isWord(before) && (start+n == len(b) || !isWord(b[start+n]))
}

func isWord(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

// Writer replaces the secrets of a Set in what is written through it, also where a secret comes in several writes. It
// is safe for concurrent use.
type Writer struct {
	set *Set
	w   io.Writer

	mu   sync.Mutex
	held []byte // the end of what was written, which may be the start of a secret
	buf  []byte
	prev byte // the last byte before held
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
	} else if done > 0 {
		w.prev = text[done-1]
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
