package tokenizer

import (
	"encoding/json"
	"strings"
)

// Files of large vocabularies have tens of megabytes of JSON in a plain form. scan reads that form in one pass; what it
// does not understand is left to encoding/json, which also says what is wrong with a file.
type scan struct {
	s  string
	at int
}

func (c *scan) space() {
	for c.at < len(c.s) {
		switch c.s[c.at] {
		case ' ', '\n', '\r', '\t':
			c.at++
		default:
			return
		}
	}
}

// eat skips a byte, and the white space around it, if it is next.
func (c *scan) eat(b byte) bool {
	c.space()
	if c.at < len(c.s) && c.s[c.at] == b {
		c.at++
		c.space()
		return true
	}
	return false
}

// text reads a string.
func (c *scan) text() (string, bool) {
	c.space()
	if c.at >= len(c.s) || c.s[c.at] != '"' {
		return "", false
	}
	from := c.at + 1
	for i := from; i < len(c.s); i++ {
		switch b := c.s[i]; {
		case b == '"':
			c.at = i + 1
			return c.s[from:i], true
		case b == '\\':
			return c.escaped()
		case b < ' ':
			return "", false
		}
	}
	return "", false
}

// escaped reads a string that has escapes.
func (c *scan) escaped() (string, bool) {
	for i := c.at + 1; i < len(c.s); i++ {
		switch c.s[i] {
		case '\\':
			i++
		case '"':
			var s string
			err := json.Unmarshal([]byte(c.s[c.at:i+1]), &s)
			c.at = i + 1
			return s, err == nil
		}
	}
	return "", false
}

// number reads a whole number.
func (c *scan) number() (int, bool) {
	n, from := 0, c.at
	for c.at < len(c.s) && c.s[c.at] >= '0' && c.s[c.at] <= '9' && c.at-from < 10 {
		n = n*10 + int(c.s[c.at]-'0')
		c.at++
	}
	return n, c.at > from
}

// skip passes over a value and is its text.
func (c *scan) skip() (string, bool) {
	c.space()
	from, depth := c.at, 0
	for c.at < len(c.s) {
		switch c.s[c.at] {
		case '"':
			if !c.quoted() {
				return "", false
			}
		case '{', '[':
			depth++
			c.at++
		case '}', ']', ',':
			if depth == 0 {
				return strings.TrimRight(c.s[from:c.at], " \n\r\t"), true
			}
			if c.s[c.at] != ',' {
				depth--
			}
			c.at++
		default:
			c.at++
		}
	}
	return "", false
}

// quoted passes over a string.
func (c *scan) quoted() bool {
	for c.at++; c.at < len(c.s); c.at++ {
		switch c.s[c.at] {
		case '\\':
			c.at++
		case '"':
			c.at++
			return true
		}
	}
	return false
}

// members are the members of an object, unread.
func members(s string) (map[string]string, bool) {
	c := &scan{s: s}
	m := map[string]string{}
	if !c.eat('{') {
		return nil, false
	}
	for {
		key, ok := c.text()
		if !ok || !c.eat(':') {
			return nil, false
		}
		if m[key], ok = c.skip(); !ok {
			return nil, false
		}
		if c.eat(',') {
			continue
		}
		done := c.eat('}')
		return m, done && c.at == len(c.s)
	}
}

// quickVocab reads an object of tokens and ids.
func quickVocab(s string) (map[string]int, bool) {
	c := &scan{s: s}
	m := make(map[string]int, len(s)/20)
	if !c.eat('{') {
		return nil, false
	}
	for {
		key, ok := c.text()
		if !ok || !c.eat(':') {
			return nil, false
		}
		id, ok := c.number()
		if !ok {
			return nil, false
		}
		m[strings.Clone(key)] = id // not to keep the whole file
		if !c.eat(',') {
			return m, c.eat('}') && c.at == len(c.s)
		}
	}
}

// quickMerges reads an array of pairs, as arrays or as two words in a string.
func quickMerges(s string) ([][2]string, bool) {
	c := &scan{s: s}
	list := make([][2]string, 0, len(s)/16)
	if !c.eat('[') {
		return nil, false
	}
	for {
		var pair [2]string
		var ok bool
		if c.eat('[') {
			var ok1, ok2 bool
			pair[0], ok1 = c.text()
			comma := c.eat(',')
			pair[1], ok2 = c.text()
			ok = ok1 && ok2 && comma && c.eat(']')
		} else {
			line, isText := c.text()
			pair[0], pair[1], ok = strings.Cut(line, " ")
			ok = ok && isText && !strings.Contains(pair[1], " ") && !strings.HasPrefix(line, "#version")
		}
		if !ok {
			return nil, false
		}
		list = append(list, pair)
		if !c.eat(',') {
			return list, c.eat(']') && c.at == len(c.s)
		}
	}
}
