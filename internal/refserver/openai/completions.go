package openai

import (
	"strconv"
)

// completions answers /v1/completions.
func (h *Handler) completions(x *exchange) error {
	var r request
	if err := x.decode(&r); err != nil {
		return err
	}
	n, err := answerLength(r.MaxTokens)
	if err != nil {
		return err
	}
	a, err := h.newAnswer(x, &r, "text_completion", "cmpl-")
	if err != nil {
		return err
	}
	x.prompt = promptWords(r.Prompt)
	if r.Stream {
		return x.ended(h.streamText(a, n))
	}
	if err := h.whole(x, n); err != nil {
		return err
	}
	a.done = n
	a.send(func(b []byte, i int) []byte {
		b = strconv.AppendInt(append(b, `{"index":`...), int64(i), 10)
		b = appendText(append(b, `,"text":`...), text(0, n))
		return append(b, `,"logprobs":null,"finish_reason":"length"}`...)
	})
	return nil
}

func (h *Handler) streamText(a *answer, n int) error {
	var inside []byte
	err := h.tokens(a.x, n, func(k int, text string, count int) error {
		a.done = k + count
		inside = appendText(append(inside[:0], `"text":`...), text)
		return a.each(inside, "", count)
	})
	if err != nil {
		return err
	}
	return a.end(`"text":""`, "length")
}
