package endpoint

import (
	"strings"

	"github.com/redline-bench/redline/internal/llm"
	"github.com/redline-bench/redline/internal/service"
	"github.com/redline-bench/redline/internal/tensor"
)

// chat is OpenAI's /v1/chat/completions.
type chat struct{ common }

func (c *chat) Path() string { return "v1/chat/completions" }

func (c *chat) Inputs(r *Request) (service.Inputs, error) {
	t := r.turn()
	if t.Raw != nil {
		return payload(t.Raw), nil
	}
	w := c.body(r)
	if w.name("messages") {
		w.b = appendMessages(w.b, r)
	}
	w.text("model", c.model(r))
	w.flag("stream", c.Stream)
	limit := "max_completion_tokens"
	if c.LegacyMaxTokens {
		limit = "max_tokens"
	}
	w.number(limit, r.MaxTokens)
	w.raw("tools", t.Tools)
	c.askUsage(w)
	return payload(w.end()), nil
}

// askUsage has streams end with the server's token counts, or carry them in every chunk.
func (c *common) askUsage(w *body) {
	switch {
	case !c.Stream || c.NoUsage:
	case c.ChunkUsage:
		w.raw("stream_options", []byte(`{"include_usage":true,"continuous_usage_stats":true}`))
	default:
		w.raw("stream_options", []byte(`{"include_usage":true}`))
	}
}

// appendMessages writes the conversation up to the turn, with the answers that came to the turns before.
func appendMessages(b []byte, r *Request) []byte {
	if m := r.turn().Messages; m != nil {
		return append(b, m...)
	}
	b = append(b, '[')
	if r.Conversation.System != "" {
		b = appendMessage(b, "system", r.Conversation.System)
	}
	for i := r.first(); i <= r.Turn; i++ {
		b = appendTurn(b, &r.Conversation.Turns[i])
		if i < r.Turn && i < len(r.Answers) {
			b = appendMessage(b, "assistant", r.Answers[i])
		}
	}
	return append(b, ']')
}

// comma separates elements of an array.
func comma(b []byte) []byte {
	if b[len(b)-1] != '[' {
		b = append(b, ',')
	}
	return b
}

func appendMessage(b []byte, role, text string) []byte {
	b = append(comma(b), `{"role":`...)
	b = tensor.AppendQuoted(b, role)
	b = append(b, `,"content":`...)
	b = tensor.AppendQuoted(b, text)
	return append(b, '}')
}

// appendTurn writes one turn: a plain text, or parts where there are several.
func appendTurn(b []byte, t *llm.Turn) []byte {
	if len(t.Texts) == 1 && len(t.Media) == 0 {
		return appendMessage(b, role(t), t.Texts[0])
	}
	b = append(comma(b), `{"role":`...)
	b = tensor.AppendQuoted(b, role(t))
	b = append(b, `,"content":[`...)
	for _, text := range t.Texts {
		b = append(comma(b), `{"type":"text","text":`...)
		b = append(tensor.AppendQuoted(b, text), '}')
	}
	for _, m := range t.Media {
		b = appendPart(comma(b), m)
	}
	return append(b, "]}"...)
}

// appendPart writes an image, a sound or a video as OpenAI and vLLM take it.
func appendPart(b []byte, m llm.Media) []byte {
	switch m.Kind {
	case llm.Audio:
		format, data := audio(m.URL)
		if data == "" {
			b = append(b, `{"type":"audio_url","audio_url":{"url":`...)
			return append(tensor.AppendQuoted(b, m.URL), "}}"...)
		}
		b = append(b, `{"type":"input_audio","input_audio":{"data":`...)
		b = tensor.AppendQuoted(b, data)
		b = append(b, `,"format":`...)
		return append(tensor.AppendQuoted(b, format), "}}"...)
	case llm.Video:
		b = append(b, `{"type":"video_url","video_url":{"url":`...)
	case llm.Image:
		b = append(b, `{"type":"image_url","image_url":{"url":`...)
	}
	b = append(tensor.AppendQuoted(b, m.URL), '}')
	if m.UUID != "" {
		b = tensor.AppendQuoted(append(b, `,"uuid":`...), m.UUID)
	}
	return append(b, '}')
}

// audio takes a data URL of a sound apart, as data:audio/wav;base64,AAAA.
func audio(url string) (format, data string) {
	head, data, ok := strings.Cut(url, ";base64,")
	if !ok {
		return "", ""
	}
	format = strings.TrimPrefix(head, "data:audio/")
	if format == "mpeg" {
		format = "mp3"
	}
	return format, data
}

func (c *chat) Event(a *Answer, payload []byte, at int64) { c.openAI(a, payload, at) }

func (c *chat) End(a *Answer) error { return endOpenAI(a) }

// completions is OpenAI's /v1/completions.
type completions struct{ common }

func (c *completions) Path() string { return "v1/completions" }

func (c *completions) Inputs(r *Request) (service.Inputs, error) {
	t := r.turn()
	if t.Raw != nil {
		return payload(t.Raw), nil
	}
	texts, err := c.prompts(r)
	if err != nil {
		return service.Inputs{}, err
	}
	w := c.body(r)
	w.texts("prompt", texts)
	w.text("model", c.model(r))
	w.flag("stream", c.Stream)
	w.number("max_tokens", r.MaxTokens)
	c.askUsage(w)
	return payload(w.end()), nil
}

func (c *completions) Event(a *Answer, payload []byte, at int64) { c.openAI(a, payload, at) }

func (c *completions) End(a *Answer) error { return endOpenAI(a) }
