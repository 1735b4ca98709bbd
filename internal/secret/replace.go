package secret

import "bytes"

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
		most := len(p.whole) - 1
		if p.word && !p.key {
			most++ // the byte after the match decides
		}
		for from := max(0, len(b)-most); from < at; from++ {
			k := bytes.IndexByte(b[from:at], p.text[0])
			if k < 0 {
				break
			}
			if from += k; bytes.HasPrefix(p.whole, b[from:]) {
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
// is false if more bytes follow, before are the two bytes before b.
func (m *matcher) replace(dst, b []byte, before [2]byte, last bool) (out []byte, done int, prev [2]byte) {
	end := len(b)
	if !last {
		end = m.unfinished(b)
	}
	for done < end {
		at, size, keep := m.next(b, done, end, before)
		if size == 0 {
			break
		}
		dst = append(append(dst, b[done:at+keep]...), Mask...)
		done = at + size
		if !last && done > end {
			end = done + m.unfinished(b[done:])
		}
	}
	if done < end {
		dst = append(dst, b[done:end]...)
		done = end
	}
	return dst, done, behind(b, done, before)
}

// behind returns the two bytes before b[at]. before are those before b.
func behind(b []byte, at int, before [2]byte) [2]byte {
	switch at {
	case 0:
		return before
	case 1:
		return [2]byte{before[1], b[0]}
	}
	return [2]byte{b[at-2], b[at-1]}
}

// next finds the first secret of b that starts from from on and before end, and the longest of those that start there. The first
// keep bytes of it are public.
func (m *matcher) next(b []byte, from, end int, before [2]byte) (at, size, keep int) {
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
			if p.word && !standsAlone(b, start, n, before) || p.key && standsAsKey(b, start, n, before) {
				continue
			}
			if start < at || n > size {
				at, size, keep = start, n, p.keep
			}
			break
		}
	}
	for start := from; ; {
		k := bytes.Index(b[start:], cut)
		if k < 0 || start+k-at >= m.longest {
			return at, size, keep
		}
		start += k
		if n := m.part(b[from:start]); n > 0 && start-n < end && (start-n < at || start-n == at && n > size) {
			at, size, keep = start-n, n, 0
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

// standsAlone reports whether no letter or digit touches a match. The n of an escaped new line is no letter.
func standsAlone(b []byte, start, n int, before [2]byte) bool {
	before = behind(b, start, before)
	escape := before[0] == '\\' && (before[1] == 'n' || before[1] == 'r' || before[1] == 't')
	return (escape || !isWord(before[1])) && (start+n == len(b) || !isWord(b[start+n]))
}

// standsAsKey reports whether a match is a key of JSON.
func standsAsKey(b []byte, start, n int, before [2]byte) bool {
	return behind(b, start, before)[1] == '"' && bytes.HasPrefix(b[start+n:], keyEnd)
}

func isWord(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}
