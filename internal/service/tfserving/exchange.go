package tfserving

import (
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/redline-bench/redline/internal/record"
	"github.com/redline-bench/redline/internal/service"
	"github.com/redline-bench/redline/internal/service/grpcpool"
	"github.com/redline-bench/redline/internal/service/kserve"
	"github.com/redline-bench/redline/internal/wire/h2"
)

// exchange is the protocol's side of one slot.
type exchange struct {
	at      *grpcpool.Server
	sink    service.Sink
	answers int
	fault   *service.Error // what is wrong with the answer
}

// The reasons for which a message is not an answer. They are values so that checking allocates nothing.
var (
	errWire  = badAnswer("the answer is not a valid PredictResponse")
	errEmpty = badAnswer("the answer holds no outputs")
	errMany  = badAnswer("the call was answered with more than one message")
	errNone  = badAnswer("the call was answered without a message")
)

func badAnswer(text string) *service.Error {
	return &service.Error{Op: service.OpInfer, Class: record.Protocol, Text: text}
}

// Render gives the prepared message.
func (x *exchange) Render(c *service.Call) h2.Message {
	x.answers, x.fault = 0, nil
	r := c.Req.(*request)
	return h2.Message{Body: r.body, Compressed: r.packed}
}

// Message takes the answer.
func (x *exchange) Message(c *service.Call, msg []byte, at int64) {
	if x.answers++; x.answers > 1 {
		x.fault = errMany
		return
	}
	x.fault = check(msg)
	if r := c.Req.(*request); x.fault == nil && r.expect != nil {
		x.fault = r.compare(msg)
	}
	if x.fault == nil {
		c.Rec.Responses = 1
		x.sink.Response(c, msg, at, false)
	}
}

// End judges the call by its status, then by its answer.
func (x *exchange) End(_ *service.Call, status int, text string, _ int64) *service.Error {
	switch {
	case status != 0:
		return x.at.StatusError(status, text)
	case x.answers == 0:
		return errNone
	}
	return x.fault
}

// The field numbers of PredictResponse and of an entry of its map.
const (
	respOutputs = 1
	respSpec    = 2
	mapKey      = 1
	mapValue    = 2
)

// check walks over a PredictResponse as far as its outputs, without decoding them.
func check(b []byte) *service.Error {
	found := 0
	for len(b) > 0 {
		num, typ, n := protowire.ConsumeTag(b)
		if n < 0 {
			return errWire
		}
		b = b[n:]
		if n = protowire.ConsumeFieldValue(num, typ, b); n < 0 || num <= respSpec && typ != protowire.BytesType {
			return errWire
		}
		if num == respOutputs {
			entry, _ := protowire.ConsumeBytes(b)
			if !isEntry(entry) {
				return errWire
			}
			found++
		}
		b = b[n:]
	}
	if found == 0 {
		return errEmpty
	}
	return nil
}

// isEntry checks one entry of the map of outputs.
func isEntry(b []byte) bool {
	for len(b) > 0 {
		num, typ, n := protowire.ConsumeField(b)
		if n < 0 || (num == mapKey || num == mapValue) && typ != protowire.BytesType {
			return false
		}
		b = b[n:]
	}
	return true
}

// compare looks up each expected output in the answer.
func (r *request) compare(payload []byte) *service.Error {
	got, err := outputs(payload)
	if err != nil {
		return errWire
	}
	for i := range r.expect {
		want := &r.expect[i]
		var data []byte
		for _, t := range got {
			if t.Name == want.Name {
				data = t.Data
			}
		}
		if err := kserve.Match(want, data); err != nil {
			return err
		}
	}
	return nil
}
