package openai

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// tokens calls f for each of n tokens at its time, or for several at once if the script says so: k is the first.
func (h *Handler) tokens(x *exchange, n int, f func(k int, text string, count int) error) error {
	end := h.cfg.Pace.Begin()
	defer end()
	due := x.received
	for k := 0; k < n; {
		count := min(x.script.Chunk, n-k)
		if k < x.reasoning {
			count = min(count, x.reasoning-k) // no event has both
		}
		for i := range count {
			switch k + i {
			case x.script.Fail:
				return &apiError{http.StatusInternalServerError, "server_error", onPurpose}
			case x.script.Stop:
				return errStop
			}
			due = due.Add(h.cfg.Pace.StepOf(k+i, x.prompt, x.ttft, x.itl))
		}
		if err := h.wait(x, due); err != nil {
			return err
		}
		if err := f(k, text(k, count), count); err != nil {
			return err
		}
		k += count
	}
	return nil
}

// wait waits for a time, and sends pings if the script has them.
func (h *Handler) wait(x *exchange, due time.Time) error {
	ctx := x.req.Context()
	if x.script.Ping > 0 {
		for next := time.Now().Add(x.script.Ping); next.Before(due); next = next.Add(x.script.Ping) {
			if err := h.cfg.Clock.Until(ctx, next); err != nil {
				return err
			}
			if err := x.out.Ping(); err != nil {
				return err
			}
		}
	}
	return h.cfg.Clock.Until(ctx, due)
}

// text is what count tokens from the k-th on say.
func text(k, count int) string {
	if count == 1 {
		return token(k)
	}
	var b strings.Builder
	for i := range count {
		b.WriteString(token(k + i))
	}
	return b.String()
}

func token(k int) string {
	if k == 0 {
		return "tok0"
	}
	return " tok" + strconv.Itoa(k)
}

// whole waits for all tokens.
func (h *Handler) whole(x *exchange, n int) error {
	x.script.Ping = 0 // there is no stream to send them in
	return h.tokens(x, n, func(int, string, int) error { return nil })
}

// defaultTokens is the default length of a response.
const defaultTokens = 16

// maxAnswer limits one response, so that a mistyped length does not stream for days.
const maxAnswer = 1 << 20

// answerLength is the requested length: the last number that is given counts.
func answerLength(asked ...*int) (int, error) {
	n := defaultTokens
	for _, a := range asked {
		if a != nil {
			n = *a
		}
	}
	if n < 1 || n > maxAnswer {
		return 0, bad("max_tokens must be at least 1 and at most %d, got %d", maxAnswer, n)
	}
	return n, nil
}

// thoughts is how many of n tokens are reasoning.
func (x *exchange) thoughts(n int, asked bool) int {
	switch {
	case x.script.HasReasoning && x.script.Reasoning >= 0:
		return min(x.script.Reasoning, n)
	case asked || x.script.HasReasoning:
		return n / 2
	}
	return 0
}

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
