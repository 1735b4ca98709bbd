// Package torchserve loads TorchServe through its HTTP inference API: POST /predictions/MODEL[/VERSION] with a file.
//
// The input data names files under TORCHSERVE_INPUT. Each is read once, when its request is prepared, and goes
// out as the part "data" of a multipart/form-data body, as a form's upload would. TorchServe answers with whatever
// the model's handler returns, so an answer is any reply of status 200; its bytes are not looked into.
package torchserve

import (
	"bytes"
	"context"
	"fmt"
	"hash/fnv"
	"math"
	"net/url"
	"os"
	"slices"
	"strconv"

	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/record"
	"github.com/redline-bench/redline/internal/service"
	"github.com/redline-bench/redline/internal/service/httppool"
	"github.com/redline-bench/redline/internal/tensor"
	"github.com/redline-bench/redline/internal/wire"
)

var _ service.Service = (*Service)(nil)

// Input is the name under which the input data lists files.
const Input = "TORCHSERVE_INPUT"

// Service is one model of one server.
type Service struct {
	target plan.Target
	at     *httppool.Server
}

// New checks the target and makes a service. It does not connect.
func New(t plan.Target) (*Service, error) {
	at, err := httppool.NewServer(t)
	if err != nil {
		return nil, err
	}
	return &Service{target: t, at: at}, nil
}

// Describe makes up the model: TorchServe does not tell what its models take.
func (s *Service) Describe(context.Context) (*service.Model, error) {
	return &service.Model{
		Name: s.target.Model, Version: s.target.Version,
		MaxBatch: math.MaxInt32, // TorchServe states no limit; a batch sends its first file
		Inputs:   []service.TensorSpec{{Name: Input, Type: tensor.Bytes, Shape: tensor.Shape{1}}},
	}, nil
}

// request is a prepared request. A large file is not copied behind the head.
type request struct {
	head, body []byte
	size       int
}

// Prepare reads the file that the input names and renders the request around it.
func (s *Service) Prepare(in service.Inputs) (service.Request, error) {
	path, err := s.file(in)
	if err != nil {
		return nil, err
	}
	file, err := os.ReadFile(string(path))
	if err != nil {
		return nil, &service.Error{
			Op: service.OpInfer, Class: record.Server,
			Err: &service.SentenceError{Sentence: service.UnreadableFile, Args: []any{path}, Err: err},
		}
	}
	boundary := boundaryFor(file)
	body := fmt.Appendf(nil, "--%s\r\nContent-Disposition: form-data; name=\"data\"\r\n\r\n", boundary)
	body = append(body, file...)
	body = fmt.Appendf(body, "\r\n--%s--\r\n", boundary)
	head := s.at.AppendStart(nil, "POST", s.path())
	head = s.at.AppendUser(head)
	head = append(head, "Content-Length: "...)
	head = strconv.AppendInt(head, int64(len(body)), 10)
	head = append(head, "\r\nContent-Type: multipart/form-data; boundary="+boundary+"\r\n\r\n"...)
	return &request{head: head, body: body, size: len(body)}, nil
}

// file is the path that the input names. Of a batch it is the first one's.
func (s *Service) file(in service.Inputs) (path []byte, err error) {
	for i := range in.Tensors {
		t := &in.Tensors[i]
		if t.Name != Input {
			continue
		}
		var rest []byte
		if path, rest, err = tensor.NextElement(t.Data); err != nil {
			return nil, fmt.Errorf("%s: %w", Input, err)
		}
		batch := int64(1)
		if len(t.Shape) > 1 {
			batch = t.Shape[0]
		}
		if batch > 1 || len(rest) == 0 {
			continue
		}
		if s.target.Loose { // all names together are one path
			return slices.Concat(path, rest), nil
		}
		return nil, fmt.Errorf("%s lists several files: a request sends one, so write a step for each", Input)
	}
	return path, nil
}

func (s *Service) path() string {
	p := "/predictions/" + url.PathEscape(s.target.Model)
	if s.target.Version != "" {
		p += "/" + url.PathEscape(s.target.Version)
	}
	return p
}

// boundaryFor makes a line that does not occur in the file, the same one for the same file.
func boundaryFor(file []byte) string {
	h := fnv.New64a()
	_, _ = h.Write(file) // it never fails
	for {
		b := fmt.Sprintf("------------------------%016x", h.Sum64())
		if !bytes.Contains(file, []byte(b)) {
			return b
		}
		_, _ = h.Write([]byte{1})
	}
}

// Open makes a transport without slots.
func (s *Service) Open(_ context.Context, sink service.Sink) (service.Transport, error) {
	tr := httppool.New(s.at.Config(""), sink, func() httppool.Exchange { return exchange{sink} })
	tr.Trace(s.target.Tracing)
	tr.DialLazily(s.target.LazyDial)
	return tr, nil
}

// Outputs tells nothing: an answer has no form that is known.
func (s *Service) Outputs([]byte) ([]tensor.Tensor, error) { return nil, nil }

// Close has nothing to do.
func (s *Service) Close() error { return nil }

// exchange is the protocol's side of a slot.
type exchange struct{ sink service.Sink }

func (x exchange) Render(c *service.Call) (head, rest []byte, body int) {
	r := c.Req.(*request)
	return r.head, r.body, r.size
}

func (x exchange) Head(*service.Call, *wire.Reply) bool { return false }

func (x exchange) Data(*service.Call, []byte, int64) {}

// errorLimit is how much of a server's words is kept in an error.
const errorLimit = 1 << 10

// Reply takes any answer of status 200.
func (x exchange) Reply(c *service.Call, r *wire.Reply) *service.Error {
	if r.Status != 200 {
		line := bytes.Join(bytes.Fields(r.Body[:min(len(r.Body), errorLimit)]), []byte{' '})
		return &service.Error{Op: service.OpInfer, Class: record.Server, Code: r.Status, Err: &service.StatusError{Status: r.Status, Body: service.Said(string(line))}}
	}
	c.Rec.Responses = 1
	x.sink.Response(c, r.Body, r.End, false)
	return nil
}
