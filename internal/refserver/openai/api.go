package openai

import (
	"net/http"
	"strings"
)

// api is one interface: how its requests are read, and the templates of its responses.
type api struct {
	form bool                // requests are forms
	read func(p *page) error // reads what the templates need, and how many tokens the prompt and the response have

	whole  string          // a response that is no stream
	choice string          // one of its choices, for $choices
	part   map[kind]string // one of its parts, for $parts

	// A stream begins, opens and closes parts of the response, has a delta for each token, and ends.
	begin, end  []event
	open, close map[kind][]event
	delta       map[kind]event
	final       *event // the delta of the last token, where it differs
	done        bool   // [DONE] follows the end

	fault  string    // the body of an error
	kinds  [2]string // the kinds of errors: of the client, of the server
	failed []event   // an error within a stream; none for an event with the body of the error
}

// event is one event of a stream. Its data are a template.
type event struct {
	name, data string
	each       bool               // it is sent for each choice
	when       func(p *page) bool // nil for always
}

// part is a stretch of the tokens of a response.
type part struct {
	index       int
	kind        kind
	first, last int
}

type kind int

const (
	spoken  kind = iota
	thought      // reasoning
	calling      // arguments of a function
)

// parts lists what the response is made of: reasoning, and then text or a call.
func (p *page) parts() []part {
	var list []part
	if p.reasoning > 0 {
		list = append(list, part{kind: thought, last: p.reasoning})
	}
	rest := part{index: len(list), first: p.reasoning, last: p.n}
	if p.call != "" {
		rest.kind = calling
	}
	if rest.first < rest.last {
		list = append(list, rest)
	}
	return list
}

// says is what tokens k to k+count-1 say: text, or a piece of the arguments of a call, which together are a JSON object.
func (p *part) says(k, count int) string {
	var b strings.Builder
	for i := k; i < k+count; i++ {
		switch {
		case p.kind != calling:
			b.WriteString(token(i))
		case p.last-p.first == 1:
			return "{}"
		case i == p.first:
			b.WriteString(`{"text":"`)
		case i == p.last-1:
			b.WriteString(token(i-p.first) + `"}`)
		default:
			b.WriteString(token(i - p.first))
		}
	}
	return b.String()
}

func (p *part) whole() string { return p.says(p.first, p.last-p.first) }

// all is what all tokens say.
func (p *page) all() string { return (&part{last: p.n}).whole() }

// answer sends the response.
func (p *page) answer() error {
	if p.stream {
		return p.streamed()
	}
	p.script.Ping = 0 // there is no stream to send them in
	if err := p.tokens(func(int, int) error { return nil }); err != nil {
		return err
	}
	p.sent, p.closed = p.n, len(p.parts())
	body, contentType := p.fill(p.api.whole), jsonType
	if body[0] != '{' && body[0] != '[' {
		contentType = "text/plain; charset=utf-8" // a transcription
	}
	write(p.ResponseWriter, http.StatusOK, contentType, body)
	return nil
}

func (p *page) streamed() error {
	p.send(p.api.begin, 0)
	parts := p.parts()
	err := p.tokens(func(k, count int) error {
		p.part, p.token, p.sent = parts[p.closed], k, k+count
		p.said = p.part.says(k, count)
		if k == p.part.first {
			p.send(p.api.open[p.part.kind], 0)
		}
		delta := p.api.delta[p.part.kind]
		if p.sent == p.n && p.api.final != nil {
			delta = *p.api.final
		}
		p.send([]event{delta}, count)
		if p.sent == p.part.last {
			p.send(p.api.close[p.part.kind], 0)
			p.closed++
		}
		return p.err
	})
	if err != nil {
		return p.ended(err)
	}
	p.send(p.api.end, 0)
	if p.err == nil && p.api.done {
		p.err = p.out.Done()
	}
	return p.err
}

// send sends events. After an error no more are sent, and the page keeps the error.
func (p *page) send(list []event, tokens int) {
	for _, e := range list {
		choices := 1
		if e.each {
			choices = p.choices
		}
		for p.choice = 0; p.choice < choices && p.err == nil && (e.when == nil || e.when(p)); p.choice++ {
			p.name = e.name
			p.err = p.out.Event(e.name, []byte(p.fill(e.data)), tokens)
			p.events++
		}
	}
}
