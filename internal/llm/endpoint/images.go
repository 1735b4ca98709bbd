package endpoint

import (
	"errors"
	"strings"

	"github.com/redline-bench/redline/internal/llm"
)

// images is OpenAI's /v1/images/generations. A stream sends images before the last one, each in an event of its own.
type images struct{ common }

func (c *images) Compose(r *Request) ([]byte, error) {
	w := c.body(r)
	w.text("model", c.model(r))
	w.text("prompt", strings.Join(r.turn().Texts, " "))
	w.number("n", 1)
	w.text("response_format", "b64_json")
	if c.Stream {
		w.flag("stream", true)
	}
	return w.end(), nil
}

// Event reads a whole body with its images in data, or an event that is one image.
func (c *images) Event(a *Answer, payload []byte, at int64) {
	data := c.begun(a, payload)
	if isDone(data) {
		a.Ended = true
		return
	}
	s := scan{b: data}
	a.Ended = true
	for name := range s.members {
		switch string(name) {
		case "data":
			for range s.elements {
				a.image(&s)
			}
		case "b64_json", "url":
			a.markImage(s.value())
		case "type":
			a.Ended = !strings.HasSuffix(string(s.value()), `.partial_image"`)
		case "usage":
			a.openAIUsage(&s)
		case "error":
			a.fault("the server reports an error: %s", excerpt(s.value()))
		}
	}
	if !s.end() {
		a.fault("the response is not the JSON of an image: %s", excerpt(data))
		return
	}
	a.chunk(at)
}

// image reads one element of data.
func (a *Answer) image(s *scan) {
	for name := range s.members {
		switch string(name) {
		case "b64_json", "url":
			a.markImage(s.value())
		}
	}
}

// markImage notes an image; a text without content, or null, is none.
func (a *Answer) markImage(v []byte) {
	if len(v) > 2 && v[0] == '"' {
		a.mark(llm.Other)
	}
}

// imageEdit is OpenAI's /v1/images/edits: a form with the images to change and the prompt. Responses are those of images.
type imageEdit struct{ images }

func (c *imageEdit) Compose(r *Request) ([]byte, error) {
	t := r.turn()
	if len(t.Media) == 0 {
		return nil, errors.New("--endpoint-type image_edit needs an image in each request: use --image-width-mean and --image-height-mean, or an input file with images")
	}
	name := "image"
	if len(t.Media) > 1 {
		name = "image[]"
	}
	f := c.form(r)
	for _, m := range t.Media {
		if err := f.media(name, m); err != nil {
			return nil, err
		}
	}
	f.text("model", c.model(r))
	f.text("prompt", strings.Join(t.Texts, " "))
	f.text("n", "1")
	f.text("response_format", "b64_json")
	if c.Stream {
		f.text("stream", "true")
	}
	return f.end(), nil
}
