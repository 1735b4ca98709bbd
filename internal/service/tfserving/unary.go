package tfserving

import (
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/redline-bench/redline/internal/record"
	"github.com/redline-bench/redline/internal/service"
	"github.com/redline-bench/redline/internal/service/kserve"
	"github.com/redline-bench/redline/internal/wire/h2"
)

// The reasons for which a message is not an answer. They are values so that checking allocates nothing.
var (
	errWire  = badAnswer("the answer is not a valid PredictResponse")
	errEmpty = badAnswer("the answer holds no outputs")
)

func badAnswer(text string) *service.Error {
	return &service.Error{Op: service.OpInfer, Class: record.Protocol, Text: text}
}

// unary is the protocol's side of a slot.
type unary struct{}

// Render implements grpcpool.Unary.
func (unary) Render(c *service.Call) h2.Message {
	r := c.Req.(*request)
	return h2.Message{Body: r.body, Compressed: r.packed}
}

// Check implements grpcpool.Unary.
func (unary) Check(c *service.Call, msg []byte) *service.Error {
	err := check(msg)
	if r := c.Req.(*request); err == nil && r.expect != nil {
		err = r.compare(msg)
	}
	return err
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
