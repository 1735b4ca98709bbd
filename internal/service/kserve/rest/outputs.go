package rest

import (
	"encoding/binary"
	"fmt"

	"github.com/redline-bench/redline/internal/tensor"
	"github.com/redline-bench/redline/internal/wire"
)

// payload frames a reply for the sink: the length of the JSON part in four bytes, then the body.
func payload(r *wire.Reply) []byte {
	n := len(r.Body)
	if r.Number >= 0 {
		n = int(r.Number)
	}
	p := r.Framed
	binary.LittleEndian.PutUint32(p, uint32(n)) // the limit on bodies keeps it in 32 bits
	return p
}

// Outputs decodes a reply as it was handed to the sink. Binary data is not copied.
func (s *Service) Outputs(payload []byte) ([]tensor.Tensor, error) {
	if len(payload) < wire.Room {
		return nil, fmt.Errorf("a payload of %d bytes is too short", len(payload))
	}
	body := payload[wire.Room:]
	n := int64(binary.LittleEndian.Uint32(payload))
	if n > int64(len(body)) {
		return nil, fmt.Errorf("a JSON part of %d bytes in a payload of %d", n, len(payload))
	}
	k := checker{shares: s.shared != nil}
	if err := k.parse(body[:n], nil); err != nil {
		return nil, err
	}
	if int(n)+k.binary != len(body) {
		return nil, fmt.Errorf("outputs of %d bytes in a payload of %d", k.binary, len(payload))
	}
	out := make([]tensor.Tensor, len(k.outputs))
	for i, o := range k.outputs {
		t := tensor.Tensor{Name: string(o.name.AppendText(nil)), Type: o.datatype, Shape: tensor.Shape{}}
		for d := range o.shape.Elements() {
			u, _ := d.Int64() // checked when it was parsed
			t.Shape = append(t.Shape, u)
		}
		switch {
		case o.shared: // what is there may belong to a later answer
		case o.data == nil:
			t.Data = body[int(n)+o.at : int(n)+o.at+o.size]
		default:
			var err error
			if t.Data, err = tensor.AppendNested(nil, o.datatype, o.data); err != nil {
				return nil, fmt.Errorf("output %s: %w", t.Name, err)
			}
		}
		out[i] = t
	}
	return out, nil
}
