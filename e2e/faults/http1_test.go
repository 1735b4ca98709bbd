package faults

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
)

// reply is a good response of the reference server, to be sent or to be spoiled.
type reply struct {
	header http.Header
	status int
	body   []byte
}

// streams reports whether the body is a stream of events.
func (r *reply) streams() bool {
	return strings.HasPrefix(r.header.Get("Content-Type"), "text/event-stream")
}

// head is the status line and the header, without the length of the body.
func (r *reply) head() string {
	var b strings.Builder
	fmt.Fprintf(&b, "HTTP/1.1 %d %s\r\n", r.status, http.StatusText(r.status))
	_ = r.header.WriteSubset(&b, map[string]bool{"Content-Length": true, "Transfer-Encoding": true})
	return b.String()
}

// sized is the reply with a body of a length that is said before.
func (r *reply) sized(body []byte, length int) []byte {
	return append(fmt.Appendf(nil, "%sContent-Length: %d\r\n\r\n", r.head(), length), body...)
}

// chunked is the reply with a body in chunks. Without an end it may continue.
func (r *reply) chunked(ended bool, chunks ...[]byte) []byte {
	out := append([]byte(r.head()), "Transfer-Encoding: chunked\r\n\r\n"...)
	for _, c := range chunks {
		out = append(fmt.Appendf(out, "%x\r\n", len(c)), c...)
		out = append(out, "\r\n"...)
	}
	if ended {
		out = append(out, "0\r\n\r\n"...)
	}
	return out
}

// whole is the reply as a good server sends it.
func (r *reply) whole() []byte {
	if r.streams() {
		return r.chunked(true, r.body)
	}
	return r.sized(r.body, len(r.body))
}

// http1 serves a connection that uses HTTP/1.1.
func (s *front) http1(c net.Conn) {
	in := bufio.NewReader(c)
	for {
		req, err := http.ReadRequest(in)
		if err != nil {
			return
		}
		r, err := s.ask(req)
		if err != nil {
			return
		}
		path := req.URL.Path
		inference := req.Method == http.MethodPost && (strings.HasSuffix(path, "/infer") || strings.HasSuffix(path, "/completions"))
		if inference && s.arrived() {
			if !s.fault.http1(c, r) {
				return
			}
			continue
		}
		if _, err := c.Write(r.whole()); err != nil {
			return
		}
	}
}

// ask passes a request on and reads the whole response.
func (s *front) ask(req *http.Request) (*reply, error) {
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return nil, err
	}
	ctx := context.WithoutCancel(s.t.Context())
	out, err := http.NewRequestWithContext(ctx, req.Method, "http://"+s.behind()+req.URL.RequestURI(), bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	out.Header = req.Header
	resp, err := http.DefaultTransport.RoundTrip(out)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	r := &reply{header: resp.Header, status: resp.StatusCode}
	r.body, err = io.ReadAll(resp.Body)
	return r, err
}
