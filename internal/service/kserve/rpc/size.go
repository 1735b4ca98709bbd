package rpc

import (
	"strconv"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/redline-bench/redline/internal/service"
	"github.com/redline-bench/redline/internal/service/kserve"
	"github.com/redline-bench/redline/internal/tensor"
)

// The fields of InferTensorContents.
const (
	contentsBool  = 1
	contentsFP32  = 6
	contentsFP64  = 7
	contentsBytes = 8
)

// described is what an InferOutputTensor says of itself. Its slices lie in the payload.
type described struct {
	name, datatype []byte
	elements       uint64
	typed          bool   // it has typed contents
	values         uint64 // their number
	written        uint64 // bytes in shared memory
	told           bool   // the server tells how many
}

// checkSizes holds the size of each output against its datatype and shape. It goes over the payload with one cursor for the
// outputs and one for the raw data, so it keeps nothing. Outputs in shared memory have raw data of no bytes.
func checkSizes(payload []byte, shared bool) *service.Error {
	raws := payload
	for b := payload; len(b) > 0; {
		num, _, _, val, rest, ok := field(b)
		if !ok {
			return errWire
		}
		b = rest
		if num != respOutputs {
			continue
		}
		d, ok := describe(val)
		if !ok {
			return errWire
		}
		var raw []byte
		var hasRaw bool
		raw, raws, hasRaw = nextRaw(raws)
		if err := d.check(val, uint64(len(raw)), hasRaw, shared); err != nil {
			return err
		}
	}
	return nil
}

// check holds one output against what came of it.
func (d *described) check(val []byte, size uint64, hasRaw, shared bool) *service.Error {
	t, known := datatype(d.datatype)
	if !known {
		return nil // a type that is newer than this program
	}
	if d.values == 0 && hasRaw { // MLServer sends typed contents without values beside raw data
		d.typed = false
	}
	switch {
	case d.typed && d.values == d.elements, !d.typed && hasRaw && kserve.Fits(t, d.elements, size):
		return nil
	case shared && size == 0 && !d.typed:
		if !d.told || d.written >= d.elements*uint64(t.Size()) { // it may tell the size of the memory
			return nil
		}
		size = d.written
	case d.typed:
		size = d.values * uint64(max(t.Size(), 1))
	}
	return kserve.SizeError(string(d.name), string(d.datatype), shapeText(val), size)
}

// datatype is tensor.ParseDatatype without an allocation.
func datatype(name []byte) (tensor.Datatype, bool) {
	for d := tensor.Bool; d < tensor.JSON; d++ {
		if string(name) == d.String() {
			return d, true
		}
	}
	return tensor.Invalid, false
}

// nextRaw takes the next raw data off a ModelInferResponse.
func nextRaw(b []byte) (raw, rest []byte, ok bool) {
	for len(b) > 0 {
		num, _, _, val, after, fine := field(b)
		if !fine {
			return nil, nil, false
		}
		if b = after; num == respRaw {
			return val, b, true
		}
	}
	return nil, nil, false
}

// describe reads one InferOutputTensor.
func describe(b []byte) (d described, ok bool) {
	if d.elements, ok = elements(b); !ok {
		return d, false
	}
	for len(b) > 0 {
		num, _, _, val, rest, fine := field(b)
		if !fine {
			return d, false
		}
		b = rest
		switch num {
		case tensorName:
			d.name = val
		case tensorDatatype:
			d.datatype = val
		case tensorParams:
			if n, found := sharedSize(val); found {
				d.written, d.told = n, true
			}
		case tensorContents:
			d.typed = true
			if d.values, ok = values(val); !ok {
				return d, false
			}
		}
	}
	return d, true
}

// values counts the elements of typed contents.
func values(b []byte) (n uint64, ok bool) {
	for len(b) > 0 {
		num, typ, _, val, rest, fine := field(b)
		if !fine {
			return 0, false
		}
		b = rest
		switch {
		case num == contentsBytes, typ != bytesType: // one element, or one of a list that is not packed
			n++
		case num == contentsFP32:
			n += uint64(len(val) / 4)
		case num == contentsFP64:
			n += uint64(len(val) / 8)
		case num >= contentsBool && num < contentsFP32:
			for _, c := range val {
				n += uint64(c>>7 ^ 1) // the last byte of each varint
			}
		}
	}
	return n, true
}

// sharedSize reads how many bytes are in shared memory from one parameter of an output.
func sharedSize(b []byte) (n uint64, found bool) {
	named := false
	for len(b) > 0 {
		num, _, _, val, rest, ok := field(b)
		if !ok {
			return 0, false
		}
		b = rest
		switch num {
		case mapKey:
			named = string(val) == "shared_memory_byte_size"
		case mapValue:
			var num, typ int
			if num, typ, n, _, _, ok = field(val); !ok || num != paramInt || typ != int(protowire.VarintType) {
				return 0, false
			}
		}
	}
	return n, named
}

// shapeText is the shape of an InferOutputTensor as it stands in messages.
func shapeText(b []byte) string {
	text := []byte{'['}
	for len(b) > 0 {
		num, typ, one, val, rest, ok := field(b)
		if !ok {
			break
		}
		b = rest
		if num != tensorShape {
			continue
		}
		if typ != bytesType {
			val = protowire.AppendVarint(nil, one)
		}
		for len(val) > 0 && ok {
			var d uint64
			if d, val, ok = varint(val); ok {
				if len(text) > 1 {
					text = append(text, ',')
				}
				text = strconv.AppendUint(text, d, 10)
			}
		}
	}
	return string(append(text, ']'))
}
