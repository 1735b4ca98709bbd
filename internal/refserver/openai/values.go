package openai

import (
	"encoding/json"
	"net/http"
	"os"
	"strconv"
	"strings"
)

// fill writes a template: $NAME is replaced by a value.
func (p *page) fill(template string) string {
	return os.Expand(template, func(name string) string {
		if f := p.values[name]; f != nil {
			return f(p)
		}
		piece, ok := p.api.text[name]
		if !ok {
			panic("BUG: a template of package openai has the unknown name " + name)
		}
		return p.fill(piece)
	})
}

func quote(text string) string {
	b, err := json.Marshal(text)
	if err != nil {
		return `""`
	}
	return string(b)
}

// list writes n templates with commas between them.
func (p *page) list(n int, template func(i int) string) string {
	var b strings.Builder
	for i := range n {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(p.fill(template(i)))
	}
	return b.String()
}

// value is what stands for a name in templates.
type value func(p *page) string

func number(f func(p *page) int) value { return func(p *page) string { return strconv.Itoa(f(p)) } }

// values are the names that templates may have.
func values() map[string]value {
	filled := func(template string, when func(p *page) bool) value {
		return func(p *page) string {
			if !when(p) {
				return ""
			}
			return p.fill(template)
		}
	}
	opens := func(p *page) bool { return p.token == p.part.first }
	return map[string]value{
		"id":      func(p *page) string { return p.id },
		"model":   func(p *page) string { return quote(p.model) },
		"created": number(func(p *page) int { return int(p.received.Unix()) }),
		"type":    func(p *page) string { return p.name },
		"seq":     number(func(p *page) int { return p.events }),
		"message": func(p *page) string { return quote(p.failure.text) },
		"kind":    func(p *page) string { return p.api.kinds[min(p.failure.status/http.StatusInternalServerError, 1)] },

		// What is said: by the event, by the part (as a text, and as it is), by the whole response.
		"said":  func(p *page) string { return quote(p.said) },
		"part":  func(p *page) string { return quote(p.part.whole()) },
		"input": func(p *page) string { return p.part.whole() },
		"all":   func(p *page) string { return quote(p.all()) },
		"plain": func(p *page) string { return p.all() },
		"call":  func(p *page) string { return quote(p.call) },
		"index": number(func(p *page) int { return p.part.index }),
		"token": number(func(p *page) int { return p.sent - 1 }),
		"next":  number(func(p *page) int { return p.sent }),

		// Lists: the choices of the response, and its parts that are complete.
		"choice": number(func(p *page) int { return p.choice }),
		"choices": func(p *page) string {
			return p.list(p.choices, func(i int) string { p.choice = i; return p.api.text["choice"] })
		},
		"parts": func(p *page) string {
			now, all := p.part, p.parts()
			defer func() { p.part = now }()
			return p.list(p.closed, func(i int) string { p.part = all[i]; return p.api.text["part "+p.part.kind] })
		},

		"this": func(p *page) string { return p.fill(p.api.text["part "+p.part.kind]) },

		// Counts of tokens, and of choices.
		"in":       number(func(p *page) int { return p.prompt }),
		"n":        number(func(p *page) int { return p.n }),
		"sum":      number(func(p *page) int { return p.prompt + p.n }),
		"out":      number(func(p *page) int { return p.sent * p.choices }),
		"total":    number(func(p *page) int { return p.prompt + p.sent*p.choices }),
		"cached":   number(func(p *page) int { return p.script.Cached }),
		"new":      number(func(p *page) int { return max(0, p.prompt-p.script.Cached) }),
		"thoughts": number(func(p *page) int { return p.reasoning }),
		"reasoned": number(func(p *page) int { return min(p.sent, p.reasoning) * p.choices }),
		"many":     number(func(p *page) int { return p.choices }),
		"insum":    number(func(p *page) int { return p.prompt + p.choices }),

		// What only some responses have.
		"role":   filled(`"role":"assistant",`, func(p *page) bool { return p.token == 0 && !p.script.Role }),
		"named":  filled(`"id":"call_0","type":"function",`, opens),
		"name":   filled(`"name":$call,`, opens),
		"finish": func(p *page) string { return p.finish },
		"always": filled(`,"usage":$usage`, func(p *page) bool { return p.usageAlways || p.script.Usage }),
		"data":   func(p *page) string { return p.data[p.choice] },
	}
}
