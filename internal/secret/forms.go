package secret

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/json"
	"encoding/xml"
	"html"
	"net/textproto"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// The lengths, in bytes, that decide how a text is searched for.
const (
	// shortest is the length from which a text is searched for everywhere. A shorter text is replaced only after its name.
	shortest = 4
	// longWord is the length from which a text is found inside words too.
	longWord = 8
	// longNumber is the length from which a number is searched for everywhere: a shorter one may be a measured value.
	longNumber = 12
)

// pattern is one spelling of a secret.
type pattern struct {
	text []byte
	// head is how many bytes must match: a message may be truncated within a secret.
	head int
	// word: no letter or digit may be next to the text.
	word bool
	// keep is how many bytes at the beginning stay: the name before the secret.
	keep int
	// key: the text may be a key of JSON, as which it is not replaced. A file without its keys cannot be read.
	key bool
	// whole is the text with what must be seen to decide about it.
	whole []byte
}

// keyEnd is what follows a key of JSON.
var keyEnd = []byte(`":`)

// isKey reports whether a text could be a key of the program's files: letters, digits and underscores.
func isKey(text string) bool {
	return strings.IndexFunc(text, func(r rune) bool { return r != '_' && (r < 'a' || r > 'z') && (r < '0' || r > '9') }) < 0
}

// patterns returns the spellings of a value. known: the text is also public.
func (v *value) patterns(known bool) []pattern {
	_, err := strconv.ParseFloat(v.text, 64)
	number := err == nil || v.text == "true" || v.text == "false" || v.text == "null"
	if known || len(v.text) < shortest || number && len(v.text) < longNumber {
		return v.behindName()
	}
	var out []pattern
	for _, form := range spellings(v.text) {
		p := pattern{text: []byte(form), head: len(form), word: number || len(form) < longWord, key: isKey(form)}
		if v.sure && !p.word && len(form) >= 2*longWord {
			p.head = (len(form) + 1) / 2
		}
		out = append(out, p)
	}
	return out
}

// behindName returns the spellings of a value with its name before it, for values that must not be replaced everywhere.
func (v *value) behindName() []pattern {
	var out []pattern
	for _, name := range []string{v.name, strings.ToLower(v.name), textproto.CanonicalMIMEHeaderKey(v.name)} {
		if name == "" {
			continue
		}
		for _, between := range []string{":", ": ", "=", " ", `":"`, `": "`, `\":\"`, `\": \"`, `%3D`} {
			out = append(out, pattern{text: []byte(name + between + v.text), head: len(name + between + v.text), word: true, keep: len(name + between)})
		}
	}
	return out
}

// spellings returns the encodings of a text in files, pages and protocols.
func spellings(text string) []string {
	quoted := func(s string) string { return s[1 : len(s)-1] }
	inJSON := func(s string, forHTML bool) string {
		var b bytes.Buffer
		e := json.NewEncoder(&b)
		e.SetEscapeHTML(forHTML)
		if e.Encode(s) != nil {
			return s
		}
		return quoted(strings.TrimSuffix(b.String(), "\n"))
	}
	var inXML bytes.Buffer
	_ = xml.EscapeText(&inXML, []byte(text)) // a buffer returns no error
	once, page := inJSON(text, false), inJSON(text, true)
	list := []string{
		text, once, page, inJSON(once, false), inJSON(page, true), inJSON(once, true), quoted(strconv.Quote(text)), strings.ReplaceAll(text, `"`, `""`),
		html.EscapeString(text), inXML.String(), inJSON(html.EscapeString(text), true),
		url.QueryEscape(text), url.PathEscape(text), url.User(text).String(), lowerEscapes(url.QueryEscape(text)), lowerEscapes(url.PathEscape(text)),
	}
	for _, plain := range []string{text, text + ":", ":" + text} {
		for _, e := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
			// The last character depends on what follows the text.
			list = append(list, e.EncodeToString([]byte(plain))[:len(plain)*8/6])
		}
	}
	list = slices.DeleteFunc(list, func(s string) bool { return len(s) < shortest })
	slices.Sort(list)
	return slices.Compact(list)
}

// lowerEscapes writes the hexadecimal digits of a URL's escapes in lower case.
func lowerEscapes(s string) string {
	b := []byte(s)
	for i := 0; i+2 < len(b); i++ {
		if b[i] == '%' {
			copy(b[i:], bytes.ToLower(b[i:i+3]))
		}
	}
	return string(b)
}

// reduce removes patterns that contain another one: replacing the shorter one is enough.
func (m *matcher) reduce() {
	slices.SortFunc(m.patterns, func(a, b pattern) int {
		return cmp.Or(cmp.Compare(len(a.text), len(b.text)), bytes.Compare(a.text, b.text), cmp.Compare(a.head, b.head))
	})
	var kept []pattern
	for _, p := range m.patterns {
		covered := slices.ContainsFunc(kept, func(k pattern) bool {
			return bytes.Equal(k.text, p.text) || !k.word && bytes.Contains(p.text, k.text)
		})
		if !covered {
			kept = append(kept, p)
		}
	}
	m.patterns = kept
	for i := range kept {
		if kept[i].whole = kept[i].text; kept[i].key {
			kept[i].whole = slices.Concat(kept[i].text, keyEnd)
		}
		m.longest = max(m.longest, len(kept[i].text))
	}
}
