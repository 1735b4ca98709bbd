package openai

import (
	"net/http"
	"strings"
)

// part is a stretch of the tokens of a response.
type part struct {
	index       int
	kind        string
	first, last int
}

// The kinds of parts: text, reasoning, and the arguments of a function.
const (
	spoken  = "spoken"
	thought = "thought"
	calling = "calling"
)

var partKinds = []string{spoken, thought, calling}

// parts lists what the response is made of: reasoning, and then text or a call.
func (p *page) parts() []part {
	var list []part
	if p.reasoning > 0 {
		list = append(list, part{kind: thought, last: p.reasoning})
	}
	rest := part{index: len(list), kind: spoken, first: p.reasoning, last: p.n}
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
	body, contentType := p.fill("$whole"), jsonType
	if body[0] != '{' && body[0] != '[' {
		contentType = "text/plain; charset=utf-8" // a transcription
	}
	write(p.ResponseWriter, http.StatusOK, contentType, body)
	return nil
}

func (p *page) streamed() error {
	p.part.kind = spoken
	p.send("begin", 0)
	parts := p.parts()
	err := p.tokens(func(k, count int) error {
		p.part, p.token, p.sent = parts[p.closed], k, k+count
		p.said = p.part.says(k, count)
		if k == p.part.first {
			p.send("open", 0)
		}
		if final := p.api.events["final "+p.part.kind]; p.sent == p.n && final != nil {
			p.send("final", count)
		} else {
			p.send("delta", count)
		}
		if p.sent == p.part.last {
			p.send("close", 0)
			p.closed++
		}
		return p.err
	})
	if err != nil {
		return p.ended(err)
	}
	p.send("end", 0)
	if _, done := p.api.text["done"]; done && p.err == nil {
		p.err = p.out.Done()
	}
	return p.err
}

// send sends the events of a section. After an error no more are sent, and the page keeps the error.
func (p *page) send(section string, tokens int) {
	for _, e := range p.api.events[section+" "+p.part.kind] {
		choices := 1
		if e.each {
			choices = p.choices
		}
		if e.first && p.part.index > 0 || e.role && (p.token > 0 || !p.script.Role) || e.usage && !p.usageAsked {
			continue
		}
		for p.choice = 0; p.choice < choices && p.err == nil; p.choice++ {
			p.name = e.name
			p.err = p.out.Event(e.name, []byte(p.fill(e.data)), tokens)
			p.events++
		}
	}
}
