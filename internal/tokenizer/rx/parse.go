// Package rx runs the regular expressions that tokenizer files hold: the dialect of Oniguruma as far as such files use
// it, with look-around and the character tables of unitab, on UTF-8 text as it is. It backtracks; a pattern is
// compiled into a chain of functions, and a match allocates nothing.
package rx

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/redline-bench/redline/internal/tokenizer/unitab"
)

// The kinds of nodes of a pattern.
type kind uint8

const (
	kSet kind = iota
	kSeq
	kAlt
	kRepeat
	kLook   // a condition on what follows
	kBehind // a condition on what is before
	kAtomic // a group that is not gone back into
	kAssert // a place: code says which
)

type node struct {
	kind       kind
	set        *set
	subs       []*node
	min, max   int // max < 0: no limit
	lazy, keep bool
	neg        bool
	code       byte
}

type parser struct {
	src   string
	pos   int
	fold  bool // (?i)
	dot   bool // (?m): the dot matches line ends
	loose bool // (?x): white space is not part of the pattern
	depth int
	names map[string]unitab.Mask
}

func (p *parser) fail(format string, args ...any) error {
	return fmt.Errorf("pattern %q, byte %d: %s", p.src, p.pos, fmt.Sprintf(format, args...))
}

func (p *parser) more() bool { return p.pos < len(p.src) }

func (p *parser) eat(s string) bool {
	if strings.HasPrefix(p.src[p.pos:], s) {
		p.pos += len(s)
		return true
	}
	return false
}

// upTo parses the text before an end, and the end.
func (p *parser) upTo(end string) (text string, ok bool) {
	text, _, ok = strings.Cut(p.src[p.pos:], end)
	if ok {
		p.pos += len(text) + len(end)
	}
	return text, ok
}

func (p *parser) next() rune {
	r, size := utf8.DecodeRuneInString(p.src[p.pos:])
	p.pos += size
	return r
}

// alt parses alternatives up to a closing parenthesis or the end.
func (p *parser) alt() (*node, error) {
	if p.depth++; p.depth > 100 {
		return nil, p.fail("groups are nested too deep")
	}
	defer func() { p.depth-- }()
	alt := &node{kind: kAlt}
	for {
		seq := &node{kind: kSeq}
		for p.more() && p.src[p.pos] != '|' && p.src[p.pos] != ')' {
			n, err := p.repeat()
			if err != nil {
				return nil, err
			}
			if n != nil {
				seq.subs = append(seq.subs, n)
			}
		}
		alt.subs = append(alt.subs, seq)
		if !p.eat("|") {
			break
		}
	}
	if len(alt.subs) == 1 {
		return alt.subs[0], nil
	}
	return alt, nil
}

// repeat parses an atom and what says how often it comes.
func (p *parser) repeat() (*node, error) {
	n, err := p.atom()
	if err != nil || n == nil {
		return nil, err
	}
	for p.more() {
		lo, hi := 0, -1
		switch {
		case p.eat("*"):
		case p.eat("+"):
			lo = 1
		case p.eat("?"):
			hi = 1
		case p.src[p.pos] == '{':
			var ok bool
			if lo, hi, ok = p.braces(); !ok {
				return n, nil
			}
		default:
			return n, nil
		}
		if lo > 1000 || hi > 1000 || hi >= 0 && lo > hi {
			return nil, p.fail("a repeat of {%d,%d} is not supported", lo, hi)
		}
		n = &node{kind: kRepeat, subs: []*node{n}, min: lo, max: hi}
		if p.eat("?") {
			n.lazy = true
		} else if p.eat("+") {
			n.keep = true
		}
	}
	return n, nil
}

// braces parses {n}, {n,}, {,m} and {n,m}; anything else is plain text.
func (p *parser) braces() (lo, hi int, ok bool) {
	end := strings.IndexByte(p.src[p.pos:], '}')
	if end < 0 {
		return 0, 0, false
	}
	a, b, two := strings.Cut(p.src[p.pos+1:p.pos+end], ",")
	lo, err := strconv.Atoi(a)
	if err != nil && (a != "" || !two || b == "") {
		return 0, 0, false
	}
	hi = lo
	if two {
		hi = -1
		if b != "" {
			if hi, err = strconv.Atoi(b); err != nil {
				return 0, 0, false
			}
		}
	}
	p.pos += end + 1
	return lo, hi, true
}

func (p *parser) char(r rune) *node {
	s := &set{table: unitab.Get()}
	s.add(r, r, p.fold)
	return &node{kind: kSet, set: s.seal()}
}

// atom parses one character, class, group or condition; nil for what stands for nothing, as (?i).
func (p *parser) atom() (*node, error) {
	if p.loose {
		if p.skipLoose(); !p.more() || p.src[p.pos] == '|' || p.src[p.pos] == ')' {
			return nil, nil
		}
	}
	switch r := p.next(); r {
	case '(':
		return p.group()
	case '[':
		s, err := p.class()
		if err != nil {
			return nil, err
		}
		return &node{kind: kSet, set: s.seal()}, nil
	case '.':
		s := &set{table: unitab.Get(), neg: true}
		if !p.dot {
			s.add('\n', '\n', false)
		}
		return &node{kind: kSet, set: s.seal()}, nil
	case '^', '$':
		return &node{kind: kAssert, code: byte(r)}, nil
	case '\\':
		return p.escape()
	case '*', '+', '?':
		return nil, p.fail("there is nothing to repeat")
	default:
		return p.char(r), nil
	}
}

func (p *parser) skipLoose() {
	for p.more() {
		if r, size := utf8.DecodeRuneInString(p.src[p.pos:]); unicode.IsSpace(r) {
			p.pos += size
		} else if r == '#' {
			end := strings.IndexByte(p.src[p.pos:], '\n')
			if end < 0 {
				end = len(p.src) - p.pos - 1
			}
			p.pos += end + 1
		} else {
			return
		}
	}
}

// group parses what follows an opening parenthesis.
func (p *parser) group() (*node, error) {
	n := &node{kind: kSeq}
	fold, dot, loose := p.fold, p.dot, p.loose
	switch {
	case p.eat("?:"):
	case p.eat("?="):
		n.kind = kLook
	case p.eat("?!"):
		n.kind, n.neg = kLook, true
	case p.eat("?<="):
		n.kind = kBehind
	case p.eat("?<!"):
		n.kind, n.neg = kBehind, true
	case p.eat("?>"):
		n.kind = kAtomic
	case p.eat("?<"), p.eat("?P<"):
		if _, ok := p.upTo(">"); !ok {
			return nil, p.fail("a group's name has no end")
		}
	case p.eat("?"):
		done, err := p.flags()
		if err != nil {
			return nil, err
		}
		if done { // for the rest of the group around
			return nil, nil
		}
	}
	sub, err := p.alt()
	if err != nil {
		return nil, err
	}
	if !p.eat(")") {
		return nil, p.fail("a group has no end")
	}
	p.fold, p.dot, p.loose = fold, dot, loose
	n.subs = []*node{sub}
	return n, nil
}

// flags parses i, m, s, x and -; done if they end with the parenthesis.
func (p *parser) flags() (done bool, err error) {
	on := true
	for p.more() {
		switch p.next() {
		case '-':
			on = false
		case 'i':
			p.fold = on
		case 'm', 's':
			p.dot = on
		case 'x':
			p.loose = on
		case ')':
			return true, nil
		case ':':
			return false, nil
		default:
			return false, p.fail("unknown group")
		}
	}
	return false, p.fail("a group has no end")
}
