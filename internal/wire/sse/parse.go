package sse

import "bytes"

// lineEnds finds the ends of lines in a buffer, each byte looked at once.
type lineEnds struct {
	in []byte
	lf int // the first LF at or after the place asked for last; len(in) when there is none
}

// next is the first LF or CR at or after from; len(in) when there is none.
func (l *lineEnds) next(from int) int {
	if l.lf < from {
		l.lf = from + index(l.in[from:], '\n')
	}
	return from + index(l.in[from:l.lf], '\r')
}

// index is bytes.IndexByte with the length where there is none.
func index(b []byte, c byte) int {
	if i := bytes.IndexByte(b, c); i >= 0 {
		return i
	}
	return len(b)
}

// parse handles all whole lines of in, which begins with the event in the making, and returns what is left of
// it: the unfinished event.
func (p *Parser) parse(in []byte, at int64, h Handler) (rest []byte, err error) {
	limit := p.Max
	if limit == 0 {
		limit = DefaultMax
	}
	start, pos, scan := 0, p.pos, p.scan
	ends := lineEnds{in: in, lf: -1}
	for {
		if p.skipLF && pos < len(in) {
			p.skipLF = false
			if in[pos] == '\n' {
				pos++
			}
		}
		if p.fields == 0 {
			start = pos // what came before means nothing: blank lines, comments
		}
		end := ends.next(max(pos, scan))
		scan = 0
		if end == len(in) {
			break
		}
		after := end + 1
		if in[end] == '\r' {
			p.skipLF = true
		}
		switch {
		case end > pos:
			p.line(in[start:], pos-start, end-start, in[end] == '\r')
		case p.lines > 0:
			if after-start > limit {
				return nil, ErrTooLarge
			}
			p.emit(in[start:after], in[end] == '\r', at, h)
			p.clear()
		default:
			p.clear()
		}
		pos = after
	}
	if len(in)-start > limit {
		return nil, ErrTooLarge
	}
	p.pos = pos - start
	return in[start:], nil
}

// line takes in[a:b], a line that is not empty, of the event that in begins with.
func (p *Parser) line(in []byte, a, b int, cr bool) {
	comment := in[a] == ':'
	if (comment && p.fields > 0 || cr && !comment) && !p.dirty {
		p.text = append(p.text[:0], in[:a]...)
		p.dirty = true
	}
	if comment {
		return
	}
	p.fields++
	if p.dirty {
		p.text = append(append(p.text, in[a:b]...), '\n')
	}
	name := in[a:b]
	value := span{b, b}
	if i := bytes.IndexByte(name, ':'); i >= 0 {
		name = name[:i]
		value.a = a + i + 1
		if value.a < b && in[value.a] == ' ' {
			value.a++
		}
	}
	switch string(name) {
	case "data":
		p.dataLine(in, value)
	case "event":
		p.typ = value
	case "id":
		if bytes.IndexByte(value.of(in), 0) < 0 {
			p.id = value
		}
	case "retry":
		p.retry = value
	}
}

// dataLine adds one data line. The first is only remembered; from the second on they are put together.
func (p *Parser) dataLine(in []byte, v span) {
	p.lines++
	switch p.lines {
	case 1:
		p.data = v
		return
	case 2:
		p.joined = append(p.joined[:0], p.data.of(in)...)
	}
	p.joined = append(append(p.joined, '\n'), v.of(in)...)
}

// emit hands the event on that in holds.
func (p *Parser) emit(in []byte, cr bool, at int64, h Handler) {
	if cr && !p.dirty {
		p.text = append(p.text[:0], in[:len(in)-1]...)
		p.dirty = true
	}
	e := &p.ev
	*e = Event{Text: in, Data: p.data.of(in), Type: p.typ.of(in), ID: p.id.of(in), Retry: p.retry.of(in), At: at}
	if p.dirty {
		p.text = append(p.text, '\n')
		e.Text = p.text
	}
	if p.lines > 1 {
		e.Data = p.joined
	}
	h.OnEvent(e)
}
