// Package rpc is the KServe v2 protocol over gRPC, with Triton's extensions.
//
// A request is encoded once, as the bytes of a ModelInferRequest without what differs from send to send; the
// request id and the parameters of sequences follow as a short tail, for protobuf does not mind the order of
// fields. Answers are checked where they lie in the read buffer, by a walk over the wire format that decodes
// nothing. Metadata, configuration and statistics, which are asked for once in a while, go through the
// generated types on a connection of their own, so that they never stand in the way of the load.
//
// The transport puts slots onto lanes. A lane is one HTTP/2 connection and the goroutine that reads it; a lost
// connection is made again by the lane, while calls wait for it or fail with the reason.
package rpc

import (
	"context"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"sync"

	"google.golang.org/protobuf/proto"

	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/record"
	"github.com/redline-bench/redline/internal/service"
	"github.com/redline-bench/redline/internal/service/kserve"
	"github.com/redline-bench/redline/internal/service/kserve/share"
	"github.com/redline-bench/redline/internal/wire/h2"
)

// Service is one server and model, spoken to over gRPC. Use New.
type Service struct {
	target plan.Target
	input  plan.Input
	tls    *tls.Config
	meta   []h2.Field
	infer  *h2.Header       // of ModelInfer or ModelStreamInfer
	undo   []kserve.Setting // trace settings to put back
	shared *share.Pool      // nil: tensors travel over the connection

	mu    sync.Mutex // guards what follows
	ctl   *h2.Conn
	wg    sync.WaitGroup
	model *service.Model
}

var (
	_ service.Service     = (*Service)(nil)
	_ service.StatsReader = (*Service)(nil)
	_ service.Stager      = (*Service)(nil)
	_ kserve.Source       = (*Service)(nil)
)

// New makes the service of a target; it does not connect.
func New(t plan.Target, in plan.Input) (*Service, error) {
	s := &Service{target: t, input: in}
	s.shared = share.New(s, in)
	var err error
	if s.tls, err = tlsConfig(t.TLS); err != nil {
		return nil, err
	}
	if s.meta, err = metadata(t.Headers); err != nil {
		return nil, err
	}
	method := "ModelInfer"
	if t.Streaming {
		method = "ModelStreamInfer"
	}
	s.infer = s.header(method, compression(t.Compression))
	return s, nil
}

func compression(name string) string {
	if name == "none" {
		return ""
	}
	return name
}

// header makes the header of calls of one method.
func (s *Service) header(method, encoding string) *h2.Header {
	return h2.Request{
		Authority: s.target.URL,
		Secure:    s.tls != nil,
		Path:      "/inference.GRPCInferenceService/" + method,
		Encoding:  encoding,
		Metadata:  s.meta,
	}.Header()
}

// metadata turns the user's headers into gRPC metadata: names in lower case, binary values in base64.
func metadata(headers []plan.Header) ([]h2.Field, error) {
	var out []h2.Field
	for _, h := range headers {
		name, value := strings.ToLower(h.Name), h.Value
		if name == "" || strings.HasPrefix(name, ":") || strings.ContainsFunc(name, notToken) {
			return nil, fmt.Errorf("header name %q is not allowed in gRPC metadata: use letters, digits, '-', '_' and '.'", h.Name)
		}
		if strings.HasPrefix(name, "grpc-") || name == "te" || name == "content-type" {
			return nil, fmt.Errorf("header %q belongs to gRPC itself: leave it out", h.Name)
		}
		if strings.HasSuffix(name, "-bin") {
			value = base64.RawStdEncoding.EncodeToString([]byte(value))
		}
		if strings.ContainsAny(value, "\r\n\x00") {
			return nil, fmt.Errorf("the value of header %q holds a line break", h.Name)
		}
		out = append(out, h2.Field{Name: name, Value: value})
	}
	return out, nil
}

func notToken(r rune) bool {
	return (r < 'a' || r > 'z') && (r < '0' || r > '9') && !strings.ContainsRune("-_.", r)
}

func (s *Service) config() h2.Config { return h2.Config{Addr: s.target.URL, TLS: s.tls} }

// control returns the connection for everything but inference.
func (s *Service) control(ctx context.Context) (*h2.Conn, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ctl != nil {
		return s.ctl, nil
	}
	c, err := h2.Dial(ctx, s.config())
	if err != nil {
		return nil, err
	}
	s.ctl = c
	s.wg.Go(func() {
		_ = c.Serve() // each call reports its own failure
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.ctl == c {
			s.ctl = nil
		}
	})
	return c, nil
}

// call makes one call of the service. A connection that the server left in the meantime is made anew once.
func (s *Service) call(ctx context.Context, op, method string, req, resp proto.Message) error {
	msg, err := proto.Marshal(req)
	if err != nil {
		return &service.Error{Op: op, Class: record.Protocol, Text: "encode " + method, Err: err}
	}
	var answer []byte
	for attempt := 0; ; attempt++ {
		var c *h2.Conn
		if c, err = s.control(ctx); err != nil {
			return notConnected(op, s.target.URL, err)
		}
		answer, err = c.Unary(ctx, s.header(method, ""), msg)
		var wire *h2.Error
		if attempt > 0 || !errors.As(err, &wire) || wire.Kind != h2.GoAway && wire.Kind != h2.Closed {
			break
		}
		s.forget(c)
	}
	if err != nil {
		e := failure(op, s.target.URL, err)
		if ctx.Err() != nil {
			e.Class, e.Text = record.Timeout, "the server did not answer in time"
			if errors.Is(ctx.Err(), context.Canceled) {
				e.Class, e.Text = record.Canceled, "the call was canceled"
			}
		}
		return e
	}
	if err := proto.Unmarshal(answer, resp); err != nil {
		return &service.Error{Op: op, Class: record.Protocol, Addr: s.target.URL, Text: "the answer of " + method + " is not what the protocol says", Err: err}
	}
	return nil
}

func (s *Service) forget(c *h2.Conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ctl == c {
		s.ctl = nil
	}
	_ = c.Close()
}

// Close takes back what was set up at the server, shared memory and trace settings, and ends the control connection.
func (s *Service) Close() error {
	err := errors.Join(s.shared.Close(), s.restoreTrace())
	s.mu.Lock()
	if s.ctl != nil {
		_ = s.ctl.Close()
	}
	s.mu.Unlock()
	s.wg.Wait()
	return err
}
