package rx

import (
	"strconv"
	"strings"
	"unicode"

	"github.com/redline-bench/redline/internal/tokenizer/unitab"
)

// escape parses what follows a backslash outside of a class.
func (p *parser) escape() (*node, error) {
	if !p.more() {
		return nil, p.fail("a backslash ends the pattern")
	}
	switch c := p.src[p.pos]; c {
	case 'A', 'z', 'Z', 'b', 'B', 'G':
		p.pos++
		return &node{kind: kAssert, code: c}, nil
	case '1', '2', '3', '4', '5', '6', '7', '8', '9', 'k', 'g', 'K', 'X', 'R':
		return nil, p.fail("\\%c is not supported", c)
	}
	s, r, err := p.member()
	if err != nil {
		return nil, err
	}
	if s == nil {
		return p.char(r), nil
	}
	return &node{kind: kSet, set: s.seal()}, nil
}

// member parses what follows a backslash in a class: a set or a character.
func (p *parser) member() (*set, rune, error) {
	s := &set{table: unitab.Get()}
	switch r := p.next(); r {
	case 's':
		s.mask = unitab.Space
	case 'S':
		s.mask, s.neg = unitab.Space, true
	case 'd':
		s.mask = unitab.Nd
	case 'D':
		s.mask, s.neg = unitab.Nd, true
	case 'w':
		s.mask = unitab.Word
	case 'W':
		s.mask, s.neg = unitab.Word, true
	case 'h', 'H':
		s.ranges, s.neg = [][2]rune{{'0', '9'}, {'a', 'f'}, {'A', 'F'}}, r == 'H'
	case 'p', 'P':
		if err := p.property(s); err != nil {
			return nil, 0, err
		}
		s.neg = s.neg != (r == 'P')
	default:
		c, err := p.escaped(r)
		return nil, c, err
	}
	return s, 0, nil
}

// escaped is the character that an escape stands for.
func (p *parser) escaped(r rune) (rune, error) {
	if plain, ok := escapes[r]; ok {
		return plain, nil
	}
	switch r {
	case 'x':
		return p.hex(2)
	case 'u':
		return p.hex(4)
	}
	return r, nil
}

// escapes are the characters that a backslash and a letter stand for.
var escapes = map[rune]rune{'n': '\n', 'r': '\r', 't': '\t', 'f': '\f', 'v': '\v', 'a': '\a', 'e': 0x1B, '0': 0}

// hex parses a number of so many digits, or of any in braces.
func (p *parser) hex(digits int) (rune, error) {
	var text string
	if p.eat("{") {
		var ok bool
		if text, ok = p.upTo("}"); !ok {
			return 0, p.fail("a number has no end")
		}
	} else {
		from := p.pos
		if p.pos = min(from+digits, len(p.src)); p.pos < from+digits {
			return 0, p.fail("a number ends too early")
		}
		text = p.src[from:p.pos]
	}
	n, err := strconv.ParseUint(text, 16, 32)
	if err != nil || n > unicode.MaxRune {
		return 0, p.fail("%q is no character", text)
	}
	return rune(n), nil
}

// property parses {name} or a single letter.
func (p *parser) property(s *set) error {
	var name string
	if p.eat("{") {
		var ok bool
		if name, ok = p.upTo("}"); !ok {
			return p.fail("a property has no end")
		}
	} else if p.more() {
		name = string(p.next())
	}
	name, s.neg = strings.CutPrefix(name, "^")
	for _, prefix := range []string{"Script=", "sc=", "General_Category=", "gc=", "Is"} {
		name = strings.TrimPrefix(name, prefix)
	}
	clean := strings.NewReplacer(" ", "", "_", "", "-", "").Replace(strings.ToLower(name))
	if m, ok := p.names[clean]; ok {
		s.mask = m
		return nil
	}
	if clean == "any" {
		s.ranges = [][2]rune{{0, unicode.MaxRune}}
		return nil
	}
	for script, t := range unicode.Scripts {
		if strings.ToLower(strings.ReplaceAll(script, "_", "")) == clean {
			s.tables = append(s.tables, t)
			return nil
		}
	}
	return p.fail("there is no property %q", name)
}

// class parses a bracket expression behind its opening bracket.
func (p *parser) class() (*set, error) {
	if p.depth++; p.depth > 100 {
		return nil, p.fail("classes are nested too deep")
	}
	defer func() { p.depth-- }()
	s := &set{table: unitab.Get(), neg: p.eat("^")}
	whole := s
	for first := true; ; first = false {
		if !p.more() {
			return nil, p.fail("a class has no end")
		}
		if p.eat("]") && !first {
			break
		} else if first && p.pos > 0 && p.src[p.pos-1] == ']' {
			s.add(']', ']', false)
			continue
		}
		if p.eat("&&") {
			// The classes on both sides must hold; a ^ at the very front turns the whole around.
			left := &set{table: s.table, mask: s.mask, ranges: s.ranges, tables: s.tables, sets: s.sets, and: s.and}
			right, err := p.class()
			if err != nil {
				return nil, err
			}
			both := &set{table: s.table, and: []*set{left, right}, ranges: [][2]rune{{0, unicode.MaxRune}}}
			*whole = set{table: s.table, sets: []*set{both}, neg: s.neg}
			return whole, nil
		}
		if err := p.item(s); err != nil {
			return nil, err
		}
	}
	return whole, nil
}

// item parses a member of a class: a set, a character or a range.
func (p *parser) item(s *set) error {
	if p.src[p.pos] == '[' {
		return p.nested(s)
	}
	lo, isSet, err := p.one(s)
	if err != nil || isSet {
		return err
	}
	if p.pos+1 >= len(p.src) || p.src[p.pos] != '-' || p.src[p.pos+1] == ']' {
		s.add(lo, lo, p.fold)
		return nil
	}
	p.pos++
	hi, isSet, err := p.one(s)
	if err != nil {
		return err
	}
	if isSet { // as in [a-\d]
		s.add(lo, lo, p.fold)
		s.add('-', '-', false)
		return nil
	}
	if hi < lo {
		return p.fail("a range ends before it begins")
	}
	s.add(lo, hi, p.fold)
	return nil
}

// one parses a character, or adds a set.
func (p *parser) one(s *set) (r rune, isSet bool, err error) {
	r = p.next()
	if r != '\\' {
		return r, false, nil
	}
	if !p.more() {
		return 0, false, p.fail("a backslash ends the pattern")
	}
	if p.src[p.pos] == 'b' {
		p.pos++
		return '\b', false, nil
	}
	sub, r, err := p.member()
	if err != nil || sub == nil {
		return r, false, err
	}
	s.sets = append(s.sets, sub)
	return 0, true, nil
}

// nested parses a class in a class, or [:name:].
func (p *parser) nested(s *set) error {
	if end := strings.Index(p.src[p.pos:], ":]"); strings.HasPrefix(p.src[p.pos:], "[:") && end > 1 {
		name, neg := strings.CutPrefix(p.src[p.pos+2:p.pos+end], "^")
		m, ok := p.names[name]
		if !ok {
			return p.fail("there is no class [:%s:]", name)
		}
		p.pos += end + 2
		s.sets = append(s.sets, &set{table: s.table, mask: m, neg: neg})
		return nil
	}
	p.pos++
	sub, err := p.class()
	if err != nil {
		return err
	}
	s.sets = append(s.sets, sub)
	return nil
}
