package null

import (
	"bytes"
	"net/http"
	"strconv"
	"strings"
)

// traced answers a request, and gives its span to the sink if the client traces the request.
func (w *webSession) traced(r request, whole, out []byte) ([]byte, error) {
	span, ok := w.server.spans.Start(traceparent(r.head))
	if !ok {
		return w.answer(r, whole, out)
	}
	from := len(out)
	out, err := w.answer(r, whole, out)
	if err != nil {
		return out, err
	}
	span.Respond()
	name, _, _ := bytes.Cut(r.head, []byte(" HTTP/"))
	span.Name, span.Version = string(name), "1.1"
	const code = len("HTTP/1.1 ")
	span.Status, _ = strconv.Atoi(string(out[from+code : from+code+3])) // of our own response
	span.Failed = span.Status >= http.StatusBadRequest
	w.server.spans(span)
	return out, nil
}

// traceparent finds the header in the head of a request; empty if there is none.
func traceparent(head []byte) string {
	const wanted = "traceparent"
	for line := range bytes.SplitSeq(head, []byte(lineEnd)) {
		if len(line) > len(wanted) && line[len(wanted)] == ':' && strings.EqualFold(string(line[:len(wanted)]), wanted) {
			return string(bytes.TrimSpace(line[len(wanted)+1:]))
		}
	}
	return ""
}

// trace begins the span of a call, if there is a sink and the client traces the call.
func (c *rpcSession) trace(s *stream, parent string) {
	if span, ok := c.server.spans.Start(parent); ok {
		s.span = &span
	}
}
