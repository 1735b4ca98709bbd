package endpoint

import (
	"cmp"
	"strings"

	"github.com/redline-bench/redline/internal/llm"
	"github.com/redline-bench/redline/internal/tensor/jsonscan"
)

// tgi is Hugging Face's text-generation-inference: /generate and /generate_stream.
type tgi struct{ common }

func (c *tgi) Compose(r *Request) ([]byte, error) {
	texts, err := c.prompts(r)
	if err != nil {
		return nil, err
	}
	w := c.body(r)
	w.text("inputs", strings.Join(append(pictures(r.turn()), texts...), " "))
	if w.name("parameters") {
		p := body{b: []byte{'{'}}
		p.number("max_new_tokens", r.MaxTokens)
		p.flag("details", true)
		w.b = append(w.b, p.end()...)
	}
	return w.end(), nil
}

// pictures returns the images of a turn as Markdown: text-generation-inference takes them from the prompt.
func pictures(t *llm.Turn) []string {
	var list []string
	for _, m := range t.Media {
		list = append(list, "![]("+m.URL+")")
	}
	return list
}

func (c *tgi) Event(a *Answer, payload []byte, at int64) {
	data := c.begun(a, payload)
	s := scan{b: data}
	if s.peek() == '[' { // older servers wrap their response in an array
		s.i++
		defer func() { a.Ended = true }()
	}
	known := false
	for name := range s.members {
		switch string(name) {
		case "token":
			known = true
			a.token(&s)
		case "generated_text":
			if q := s.str(); q != nil {
				known, a.Ended = true, true
				if !a.Streamed {
					a.text(q, llm.Text)
				}
			}
		case "details":
			a.details(&s)
		case "error":
			a.fault("the server reports an error: %s", excerpt(s.value()))
		}
	}
	if s.bad || !known {
		a.fault("this is not a response of a generate endpoint: %s", excerpt(data))
		return
	}
	a.chunk(at)
}

// token reads one token of a stream. Special tokens, such as the end of the text, are not content.
func (a *Answer) token(s *scan) {
	var text []byte
	special := false
	for name := range s.members {
		switch string(name) {
		case "text":
			text = s.str()
		case "special":
			special = s.boolean()
		}
	}
	if text != nil && !special {
		a.text(text, llm.Text)
		a.tokens = 1
	}
}

func (a *Answer) details(s *scan) {
	for name := range s.members {
		switch string(name) {
		case "generated_tokens":
			a.count(s, &a.Usage.Completion)
		case "input_length":
			a.count(s, &a.Usage.Prompt)
		case "finish_reason":
			a.finish(s.str())
		}
	}
}

// generate is Triton's generate extension: a text model over HTTP.
type generate struct{ common }

func (c *generate) Compose(r *Request) ([]byte, error) {
	texts, err := c.prompts(r)
	if err != nil {
		return nil, err
	}
	w := c.body(r)
	w.text("text_input", strings.Join(texts, " "))
	limit := cmp.Or(r.MaxTokens, defaultTokens) // models of TensorRT-LLM require one
	w.number("max_tokens", limit)
	if c.ExactOutput {
		w.number("min_length", limit)
	}
	w.flag("stream", c.Stream)
	return w.end(), nil
}

func (c *generate) Event(a *Answer, payload []byte, at int64) {
	data := c.begun(a, payload)
	s := scan{b: data}
	known := false
	for name := range s.members {
		switch string(name) {
		case "text_output":
			known = true
			if s.peek() == '[' {
				for range s.elements {
					a.text(s.str(), llm.Text)
				}
			} else {
				a.text(s.str(), llm.Text)
			}
		case "model_name":
			known = true
		case "error":
			a.fault("the server reports an error: %s", jsonscan.Value(s.value()).AppendText(nil))
		}
	}
	if !s.end() || !known {
		a.fault("this is not a response of Triton's generate: %s", excerpt(data))
		return
	}
	a.chunk(at)
}
