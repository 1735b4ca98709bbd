package load

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/redline-bench/redline/internal/engine"
	"github.com/redline-bench/redline/internal/llm"
	"github.com/redline-bench/redline/internal/record"
	"github.com/redline-bench/redline/internal/result"
	"github.com/redline-bench/redline/internal/service"
)

// failures groups failed requests by class and text, numbers in the text aside.
type failures struct {
	list   []result.Failure
	groups engine.Groups
}

func (f *failures) add(s *llm.Sample) {
	class, text := Class(s), result.FailureText(s.Err)
	i, fresh, others := f.groups.Of(class, s.Err)
	if others {
		text = engine.OtherFailures
	}
	if fresh {
		f.list = append(f.list, result.Failure{Class: class, Text: text, Slot: int(s.Slot)})
	}
	f.list[i].Count++
}

// Class names how a request failed. A server's refusal is named with its status.
func Class(s *llm.Sample) string {
	if s.Class == record.Server && s.Code != 0 && s.Code != 200 {
		return fmt.Sprintf("%s %d", s.Class, s.Code)
	}
	return s.Class.String()
}

// reason says why a request failed, and with what status. A refusal over HTTP is the status and what the server says of it,
// whatever API it speaks.
func reason(err error) (text string, code int) {
	e, ok := errors.AsType[*service.Error](err)
	if !ok {
		return err.Error(), 0
	}
	text = e.Error()
	if e.Class != record.Server || e.Code < 200 || e.Code > 599 {
		return text, e.Code
	}
	answer, answered := errors.AsType[*service.StatusError](err)
	body := strings.TrimPrefix(text, "OpenAI stream returns an error: ")
	if answered && e.Text == "" {
		body = answer.Body
	}
	if said := message([]byte(body)); said != "" {
		body = said
	}
	if e.Code == http.StatusOK {
		return "the server broke off its stream with an error: " + body, e.Code
	}
	status := fmt.Sprintf("the server answered with HTTP %d %s", e.Code, http.StatusText(e.Code))
	if answered && answer.RetryAfter != "" {
		status += ", Retry-After " + answer.RetryAfter
	}
	return strings.TrimSuffix(status+": "+body, ": "), e.Code
}

// message finds the sentence in the JSON of an error, as the usual servers write it; empty where there is none.
func message(body []byte) string {
	var doc struct {
		Error   json.RawMessage `json:"error"`
		Message json.RawMessage `json:"message"`
		Detail  json.RawMessage `json:"detail"`
	}
	if json.Unmarshal(body, &doc) != nil {
		return ""
	}
	for _, raw := range []json.RawMessage{doc.Error, doc.Message, doc.Detail} {
		var text string
		if json.Unmarshal(raw, &text) == nil && text != "" {
			return service.Said(text)
		}
		if len(raw) > 0 && raw[0] == '{' {
			if text := message(raw); text != "" {
				return text
			}
		}
	}
	return ""
}
