package secret

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// RedactJSON replaces every secret in the strings of a JSON text without spaces between its tokens, as json.Marshal writes it. The
// text stays JSON with the same members and the keys of the program's own files, whatever the secrets are. A number that is a secret
// becomes a string.
func (s *Set) RedactJSON(b []byte) []byte {
	if s.matcher() == nil {
		return b
	}
	out := make([]byte, 0, len(b))
	var name []byte // of the member whose value comes next
	for {
		from := bytes.IndexByte(b, '"')
		if from < 0 {
			return append(out, s.redactNumbers(b)...)
		}
		end := from + stringEnd(b[from:])
		out = append(out, s.redactNumbers(b[:from])...)
		text := b[from:end]
		switch {
		case end < len(b) && b[end] == ':':
			out = append(append(out, s.redactKey(text)...), ':')
			name, end = text, end+1
		case from == 0:
			out = append(out, s.redactString(name, text)...)
		default: // a sign stands between the last key and this string, so that it is not the value of the key
			out = append(out, s.redactString(nil, text)...)
		}
		b = b[end:]
	}
}

// stringEnd is the length of the JSON string at the beginning of b.
func stringEnd(b []byte) int {
	for i := 1; i < len(b); i++ {
		switch b[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(b)
}

// redactString replaces secrets in a JSON string. A secret that is replaced only after its name is known by the name of the member.
func (s *Set) redactString(name, quoted []byte) []byte {
	text, ok := unquote(quoted)
	if !ok {
		return quote([]byte(Mask))
	}
	var before []byte
	if name != nil {
		before = slices.Concat(name, []byte(`:"`))
	}
	if got, ok := bytes.CutPrefix(s.RedactBytes(slices.Concat(before, text)), before); ok {
		return quote(got)
	}
	return quote(s.RedactBytes(text))
}

// redactKey replaces secrets in a key, except for a key that looks like one of the program's own.
func (s *Set) redactKey(quoted []byte) []byte {
	text, ok := unquote(quoted)
	if !ok {
		return quote([]byte(Mask))
	}
	got := s.RedactBytes(slices.Concat([]byte(`"`), text, keyEnd))
	return quote(bytes.TrimSuffix(bytes.TrimPrefix(got, []byte(`"`)), keyEnd))
}

// redactNumbers replaces the numbers between two strings that are secrets.
func (s *Set) redactNumbers(b []byte) []byte {
	if bytes.Equal(s.RedactBytes(b), b) {
		return b
	}
	var out []byte
	for len(b) > 0 {
		end := bytes.IndexAny(b, ",:[]{}")
		switch {
		case end < 0:
			end = len(b)
		case end == 0:
			end = 1
		}
		token := b[:end]
		if len(token) >= longNumber && !bytes.Equal(s.RedactBytes(token), token) {
			token = quote([]byte(Mask))
		}
		out = append(out, token...)
		b = b[end:]
	}
	return out
}

func unquote(quoted []byte) ([]byte, bool) {
	var text string
	err := json.Unmarshal(quoted, &text)
	return []byte(text), err == nil
}

// quote writes a text as a JSON string that can stand in a page.
func quote(text []byte) []byte {
	b, _ := json.Marshal(string(text)) // a string has no error
	return b
}

// DropMasked removes the values of a JSON text in which Mask stands for a secret: members of objects, strings of lists, and objects of
// lists that have such a member, as a header has. Values without a mask stay as they are written.
func DropMasked(b []byte) ([]byte, error) {
	kept, _, err := dropMasked(b)
	return kept, err
}

// dropMasked also tells whether b is masked: a string, or an object with a masked string.
func dropMasked(b json.RawMessage) (kept json.RawMessage, masked bool, err error) {
	switch {
	case !bytes.Contains(b, []byte(Mask)):
		return b, false, nil
	case b[0] == '[':
		var list, left []json.RawMessage
		err = json.Unmarshal(b, &list)
		for _, e := range list {
			e, hidden, bad := dropMasked(e)
			if err = errors.Join(err, bad); !hidden {
				left = append(left, e)
			}
		}
		kept, bad := json.Marshal(left)
		return kept, false, errors.Join(err, bad)
	case b[0] == '{':
		members := map[string]json.RawMessage{}
		err = json.Unmarshal(b, &members)
		for name, e := range members {
			left, hidden, bad := dropMasked(e)
			err = errors.Join(err, bad)
			if members[name] = left; hidden && e[0] == '"' {
				delete(members, name)
				masked = true
			}
		}
		kept, bad := json.Marshal(members)
		return kept, masked, errors.Join(err, bad)
	}
	return b, true, nil
}

// Missing names the options of hidden, each with Mask in its value, that given does not have as often. Both are lists as
// option.Table.Arguments makes them.
func Missing(hidden, given []string) error {
	count := map[string]int{}
	for _, arg := range given {
		name, _, _ := strings.Cut(arg, "=")
		count[name]++
	}
	var missing []string
	for _, arg := range hidden {
		name, _, _ := strings.Cut(arg, "=")
		if count[name]--; count[name] < 0 {
			missing = append(missing, arg)
		}
	}
	if missing == nil {
		return nil
	}
	return fmt.Errorf("the result keeps no secrets: give %s again", strings.Join(missing, ", "))
}
