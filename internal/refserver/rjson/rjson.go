// Package rjson parses JSON into a tree. Its error messages and positions are those of Triton's own parser, because users'
// tests match on them. Numbers keep their text, so that no bit of a tensor is lost.
package rjson

import (
	"fmt"
	"strconv"
)

// Kind is the kind of a value.
type Kind uint8

// The kinds of values.
const (
	Null Kind = iota
	Bool
	Number
	String
	Array
	Object
)

// Value is one node of the tree. The zero value is null.
type Value struct {
	Kind    Kind
	True    bool
	Text    string // of a string, decoded; of a number, as written
	Items   []Value
	Members []Member
}

// Member is one name with its value, in the order of the text.
type Member struct {
	Name  string
	Value Value
}

// SyntaxError is a mistake in the text.
type SyntaxError struct {
	Text   string
	Offset int
}

func (e *SyntaxError) Error() string { return fmt.Sprintf("%s at %d", e.Text, e.Offset) }

// Find looks up a member of an object; nil when there is none, or when v is not an object.
func (v *Value) Find(name string) *Value {
	if v == nil {
		return nil
	}
	for i := range v.Members {
		if v.Members[i].Name == name {
			return &v.Members[i].Value
		}
	}
	return nil
}

// Uint is the value as an unsigned integer; false when it is none.
func (v *Value) Uint() (uint64, bool) {
	if v == nil || v.Kind != Number {
		return 0, false
	}
	n, err := strconv.ParseUint(v.Text, 10, 64)
	return n, err == nil
}

// Int is the value as a signed integer; false when it is none.
func (v *Value) Int() (int64, bool) {
	if v == nil || v.Kind != Number {
		return 0, false
	}
	n, err := strconv.ParseInt(v.Text, 10, 64)
	return n, err == nil
}

// Float is the value as a number; false when it is none.
func (v *Value) Float() (float64, bool) {
	if v == nil || v.Kind != Number {
		return 0, false
	}
	f, err := strconv.ParseFloat(v.Text, 64)
	return f, err == nil
}

// maxDepth bounds the nesting, so that no text can exhaust the stack.
const maxDepth = 1000

// Parse reads a whole text.
func Parse(text []byte) (*Value, error) {
	p := &parser{text: text}
	p.space()
	if p.at == len(text) {
		return nil, p.fail("The document is empty.", p.at)
	}
	var v Value
	if err := p.value(&v, 0); err != nil {
		return nil, err
	}
	p.space()
	if p.at < len(text) {
		return nil, p.fail("The document root must not be followed by other values.", p.at)
	}
	return &v, nil
}

type parser struct {
	text []byte
	at   int
}

func (p *parser) fail(text string, at int) error { return &SyntaxError{Text: text, Offset: at} }

func (p *parser) peek() byte {
	if p.at < len(p.text) {
		return p.text[p.at]
	}
	return 0
}

func (p *parser) space() {
	for p.at < len(p.text) {
		switch p.text[p.at] {
		case ' ', '\n', '\r', '\t':
			p.at++
		default:
			return
		}
	}
}

func (p *parser) value(v *Value, depth int) error {
	if depth > maxDepth {
		return p.fail("Terminate parsing due to Handler error.", p.at)
	}
	switch p.peek() {
	case 'n':
		return p.word("null", v, Value{})
	case 't':
		return p.word("true", v, Value{Kind: Bool, True: true})
	case 'f':
		return p.word("false", v, Value{Kind: Bool})
	case '"':
		s, err := p.str()
		*v = Value{Kind: String, Text: s}
		return err
	case '{':
		return p.object(v, depth)
	case '[':
		return p.array(v, depth)
	default:
		return p.number(v)
	}
}

func (p *parser) word(want string, v *Value, is Value) error {
	for i := range len(want) {
		if p.peek() != want[i] {
			return p.fail("Invalid value.", p.at)
		}
		p.at++
	}
	*v = is
	return nil
}

func (p *parser) object(v *Value, depth int) error {
	v.Kind = Object
	p.at++
	p.space()
	if p.peek() == '}' {
		p.at++
		return nil
	}
	for {
		if p.peek() != '"' {
			return p.fail("Missing a name for object member.", p.at)
		}
		name, err := p.str()
		if err != nil {
			return err
		}
		p.space()
		if p.peek() != ':' {
			return p.fail("Missing a colon after a name of object member.", p.at)
		}
		p.at++
		p.space()
		v.Members = append(v.Members, Member{Name: name})
		if err := p.value(&v.Members[len(v.Members)-1].Value, depth+1); err != nil {
			return err
		}
		if more, err := p.more('}', "Missing a comma or '}' after an object member."); !more {
			return err
		}
	}
}

func (p *parser) array(v *Value, depth int) error {
	v.Kind = Array
	p.at++
	p.space()
	if p.peek() == ']' {
		p.at++
		return nil
	}
	for {
		v.Items = append(v.Items, Value{})
		if err := p.value(&v.Items[len(v.Items)-1], depth+1); err != nil {
			return err
		}
		if more, err := p.more(']', "Missing a comma or ']' after an array element."); !more {
			return err
		}
	}
}

// more passes what stands behind an item: a comma, when another one follows, or the end.
func (p *parser) more(end byte, missing string) (bool, error) {
	p.space()
	switch p.peek() {
	case ',':
		p.at++
		p.space()
		return true, nil
	case end:
		p.at++
		return false, nil
	}
	return false, p.fail(missing, p.at)
}

func (p *parser) digits() int {
	start := p.at
	for p.at < len(p.text) && p.text[p.at] >= '0' && p.text[p.at] <= '9' {
		p.at++
	}
	return p.at - start
}

func (p *parser) number(v *Value) error {
	start := p.at
	if p.peek() == '-' {
		p.at++
	}
	fraction := false
	if p.peek() == '0' {
		p.at++
	} else if p.digits() == 0 {
		return p.fail("Invalid value.", p.at)
	}
	if p.peek() == '.' {
		p.at++
		fraction = true
		if p.digits() == 0 {
			return p.fail("Miss fraction part in number.", p.at)
		}
	}
	if c := p.peek(); c == 'e' || c == 'E' {
		p.at++
		fraction = true
		if c := p.peek(); c == '+' || c == '-' {
			p.at++
		}
		if p.digits() == 0 {
			return p.fail("Miss exponent in number.", p.at)
		}
	}
	*v = Value{Kind: Number, Text: string(p.text[start:p.at])}
	if fraction || p.at-start > 300 {
		if _, err := strconv.ParseFloat(v.Text, 64); err != nil {
			return p.fail("Number too big to be stored in double.", start)
		}
	}
	return nil
}
