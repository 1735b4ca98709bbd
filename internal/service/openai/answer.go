package openai

import (
	"bytes"

	"github.com/redline-bench/redline/internal/record"
	"github.com/redline-bench/redline/internal/service"
	"github.com/redline-bench/redline/internal/tensor/jsonscan"
	"github.com/redline-bench/redline/internal/wire/sse"
)

// quoteLimit is how much of a server's words is kept in an error.
const quoteLimit = 4 << 10

func quote(b []byte) string {
	if len(b) > quoteLimit {
		return service.Said(string(b[:quoteLimit])) + "..."
	}
	return service.Said(string(b))
}

// errorMark is what the data of an error event holds. Inside of a JSON string its quotes would be escaped.
var errorMark = []byte(`"error"`)

// isError tells whether an event reports an error: by its type, or by a member "error" of its data.
func isError(e *sse.Event) bool {
	if string(e.Type) == "error" {
		return true
	}
	return bytes.Contains(e.Data, errorMark) && hasError(e.Data)
}

func hasError(data []byte) bool {
	v, err := jsonscan.Parse(data)
	if err != nil {
		return false
	}
	m, ok := v.Get("error")
	return ok && m.Kind() != jsonscan.Null
}

// checkBody looks at the body of an answer that is not a stream. What calls itself JSON must be JSON, and no error.
func checkBody(ctype, body []byte) *service.Error {
	if len(body) == 0 {
		return malformed("it is empty")
	}
	if !isJSON(ctype) {
		return nil
	}
	if _, err := jsonscan.Parse(body); err != nil {
		return malformed(err.Error())
	}
	if bytes.Contains(body, errorMark) && hasError(body) {
		return &service.Error{
			Op: service.OpInfer, Class: record.Server, Code: 200, Text: "OpenAI response is an error: " + quote(body),
		}
	}
	return nil
}

// isJSON tells whether a content type is JSON's, or that of a format made of JSON, such as application/problem+json.
// Lines of JSON, application/x-ndjson, are not one document.
func isJSON(ctype []byte) bool {
	const name = "json"
	kind, _, _ := bytes.Cut(ctype, []byte{';'})
	kind = bytes.TrimRight(kind, " ")
	start := len(kind) - len(name)
	return start > 0 && bytes.EqualFold(kind[start:], []byte(name)) && (kind[start-1] == '/' || kind[start-1] == '+')
}

// check holds an answer against what the input data expects of the call, if anything.
func check(c *service.Call, got []byte) *service.Error {
	r, ok := c.Req.(*request)
	if !ok || r.want == nil {
		return nil
	}
	return match(r.want, got)
}

// match holds the text of a response against what the input data expects. A text that is too short is
// not compared.
func match(want, got []byte) *service.Error {
	var why service.Sentence
	switch {
	case len(got) < len(want):
		why = service.OutputSize
	case !bytes.HasPrefix(got, want):
		why = service.OutputDiffers
	case len(got) > len(want):
		why = service.OutputSize
	default:
		return nil
	}
	return &service.Error{Op: service.OpInfer, Class: record.Mismatch, Code: 200, Err: why.With()}
}

// finished tells whether the last event of a stream without [DONE] says that nothing is to follow: it gives a
// reason to finish, or the usage.
func finished(data []byte) bool {
	v, err := jsonscan.Parse(data)
	if err != nil {
		return false
	}
	if usage, _ := v.Get("usage"); usage.Kind() == jsonscan.Object {
		return true
	}
	choices, _ := v.Get("choices")
	for c := range choices.Elements() {
		if why, _ := c.Get("finish_reason"); why.Kind() == jsonscan.String {
			return true
		}
	}
	return false
}
