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
			due = due.Add(p.cfg.Pace.Step(k+i, p.prompt, p.ttft, p.itl))
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

// words counts the tokens of a prompt, which may be nested in any way: the words of texts, token ids, and the content of messages.
func words(prompt any) int {
	n := 0
	switch p := prompt.(type) {
	case json.RawMessage:
		var v any
		_ = json.Unmarshal(p, &v) // what is missing has no words
		return words(v)
	case string:
		return len(strings.Fields(p))
	case float64:
		return 1
	case []any:
		for _, item := range p {
			n += words(item)
		}
	case map[string]any:
		return words(p["text"]) + words(p["content"])
	}
	return n
}
