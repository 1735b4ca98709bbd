// Package secret keeps secrets out of everything that the program writes.
//
// A Set holds the secrets of a process as values. The option tables mark each option that can carry a secret with a Kind, and
// parsing the command line collects the values before anything else uses them. Every file, page and standard stream is written
// through a Writer of the Set, which replaces the values everywhere: as given, and as encoded in JSON, URLs, HTML, XML, CSV and
// Basic authentication.
package secret

import (
	"encoding/base64"
	"encoding/json"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
)

// Mask replaces a secret.
const Mask = "***"

// Kind says where in the value of an option a secret can be.
type Kind int

// The kinds.
const (
	None   Kind = iota // nowhere
	Whole              // the value is the secret
	Header             // NAME: VALUE, or a JSON object of several headers
	URL                // user info and query of addresses separated by commas or spaces
	Pair               // NAME:VALUE or a JSON object; secret if the name is sensitive
	Typed              // NAME:VALUE:TYPE; secret if the name is sensitive
	Option             // --NAME=VALUE or VALUE, an argument for another program
)

// Set is the secrets of a process. The zero Set is empty, a nil Set stays empty. It is safe for concurrent use.
type Set struct {
	// Words returns words of the program's own files, such as "concurrency". It is called when the first secret is added; nil
	// returns none. A secret that is such a word is replaced only after its name: it stands in the files anyway, and replacing it
	// there would damage them.
	Words func() []string

	mu     sync.Mutex
	values []value
	public []string
	words  []string                // of Words and Reserve
	asked  bool                    // Words was called
	match  atomic.Pointer[matcher] // nil while there are no secrets
}

// value is one secret.
type value struct {
	text string
	// name is the header or parameter that carried the text; empty if there was none.
	name string
	// sure is false if the text is only likely to be a secret, as in an unknown header. Such a text does not count if a public
	// option has the same value, for example the name of the model.
	sure bool
}

// sensitive are parts of the names of headers, parameters and fields that carry secrets.
var sensitive = []string{"auth", "key", "token", "secret", "passw", "pwd", "credential", "cookie", "signature", "jwt", "bearer"}

// Sensitive reports whether a header, parameter or field of this name carries a secret.
func Sensitive(name string) bool {
	name = strings.ToLower(name)
	return name == "sig" || slices.ContainsFunc(sensitive, func(part string) bool { return strings.Contains(name, part) })
}

// SensitivePair reports whether a parameter carries a secret. A number of tokens, such as max_tokens, is none.
func SensitivePair(name, v string) bool {
	_, err := strconv.ParseFloat(strings.TrimSpace(v), 64)
	return Sensitive(name) && (err != nil || !strings.Contains(strings.ToLower(name), "token"))
}

// harmless are headers whose values are never secret.
var harmless = []string{"accept", "accept-encoding", "content-type", "connection", "user-agent", "host", "x-request-id", "traceparent", "anthropic-version"}

// Harmless reports whether the values of a header are never secret.
func Harmless(header string) bool {
	return slices.Contains(harmless, strings.ToLower(strings.TrimSpace(header)))
}

// Collect adds the secrets in the value of an option. A value of kind None is public.
func (s *Set) Collect(k Kind, text string) {
	switch k {
	case None:
		s.addPublic(text)
	case Whole:
		s.add(value{text: text, sure: true})
	case Header:
		s.collectHeader(text)
	case URL:
		for address := range strings.FieldsFuncSeq(text, func(r rune) bool { return r == ',' || r == ' ' }) {
			s.collectURL(address)
		}
		s.collectURL(text) // a password may have a comma
	case Pair:
		s.collectPair(text)
	case Typed:
		text, _, _ = cutType(text)
		s.collectPair(text)
	case Option:
		s.collectOption(text)
	}
}

// Add adds a text that is a secret.
func (s *Set) Add(text string) { s.add(value{text: text, sure: true}) }

func (s *Set) collectHeader(text string) {
	if list, ok := headerObject(text); ok {
		for name, v := range list {
			s.collectHeader(name + ": " + v)
		}
		return
	}
	name, v, ok := strings.Cut(text, ":")
	if !ok {
		s.add(value{text: text, sure: true})
		return
	}
	name, v = strings.TrimSpace(name), strings.TrimSpace(v)
	if Harmless(name) {
		return
	}
	sure := Sensitive(name)
	s.add(value{text: v, name: name, sure: sure})
	if strings.Contains(strings.ToLower(name), "cookie") {
		for pair := range strings.SplitSeq(v, ";") {
			cookie, c, _ := strings.Cut(strings.TrimSpace(pair), "=")
			s.add(value{text: c, name: cookie, sure: sure})
		}
	}
	scheme, credentials, ok := strings.Cut(v, " ")
	if !ok || !sure {
		return
	}
	credentials = strings.TrimSpace(credentials)
	s.add(value{text: credentials, name: scheme, sure: true})
	if plain, err := base64.StdEncoding.DecodeString(credentials); err == nil && strings.EqualFold(scheme, "basic") {
		s.collectUser(string(plain))
	}
}

// headerObject reads headers that are given as a JSON object.
func headerObject(text string) (map[string]string, bool) {
	var list map[string]string
	ok := strings.HasPrefix(strings.TrimSpace(text), "{") && json.Unmarshal([]byte(text), &list) == nil
	return list, ok
}

// collectUser adds the parts of USER:PASSWORD, and its encoding for Basic authentication.
func (s *Set) collectUser(info string) {
	user, password, ok := strings.Cut(info, ":")
	s.add(value{text: info, sure: true})
	s.add(value{text: user, sure: !ok})
	if ok {
		s.add(value{text: password, sure: true})
	}
	s.add(value{text: base64.StdEncoding.EncodeToString([]byte(info)), sure: true})
}

func (s *Set) collectURL(address string) {
	rest := address
	if _, after, ok := strings.Cut(address, "://"); ok {
		rest = after
	}
	rest, _, _ = strings.Cut(rest, "#")
	rest, query, _ := strings.Cut(rest, "?")
	host, _, _ := strings.Cut(rest, "/")
	if _, err := url.Parse("//" + rest); err != nil {
		host = rest // a password with a slash, which ought to be escaped
	}
	if i := strings.LastIndexByte(host, '@'); i >= 0 {
		s.collectUser(host[:i])
		if plain, err := url.PathUnescape(host[:i]); err == nil {
			s.collectUser(plain)
		}
	}
	for pair := range strings.SplitSeq(query, "&") {
		name, v, ok := strings.Cut(pair, "=")
		if !ok {
			name, v = "", pair
		}
		s.add(value{text: v, name: name, sure: Sensitive(name)})
		if plain, err := url.QueryUnescape(v); err == nil {
			s.add(value{text: plain, name: name, sure: Sensitive(name)})
		}
	}
}

func (s *Set) collectPair(text string) {
	var object map[string]any
	if json.Unmarshal([]byte(text), &object) == nil {
		s.collectObject(object)
		return
	}
	if name, v, ok := strings.Cut(text, ":"); ok && SensitivePair(name, v) {
		s.add(value{text: v, name: name, sure: true})
	}
}

// cutType splits NAME:VALUE:TYPE before the type. A text without a type is NAME:VALUE.
func cutType(text string) (pair, kind string, ok bool) {
	first, last := strings.IndexByte(text, ':'), strings.LastIndexByte(text, ':')
	if first == last {
		return text, "", false
	}
	return text[:last], text[last+1:], true
}

func (s *Set) collectOption(text string) {
	name, v, ok := strings.Cut(text, "=")
	switch {
	case ok && Sensitive(name):
		s.add(value{text: v, name: name, sure: true})
	case !strings.HasPrefix(text, "-"):
		s.add(value{text: text})
	}
}

func (s *Set) collectObject(object map[string]any) {
	for name, v := range object {
		switch v := v.(type) {
		case map[string]any:
			s.collectObject(v)
		case string:
			if Sensitive(name) {
				s.add(value{text: v, name: name, sure: true})
			}
		}
	}
}

// Reserve adds words to those of Words, such as the names of options.
func (s *Set) Reserve(words ...string) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.words = append(s.words, words...)
	if len(s.values) > 0 {
		s.compile()
	}
}

func (s *Set) addPublic(text string) {
	if s == nil || text == "" {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.public = append(s.public, text)
	if len(s.values) > 0 {
		s.compile()
	}
}

func (s *Set) add(v value) {
	if v.text = strings.TrimSpace(v.text); s == nil || v.text == "" || v.text == Mask {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !slices.Contains(s.values, v) {
		s.values = append(s.values, v)
		s.compile()
	}
}

// compile makes the matcher. The caller holds the lock.
func (s *Set) compile() {
	if s.Words != nil && !s.asked {
		s.asked = true
		s.words = append(s.words, s.Words()...)
	}
	m := &matcher{}
	for _, v := range s.values {
		within := func(text string) bool { return strings.Contains(text, v.text) }
		plain := v.name != "" && isName(v.text) // a word in a header or a query, not the user of an address
		known := slices.ContainsFunc(s.words, within) || !v.sure && (plain || slices.ContainsFunc(s.public, within))
		m.patterns = append(m.patterns, v.patterns(known)...)
	}
	if m.reduce(); len(m.patterns) > 0 {
		s.match.Store(m)
	}
}

// isName reports whether a text is one word of letters, as the name of a team or of an environment is.
func isName(text string) bool {
	return strings.IndexFunc(text, func(r rune) bool { return r != '_' && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') }) < 0
}

// matcher is the patterns of the secrets; nil if there are none.
func (s *Set) matcher() *matcher {
	if s == nil {
		return nil
	}
	return s.match.Load()
}

// Redact replaces every secret in a text.
func (s *Set) Redact(text string) string {
	if s.matcher() == nil {
		return text
	}
	return string(s.RedactBytes([]byte(text)))
}

// RedactBytes is Redact for bytes. It returns b itself if b contains no secret.
func (s *Set) RedactBytes(b []byte) []byte {
	m := s.matcher()
	if m == nil || !m.any(b) {
		return b
	}
	out, _, _ := m.replace(nil, b, [2]byte{}, true)
	return out
}
