package openai

import (
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/redline-bench/redline/internal/service"
	"github.com/redline-bench/redline/internal/wire/h2"
)

// copyLimit is the size up to which head and body are kept in one piece, which one plain write sends.
const copyLimit = 8 << 10

// request is a prepared request. The body of a large one stays where the input data has it.
type request struct {
	head []byte
	body []byte // nil: it is part of head
	size int    // of the body
	want []byte // the answer that the input data expects, or the data of its last event; nil: any

	// For HTTP/2.
	header  *h2.Header
	payload []byte
}

// jsonType is the content type of requests, unless the user sets another.
const jsonType = "application/json"

// Prepare renders a request with the payload as its body.
func (s *Service) Prepare(in service.Inputs) (service.Request, error) {
	var body []byte
	for i := range in.Tensors {
		if in.Tensors[i].Name == Payload {
			body = in.Tensors[i].Data
		}
	}
	if len(body) == 0 {
		return nil, errors.New(`a payload is empty: write "payload": [{...}] with one JSON value, the body of the request`)
	}
	b := s.at.AppendStart(nil, "POST", s.path)
	if !s.at.Given("content-type") {
		b = append(b, "Content-Type: "+jsonType+"\r\n"...)
	}
	b = s.at.AppendUser(b)
	own := s.own(in.Headers)
	for _, h := range own {
		b = append(append(append(b, h.Name...), ": "...), h.Value...)
		b = append(b, "\r\n"...)
	}
	b = append(b, "Content-Length: "...)
	b = strconv.AppendInt(b, int64(len(body)), 10)
	b = append(b, "\r\n\r\n"...)
	r := &request{head: b, body: body, size: len(body), header: s.header(len(body), own), payload: body}
	if len(body) <= copyLimit {
		r.head, r.body = append(r.head, body...), nil
	}
	for i := range in.Expect {
		r.want = in.Expect[i].Data
	}
	return r, nil
}

// own are the headers of one request; those that the user sets for all stand in their place.
func (s *Service) own(list []service.Header) []service.Header {
	return slices.DeleteFunc(slices.Clone(list), func(h service.Header) bool { return s.at.Given(strings.ToLower(h.Name)) })
}
