package rest

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/redline-bench/redline/internal/record"
	"github.com/redline-bench/redline/internal/service"
	"github.com/redline-bench/redline/internal/tensor/jsonscan"
	"github.com/redline-bench/redline/internal/wire/h1"
)

// agent is the User-Agent of Triton's C++ client.
const agent = "libcurl-agent/1.0"

// call is one request outside of the load.
type call struct {
	op    string
	path  string // below the base, starting with a slash
	post  bool
	body  string
	plain bool // without the user's headers
}

// do makes a call on a connection of its own and returns the JSON of the answer.
func (s *Service) do(ctx context.Context, c call) (jsonscan.Value, error) {
	if s.target.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, s.target.Timeout)
		defer cancel()
	}
	conn, err := h1.Dial(ctx, s.at.config())
	if err != nil {
		return nil, s.ended(ctx, s.fail(c.op, err))
	}
	defer func() { _ = conn.Close() }() // all has been read
	r, err := conn.Do(ctx, s.head(c), []byte(c.body))
	if err != nil {
		return nil, s.ended(ctx, s.fail(c.op, err))
	}
	if r.Status != 200 {
		text := serverText(r.Body)
		if text == "" {
			text = fmt.Sprintf("%s: the server answered with HTTP status %d", c.op, r.Status)
		}
		return nil, &service.Error{Op: c.op, Class: record.Server, Code: r.Status, Text: text, Addr: s.at.addr}
	}
	if c.post {
		return nil, nil
	}
	v, err := jsonscan.Parse(r.Body)
	if err != nil || v.Kind() != jsonscan.Object {
		return nil, s.badReply(c.op, "it is not a JSON object", err)
	}
	return v, nil
}

// ended tells a deadline and a stop by the user apart from a fault of the network.
func (s *Service) ended(ctx context.Context, e *service.Error) *service.Error {
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		e.Class, e.Text = record.Timeout, fmt.Sprintf("%s: no answer from %s within %s", e.Op, s.at.addr, s.target.Timeout)
	case ctx.Err() != nil:
		e.Class = record.Canceled
	}
	return e
}

// badReply is an answer that is not what the protocol promises.
func (s *Service) badReply(op, why string, err error) *service.Error {
	text := fmt.Sprintf("malformed answer to %s from %s: %s", op, s.at.addr, why)
	return &service.Error{Op: op, Class: record.Protocol, Code: 200, Text: text, Addr: s.at.addr, Err: err}
}

// head renders the head of a control request.
func (s *Service) head(c call) []byte {
	method := "GET "
	if c.post {
		method = "POST "
	}
	b := s.appendStart(nil, method, c.path)
	if !c.plain {
		b = s.appendUser(b)
	}
	if c.post {
		b = append(b, "Content-Length: "...)
		b = strconv.AppendInt(b, int64(len(c.body)), 10)
		b = append(b, "\r\nContent-Type: application/x-www-form-urlencoded\r\n"...)
	}
	return append(b, "\r\n"...)
}

// appendStart renders the request line and the headers that every request starts with. Like curl, it leaves
// out a default that the user gave, and a Host of the user's stands where the default would.
func (s *Service) appendStart(b []byte, method, path string) []byte {
	b = append(b, method...)
	b = append(b, s.at.base...)
	b = append(b, path...)
	b = append(b, " HTTP/1.1\r\n"...)
	host, given := s.names["host"]
	if !given || strings.TrimSpace(host) == "" {
		host = s.at.name
	}
	b = append(b, "Host: "...)
	b = append(b, strings.TrimLeft(host, " ")...)
	b = append(b, "\r\n"...)
	if _, given := s.names["user-agent"]; !given {
		b = append(b, "User-Agent: "+agent+"\r\n"...)
	}
	if _, given := s.names["accept"]; !given {
		b = append(b, "Accept: */*\r\n"...)
	}
	return b
}

// appendUser renders the user's headers. One without a value is left out, as curl does.
func (s *Service) appendUser(b []byte) []byte {
	for _, h := range s.target.Headers {
		if strings.EqualFold(h.Name, "host") || strings.TrimSpace(h.Value) == "" {
			continue
		}
		b = append(b, h.Name...)
		b = append(b, ": "...)
		b = append(b, h.Value...)
		b = append(b, "\r\n"...)
	}
	return b
}

// serverText is the server's own message out of {"error":"..."}; empty when there is none.
func serverText(body []byte) string {
	v, err := jsonscan.Parse(body)
	if err != nil {
		return ""
	}
	text, _ := v.Get("error")
	return string(text.AppendText(nil))
}
