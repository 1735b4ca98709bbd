package endpoint

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/redline-bench/redline/internal/llm"
	"github.com/redline-bench/redline/internal/tensor"
)

// body writes a JSON object member by member. Members of the user replace ours.
type body struct {
	b      []byte
	n      int
	extras [2][]field // members of the run and of the turn; a later one takes precedence
}

func (c *common) body(r *Request) *body {
	return &body{b: append(make([]byte, 0, 512), '{'), extras: [2][]field{c.extra, fields(r.turn().Extra)}}
}

// given reports whether the user sets a member.
func (w *body) given(name string) bool {
	return contains(w.extras[0], name) || contains(w.extras[1], name)
}

// name begins a member; false if the user's own member replaces it.
func (w *body) name(name string) bool {
	if w.given(name) {
		return false
	}
	w.key(name)
	return true
}

func (w *body) key(name string) {
	if w.n++; w.n > 1 {
		w.b = append(w.b, ',')
	}
	w.b = tensor.AppendQuoted(w.b, name)
	w.b = append(w.b, ':')
}

func (w *body) text(name, value string) {
	if w.name(name) {
		w.b = tensor.AppendQuoted(w.b, value)
	}
}

// number adds a number that is not 0.
func (w *body) number(name string, n int) {
	if n != 0 && w.name(name) {
		w.b = strconv.AppendInt(w.b, int64(n), 10)
	}
}

func (w *body) raw(name string, value []byte) {
	if len(value) > 0 && w.name(name) {
		w.b = append(w.b, value...)
	}
}

func (w *body) flag(name string, v bool) {
	if w.name(name) {
		w.b = strconv.AppendBool(w.b, v)
	}
}

// texts adds one string, or an array of several.
func (w *body) texts(name string, list []string) {
	if !w.name(name) {
		return
	}
	if len(list) == 1 {
		w.b = tensor.AppendQuoted(w.b, list[0])
		return
	}
	w.b = appendStrings(w.b, list)
}

// end adds the user's members and closes the object.
func (w *body) end() []byte {
	for i, list := range w.extras {
		for _, f := range list {
			if i == 0 && contains(w.extras[1], f.name) || string(f.value) == "null" {
				continue // null removes a member
			}
			w.key(f.name)
			w.b = append(w.b, f.value...)
		}
	}
	return append(w.b, '}')
}

func contains(list []field, name string) bool {
	return slices.ContainsFunc(list, func(f field) bool { return f.name == name })
}

func appendStrings(b []byte, list []string) []byte {
	b = append(b, '[')
	for i, s := range list {
		if i > 0 {
			b = append(b, ',')
		}
		b = tensor.AppendQuoted(b, s)
	}
	return append(b, ']')
}

// prompts returns the texts of a request for kinds without messages: its own, or the text rendered by the chat template.
func (c *common) prompts(r *Request) ([]string, error) {
	if c.ChatTemplate == nil {
		return r.turn().Texts, nil
	}
	text, err := c.ChatTemplate.Prompt(r)
	return []string{text}, err
}

func role(t *llm.Turn) string { return cmp.Or(t.Role, "user") }
