package endpoint

import (
	"strings"

	"github.com/redline-bench/redline/internal/llm"
	"github.com/redline-bench/redline/internal/tensor"
)

// chat is OpenAI's /v1/chat/completions.
type chat struct{ common }

func (c *chat) Compose(r *Request) ([]byte, error) {
	w := c.body(r)
	if w.name("messages") {
		w.b = chatMessages.appendConversation(w.b, r, r.Conversation.System)
	}
	w.text("model", c.model(r))
	w.flag("stream", c.Stream)
	limit := "max_completion_tokens"
	if c.LegacyMaxTokens {
		limit = "max_tokens"
	}
	w.number(limit, r.MaxTokens)
	c.least(w, r)
	w.raw("tools", r.turn().Tools)
	c.askUsage(w)
	return w.end(), nil
}

// least requests the whole output length, if ExactOutput is set, in the fields of vLLM, SGLang and TensorRT-LLM.
func (c *common) least(w *body, r *Request) {
	if c.ExactOutput && r.MaxTokens > 0 {
		w.number("min_tokens", r.MaxTokens)
		w.flag("ignore_eos", true)
	}
}

// chatMessages is the form of messages in OpenAI's chat.
var chatMessages = messageForm{text: `{"type":"text","text":`, media: appendPart}

// askUsage requests the server's token counts at the end of streams, or in every chunk.
func (c *common) askUsage(w *body) {
	switch {
	case !c.Stream || c.NoUsage:
	case c.ChunkUsage:
		w.raw("stream_options", []byte(`{"include_usage":true,"continuous_usage_stats":true}`))
	default:
		w.raw("stream_options", []byte(`{"include_usage":true}`))
	}
}

// appendPart writes an image, audio or a video in the form of OpenAI and vLLM.
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

// audio splits a data URL of audio, such as data:audio/wav;base64,AAAA.
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

// completions is OpenAI's /v1/completions.
type completions struct{ common }

func (c *completions) Compose(r *Request) ([]byte, error) {
	texts, err := c.prompts(r)
	if err != nil {
		return nil, err
	}
	w := c.body(r)
	w.texts("prompt", texts)
	w.text("model", c.model(r))
	w.flag("stream", c.Stream)
	w.number("max_tokens", r.MaxTokens)
	c.least(w, r)
	c.askUsage(w)
	return w.end(), nil
}

func (c *completions) Event(a *Answer, payload []byte, at int64) { c.openAI(a, payload, at) }
