package rest

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/redline-bench/redline/internal/record"
	"github.com/redline-bench/redline/internal/service"
	"github.com/redline-bench/redline/internal/service/httppool"
	"github.com/redline-bench/redline/internal/tensor/jsonscan"
	"github.com/redline-bench/redline/internal/wire"
	"github.com/redline-bench/redline/internal/wire/h1"
)

// call is one request outside of the load.
type call struct {
	op    string
	path  string // below the base, starting with a slash
	post  bool
	body  string
	json  bool // the body is declared as JSON; Triton's C++ client does not declare its bodies
	plain bool // without the user's headers
}

// do makes a call beside the load and returns the JSON object of the answer; a call with a body has none.
func (s *Service) do(ctx context.Context, c call) (jsonscan.Value, error) {
	body, err := s.ask(ctx, c)
	if err != nil || c.post {
		return nil, err
	}
	v, err := jsonscan.Parse(body)
	if err != nil || v.Kind() != jsonscan.Object {
		return nil, s.badReply(c.op, "it is not a JSON object", err)
	}
	return v, nil
}

// ask makes a call beside the load and returns the body of the answer.
func (s *Service) ask(ctx context.Context, c call) ([]byte, error) {
	if s.target.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, s.target.Timeout)
		defer cancel()
	}
	r, err := s.exchange(ctx, c)
	if err != nil {
		return nil, s.ended(ctx, httppool.Failure(c.op, s.at.Addr(), err))
	}
	if r.Status != 200 {
		text := serverText(r.Body)
		_, err := jsonscan.Parse(r.Body)
		if text == "" {
			text = fmt.Sprintf("%s: the server answered with HTTP status %d", c.op, r.Status)
			if err == nil {
				err = service.NewStatusError(r.Status, r.Retry, r.Body)
			}
		}
		return nil, &service.Error{Op: c.op, Class: record.Server, Code: r.Status, Text: text, Addr: s.at.Addr(), Err: err}
	}
	return r.Body, nil
}

// exchange sends a call over the connection of the one before, where that is idle and still there, else over a new one.
func (s *Service) exchange(ctx context.Context, c call) (*wire.Reply, error) {
	if conn := s.idle.Swap(nil); conn != nil {
		if c.post { // it might have been carried out before the connection broke: not to be sent twice
			_ = conn.Close() // nothing is in flight on it
		} else if r, err := s.over(ctx, conn, c); err == nil || ctx.Err() != nil {
			return r, err
		}
	}
	conn, err := h1.Dial(ctx, s.config())
	if err != nil {
		return nil, err
	}
	return s.over(ctx, conn, c)
}

// over sends a call over a connection, and keeps that for the next one where it can.
func (s *Service) over(ctx context.Context, conn *h1.Conn, c call) (*wire.Reply, error) {
	r, err := conn.Do(ctx, s.head(c), []byte(c.body))
	if err != nil || r.Close || ctx.Err() != nil || !s.idle.CompareAndSwap(nil, conn) {
		_ = conn.Close() // all has been read
	}
	return r, err
}

// ended tells a deadline and a stop by the user apart from a fault of the network.
func (s *Service) ended(ctx context.Context, e *service.Error) *service.Error {
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		e.Class, e.Text = record.Timeout, fmt.Sprintf("%s: no answer from %s in time", e.Op, s.at.Addr())
		if s.target.Timeout > 0 {
			e.Text = fmt.Sprintf("%s: no answer from %s within %s", e.Op, s.at.Addr(), s.target.Timeout)
		}
	case ctx.Err() != nil:
		e.Class = record.Canceled
	}
	return e
}

// badReply is an answer that is not what the protocol promises.
func (s *Service) badReply(op, why string, err error) *service.Error {
	text := fmt.Sprintf("malformed answer to %s from %s: %s", op, s.at.Addr(), why)
	return &service.Error{Op: op, Class: record.Protocol, Code: 200, Text: text, Addr: s.at.Addr(), Err: err}
}

// head renders the head of a control request.
func (s *Service) head(c call) []byte {
	method := "GET"
	if c.post {
		method = "POST"
	}
	b := s.at.AppendStart(nil, method, c.path)
	if !c.plain {
		b = s.at.AppendUser(b)
	}
	if c.post {
		b = append(b, "Content-Length: "...)
		b = strconv.AppendInt(b, int64(len(c.body)), 10)
		b = append(b, "\r\nContent-Type: "+map[bool]string{true: "application/json", false: "application/x-www-form-urlencoded"}[c.json]+"\r\n"...)
	}
	return append(b, "\r\n"...)
}

// serverText is the server's own message out of {"error":"..."}; empty when there is none.
func serverText(body []byte) string {
	v, err := jsonscan.Parse(body)
	if err != nil {
		return ""
	}
	text, _ := v.Get("error")
	return service.Said(string(text.AppendText(nil)))
}
