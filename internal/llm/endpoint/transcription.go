package endpoint

import (
	"errors"
	"strings"

	"github.com/redline-bench/redline/internal/llm"
)

// transcription is OpenAI's /v1/audio/transcriptions: a form with one audio file. A response is JSON with the text, or the text
// alone (--extra-inputs response_format:text); a stream has OpenAI's events, or chunks in the form of a chat, as vLLM sends them.
type transcription struct{ common }

func (c *transcription) Compose(r *Request) ([]byte, error) {
	t := r.turn()
	if len(t.Media) != 1 {
		return nil, errors.New("--endpoint-type audio_transcription needs one audio clip in each request: use --audio-length-mean, or an input file with one audio each")
	}
	f := c.form(r)
	if err := f.media("file", t.Media[0]); err != nil {
		return nil, err
	}
	f.text("model", c.model(r))
	f.text("prompt", strings.Join(t.Texts, " "))
	if c.Stream {
		f.text("stream", "true")
	}
	return f.end(), nil
}

func (c *transcription) Event(a *Answer, payload []byte, at int64) {
	data := c.begun(a, payload)
	if isDone(data) {
		a.Ended = true
		return
	}
	if !a.Streamed && (len(data) == 0 || data[0] != '{') { // response_format text, srt or vtt
		if text := strings.TrimSpace(string(data)); text != "" {
			a.Text = append(a.Text, text...)
			a.mark(llm.Text)
		}
		a.chunk(at)
		return
	}
	s := scan{b: data}
	for name := range s.members {
		c.member(a, &s, string(name))
	}
	if !s.end() {
		a.fault("the response is not the JSON of a transcription: %s", excerpt(data))
		return
	}
	a.counts()
	a.chunk(at)
}

// member reads one member of a body or an event. The last event of a stream repeats the whole text, which is no content.
func (c *transcription) member(a *Answer, s *scan, key string) {
	switch key {
	case "text":
		if v := s.value(); !a.Streamed && len(v) > 0 && v[0] == '"' {
			a.text(v, llm.Text)
		}
	case "delta":
		if v := s.value(); len(v) > 0 && v[0] == '"' {
			a.text(v, llm.Text)
		}
	case "choices":
		for range s.elements {
			a.choice(s)
		}
	case "type":
		a.Ended = a.Ended || strings.HasSuffix(string(s.value()), `.done"`)
	case "usage":
		a.openAIUsage(s)
	case "error":
		if v := s.value(); len(v) > 0 && string(v) != "null" {
			a.fault("the server reports an error: %s", excerpt(v))
		}
	}
}
