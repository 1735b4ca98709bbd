package endpoint

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/redline-bench/redline/internal/llm"
)

// boundary separates the parts of a form. It is the same in every request, so that one Content-Type fits all; data contains its
// 128 random bits only on purpose.
const boundary = "redline-8f1d2ab67c0e4953b6d1e57f0a94c3e2"

// FormType is the Content-Type of requests that are forms.
const FormType = "multipart/form-data; boundary=" + boundary

// Form reports whether a kind's requests are forms instead of JSON documents.
func (k Kind) Form() bool { return k == Transcription || k == ImageEdit }

// form writes a multipart form part by part. Parts of the user replace ours.
type form struct {
	b      []byte
	extras []field
}

func (c *common) form(r *Request) *form {
	f := &form{}
	own := fields(r.turn().Extra)
	for _, e := range c.extra {
		if !contains(own, e.name) {
			f.extras = append(f.extras, e)
		}
	}
	f.extras = append(f.extras, own...)
	return f
}

// text adds a field, unless the value is empty or the user sets the field.
func (f *form) text(name, value string) {
	if value != "" && !contains(f.extras, name) {
		f.part(name, "", "", []byte(value))
	}
}

// part adds a field, or a file if filename is not empty.
func (f *form) part(name, filename, contentType string, data []byte) {
	quote := strings.NewReplacer("\\", "\\\\", `"`, `\"`, "\r", "", "\n", "").Replace
	f.b = append(f.b, "--"+boundary+"\r\nContent-Disposition: form-data; name=\""+quote(name)+`"`...)
	if filename != "" {
		f.b = append(f.b, `; filename="`+quote(filename)+"\"\r\nContent-Type: "+quote(contentType)...)
	}
	f.b = append(f.b, "\r\n\r\n"...)
	f.b = append(append(f.b, data...), "\r\n"...)
}

// end adds the user's fields, texts without their quotes, and closes the form. A null removes a field.
func (f *form) end() []byte {
	for _, e := range f.extras {
		value := []byte(e.value)
		var text string
		if json.Unmarshal(e.value, &text) == nil && string(e.value) != "null" {
			value = []byte(text)
		}
		if string(e.value) != "null" {
			f.part(e.name, "", "", value)
		}
	}
	return append(f.b, "--"+boundary+"--\r\n"...)
}

// media adds a part of a turn as a file: its data, with a name that has the ending of its format.
func (f *form) media(name string, m llm.Media) error {
	head, data, ok := strings.Cut(m.URL, ";base64,")
	contentType, isData := strings.CutPrefix(head, "data:")
	if !ok || !isData {
		return fmt.Errorf("a form sends %s itself, not its address %q: put the file into the input, as data:TYPE;base64,DATA", m.Kind, excerpt([]byte(m.URL)))
	}
	content, err := base64.StdEncoding.DecodeString(data)
	if err != nil {
		return fmt.Errorf("%s of a prompt is not base64: %w", m.Kind, err)
	}
	_, format, _ := strings.Cut(contentType, "/")
	switch format {
	case "mpeg":
		format = "mp3"
	case "x-wav":
		format = "wav"
	}
	f.part(name, strings.TrimSuffix(name, "[]")+"."+format, contentType, content)
	return nil
}
