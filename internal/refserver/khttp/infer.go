package khttp

import (
	"bytes"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/redline-bench/redline/internal/refserver/infer"
	"github.com/redline-bench/redline/internal/refserver/reqlog"
)

const headerLength = "Inference-Header-Content-Length"

// infer answers /infer: exactly one response.
func (h *Handler) infer(x *exchange, name, version string) error {
	if err := x.allow(http.MethodPost); err != nil {
		return err
	}
	m, err := h.core.Models.Get(name, version)
	if err != nil {
		return err
	}
	if m.Decoupled() {
		return infer.Errorf(infer.Unsupported, "HTTP end point doesn't support models with decoupled transaction policy")
	}
	began := time.Now()
	body, err := x.body()
	if err != nil {
		return err
	}
	received := time.Now()
	defer h.core.Tidy(len(body))
	size, err := x.headerSize(len(body))
	if err != nil {
		return err
	}
	x.kind = jsonText
	req, err := h.parse(m, body, size)
	if err != nil {
		return err
	}
	req.Model, req.Version, req.Received, req.Context = name, version, received, x.req.Context()
	if req.Trace = h.core.Trace.Sample(m.Name()); req.Trace != nil {
		req.Trace.Mark("HTTP_RECV_START", began)
		req.Trace.Mark("HTTP_RECV_END", received)
		defer req.Trace.End()
	}
	resp, err := m.Run(req)
	if err != nil {
		return err
	}
	head, tail, err := h.encode(m, req, resp)
	if err != nil {
		return err
	}
	req.Trace.Mark("HTTP_SEND_START", time.Now())
	x.inference(head, tail)
	req.Trace.Mark("HTTP_SEND_END", time.Now())
	if h.core.Log.On() {
		_ = http.NewResponseController(x.ResponseWriter).Flush() // a client that has gone is noted anyway
		h.core.Log.Add(reqlog.Entry{Model: m.Name(), ID: req.ID, Parent: x.req.Header.Get("Traceparent"), Received: received, Replied: time.Now()})
	}
	return nil
}

// headerSize is the length of the JSON at the front of the body. 0 means that the body is one raw tensor.
func (x *exchange) headerSize(body int) (int, error) {
	text := x.req.Header.Get(headerLength)
	if text == "" {
		return body, nil
	}
	n := leadingInt(text)
	if n < 0 || n > body {
		return 0, infer.Errorf(infer.InvalidArg, "inference header size should be in range (0, %d), got: %s", body, text)
	}
	return n, nil
}

// leadingInt reads the number at the start of a text as C does; 0 if there is none.
func leadingInt(text string) int {
	text = strings.TrimSpace(text)
	end := 0
	for end < len(text) && (text[end] >= '0' && text[end] <= '9' || end == 0 && (text[0] == '-' || text[0] == '+')) {
		end++
	}
	n, err := strconv.Atoi(text[:end])
	if err != nil && end > 18 {
		return math.MaxInt
	}
	return n
}

// inference writes a response: JSON alone, or with raw tensors behind it.
func (x *exchange) inference(head []byte, tail [][]byte) {
	if len(tail) == 0 {
		x.answer(http.StatusOK, jsonText, x.compress(head))
		return
	}
	x.Header()[headerLength] = []string{strconv.Itoa(len(head))}
	const kind = "application/octet-stream"
	if x.req.Header.Get("Accept-Encoding") != "" {
		x.answer(http.StatusOK, kind, x.compress(bytes.Join(append([][]byte{head}, tail...), nil)))
		return
	}
	x.sent = true
	length := len(head)
	for _, t := range tail {
		length += len(t)
	}
	x.Header()["Content-Type"] = []string{kind}
	x.Header()["Content-Length"] = []string{strconv.Itoa(length)}
	_, err := x.Write(head)
	for _, t := range tail {
		if err == nil {
			_, err = x.Write(t) // large tensors are not copied once more
		}
	}
}
