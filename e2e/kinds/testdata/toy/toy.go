// Package toy is a service kind made for a test: a request is one number, and the server answers with anything.
package toy

import (
	"context"
	"fmt"

	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/record"
	"github.com/redline-bench/redline/internal/service"
	"github.com/redline-bench/redline/internal/service/httppool"
	"github.com/redline-bench/redline/internal/tensor"
	"github.com/redline-bench/redline/internal/wire"
)

// Service is one toy server.
type Service struct {
	at    *httppool.Server
	model string
}

// New makes a service. It does not connect.
func New(t plan.Target) (*Service, error) {
	at, err := httppool.NewServer(t)
	return &Service{at: at, model: t.Model}, err
}

// Describe makes up the model.
func (s *Service) Describe(context.Context) (*service.Model, error) {
	return &service.Model{Name: s.model, Inputs: []service.TensorSpec{{Name: "number", Type: tensor.Int32, Shape: tensor.Shape{1}}}}, nil
}

// Prepare renders a request.
func (s *Service) Prepare(in service.Inputs) (service.Request, error) {
	body := in.Tensors[0].Data
	return fmt.Appendf(s.at.AppendStart(nil, "POST", "/"+s.model), "Content-Length: %d\r\n\r\n%s", len(body), body), nil
}

// Open makes a transport without slots.
func (s *Service) Open(_ context.Context, sink service.Sink) (service.Transport, error) {
	return httppool.New(s.at.Config(""), sink, func() httppool.Exchange { return exchange{sink} }), nil
}

// Outputs has nothing to decode.
func (s *Service) Outputs([]byte) ([]tensor.Tensor, error) { return nil, nil }

// Close has nothing to do.
func (s *Service) Close() error { return nil }

// exchange sends the bytes as they were prepared and takes any response of status 200.
type exchange struct{ sink service.Sink }

func (x exchange) Render(c *service.Call) (head, rest []byte, body int) {
	return c.Req.([]byte), nil, 4
}
func (x exchange) Head(*service.Call, *wire.Reply) bool { return false }
func (x exchange) Data(*service.Call, []byte, int64)    {}

func (x exchange) Reply(c *service.Call, r *wire.Reply) *service.Error {
	if r.Status != 200 {
		return &service.Error{Op: service.OpInfer, Class: record.Server, Code: r.Status, Text: "the toy is broken"}
	}
	c.Rec.Responses = 1
	x.sink.Response(c, r.Body, r.End, false)
	return nil
}
