package openai

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// tokens calls f for each token of the response at its time, or for several at once if the script says so: k is the first.
func (p *page) tokens(f func(k, count int) error) error {
	end := p.cfg.Pace.Begin()
	defer end()
	due := p.received
	for k := 0; k < p.n; {
		count := min(p.script.Chunk, p.n-k)
		if k < p.reasoning {
			count = min(count, p.reasoning-k) // no event has both
		}
		for i := range count {
			switch k + i {
			case p.script.Fail:
				return &apiError{http.StatusInternalServerError, onPurpose}
			case p.script.Stop:
				return errStop
			}
			due = due.Add(p.cfg.Pace.StepOf(k+i, p.prompt, p.ttft, p.itl))
		}
		if err := p.until(due); err != nil {
			return err
		}
		if err := f(k, count); err != nil {
			return err
		}
		k += count
	}
	return nil
}

// until waits for a time, and sends pings if the script has them.
func (p *page) until(due time.Time) error {
	ctx := p.req.Context()
	if p.script.Ping > 0 {
		for next := time.Now().Add(p.script.Ping); next.Before(due); next = next.Add(p.script.Ping) {
			if err := p.cfg.Clock.Until(ctx, next); err != nil {
				return err
			}
			if err := p.out.Ping(); err != nil {
				return err
			}
		}
	}
	return p.cfg.Clock.Until(ctx, due)
}

func token(k int) string {
	if k == 0 {
		return "tok0"
	}
	return " tok" + strconv.Itoa(k)
}

// defaultTokens is the default length of a response.
const defaultTokens = 16

// maxAnswer limits one response, so that a mistyped length does not stream for days.
const maxAnswer = 1 << 20

// words counts the tokens of a text: its words.
func words(text string) int { return len(strings.Fields(text)) }

// contentWords counts the words of a message, whose content is a text or a list of parts.
func contentWords(raw json.RawMessage) int {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return words(text)
	}
	var parts []struct {
		Text string `json:"text"`
	}
	_ = json.Unmarshal(raw, &parts) // what is neither has no words
	n := 0
	for _, p := range parts {
		n += words(p.Text)
	}
	return n
}

// promptWords counts a prompt: a text, a list of texts, of token ids, or of messages.
func promptWords(raw json.RawMessage) int {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return words(text)
	}
	var list []json.RawMessage
	_ = json.Unmarshal(raw, &list) // what is neither has no words
	n := 0
	for _, item := range list {
		var m message
		switch {
		case json.Unmarshal(item, &text) == nil:
			n += words(text)
		case json.Unmarshal(item, &m) == nil && m.Content != nil:
			n += contentWords(m.Content)
		default:
			n++
		}
	}
	return n
}
