package rpc

import (
	"strconv"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/redline-bench/redline/internal/record"
	"github.com/redline-bench/redline/internal/service"
	"github.com/redline-bench/redline/internal/service/kserve"
	"github.com/redline-bench/redline/internal/tensor"
)

// The field numbers of ModelInferResponse and of the messages around and in it.
const (
	respID      = 3
	respParams  = 4
	respOutputs = 5
	respRaw     = 6

	tensorParams   = 4
	tensorContents = 5

	streamError = 1
	streamReply = 2
)

// answer is what a walk over a ModelInferResponse found. Its slices lie in the payload.
type answer struct {
	id       []byte
	outputs  int
	typed    int // outputs with typed contents
	shared   int // outputs in shared memory, or with other parameters
	raws     int
	final    bool // triton_final_response
	hasFinal bool
}

// The reasons for which a payload is not an answer. They are values so that the walk allocates nothing.
var (
	errWire  = badAnswer("the answer is not a valid ModelInferResponse")
	errCount = badAnswer("the answer does not hold one piece of raw data for each output")
	errID    = &service.Error{Op: kserve.OpInfer, Class: record.Protocol, Text: "the answer's id is not the request's", Err: service.ErrOtherRequest}
)

func badAnswer(text string) *service.Error {
	return &service.Error{Op: kserve.OpInfer, Class: record.Protocol, Text: text}
}

// field reads one field of a protobuf message off b. A varint is returned as number, anything else as bytes.
// ok is false where the bytes are malformed.
func field(b []byte) (num, typ int, n uint64, val, rest []byte, ok bool) {
	var tag uint64
	if len(b) > 0 && b[0] < 0x80 {
		tag, b = uint64(b[0]), b[1:]
	} else if tag, b, ok = varint(b); !ok {
		return 0, 0, 0, nil, nil, false
	}
	num, typ = int(tag>>3), int(tag&7)
	if num <= 0 || tag>>3 > uint64(protowire.MaxValidNumber) {
		return 0, 0, 0, nil, nil, false
	}
	switch protowire.Type(typ) {
	case protowire.VarintType:
		n, rest, ok = varint(b)
		return num, typ, n, nil, rest, ok
	case protowire.BytesType:
		if n, rest, ok = varint(b); !ok || n > uint64(len(rest)) {
			return 0, 0, 0, nil, nil, false
		}
		return num, typ, 0, rest[:n:n], rest[n:], true
	case protowire.Fixed32Type:
		if len(b) < 4 {
			return 0, 0, 0, nil, nil, false
		}
		return num, typ, 0, b[:4], b[4:], true
	case protowire.Fixed64Type:
		if len(b) < 8 {
			return 0, 0, 0, nil, nil, false
		}
		return num, typ, 0, b[:8], b[8:], true
	default: // groups, which proto3 does not have, and what does not exist
		return 0, 0, 0, nil, nil, false
	}
}

func varint(b []byte) (uint64, []byte, bool) {
	if len(b) > 0 && b[0] < 0x80 {
		return uint64(b[0]), b[1:], true
	}
	n, k := protowire.ConsumeVarint(b)
	if k < 0 {
		return 0, nil, false
	}
	return n, b[k:], true
}

const bytesType = int(protowire.BytesType)

// walk checks the wire format of a ModelInferResponse.
func walk(b []byte) (a answer, ok bool) {
	for len(b) > 0 {
		num, typ, _, val, rest, ok := field(b)
		if !ok {
			return a, false
		}
		b = rest
		if num > respRaw {
			continue // a field that is newer than this program
		}
		if typ != bytesType { // all that we know are strings or messages
			return a, false
		}
		switch num {
		case respID:
			a.id = val
		case respParams:
			if !a.param(val) {
				return a, false
			}
		case respOutputs:
			if !a.output(val) {
				return a, false
			}
		case respRaw:
			a.raws++
		}
	}
	return a, true
}

// output checks one InferOutputTensor.
func (a *answer) output(b []byte) bool {
	a.outputs++
	for len(b) > 0 {
		num, typ, _, _, rest, ok := field(b)
		if !ok {
			return false
		}
		b = rest
		switch num {
		case tensorName, tensorDatatype, tensorParams, tensorContents:
			if typ != bytesType {
				return false
			}
			switch num {
			case tensorParams:
				a.shared++
			case tensorContents:
				a.typed++
			}
		}
	}
	return true
}

// param checks one parameter, and takes in the one that marks the last response of a request.
func (a *answer) param(b []byte) bool {
	var key, value []byte
	for len(b) > 0 {
		num, typ, _, val, rest, ok := field(b)
		if !ok || num <= mapValue && typ != bytesType {
			return false
		}
		b = rest
		switch num {
		case mapKey:
			key = val
		case mapValue:
			value = val
		}
	}
	final := string(key) == "triton_final_response"
	for len(value) > 0 {
		num, typ, n, _, rest, ok := field(value)
		if !ok {
			return false
		}
		value = rest
		if final && num == paramBool && typ == int(protowire.VarintType) {
			a.hasFinal, a.final = true, n != 0
		}
	}
	return true
}

// complete tells whether every output comes with its data.
func (a *answer) complete() bool {
	return a.raws == a.outputs || a.raws+a.typed+a.shared >= a.outputs && a.raws <= a.outputs
}

// verify holds an answer against the request that it belongs to. It returns nil when all is well.
func (r *request) verify(payload []byte, v *service.Vars) *service.Error {
	a, ok := walk(payload)
	switch {
	case !ok:
		return errWire
	case !a.complete():
		return errCount
	case v.HasID && len(a.id) > 0 && !isNumber(a.id, v.ID): // servers may leave the id out
		return errID
	}
	if err := checkSizes(payload, r.outputs != nil); err != nil || r.expect == nil {
		return err
	}
	return r.compare(payload)
}

// isNumber tells whether b is n in decimal.
func isNumber(b []byte, n uint64) bool {
	var digits [20]byte
	return string(strconv.AppendUint(digits[:0], n, 10)) == string(b)
}

// compare looks up each expected output in the answer.
func (r *request) compare(payload []byte) *service.Error {
	for i := range r.expect {
		want := &r.expect[i]
		got, typed, ok := output(payload, want.Name)
		if typed {
			var err *service.Error
			if got, err = typedOutput(payload, want); err != nil {
				return err
			}
		}
		if r.slot != nil && len(got) == 0 {
			got, ok = r.fromRegion(payload, want)
		}
		if !ok {
			got = nil
		}
		if err := kserve.Match(want, got); err != nil {
			return err
		}
	}
	return nil
}

// output finds the raw data of an output by name. typed is set where it has typed contents instead.
func output(payload []byte, name string) (data []byte, typed, ok bool) {
	index := 0
	for b := payload; len(b) > 0; {
		num, _, _, val, rest, fine := field(b)
		if !fine {
			return nil, false, false
		}
		b = rest
		if num != respOutputs {
			continue
		}
		found, typed := inspect(val, name)
		switch {
		case found && typed:
			return nil, true, true
		case found:
			data, ok = raw(payload, index)
			return data, false, ok
		}
		index++
	}
	return nil, false, false
}

// inspect tells whether an InferOutputTensor has the name, and whether it has typed contents.
func inspect(b []byte, name string) (found, typed bool) {
	for len(b) > 0 {
		num, _, _, val, rest, fine := field(b)
		if !fine {
			return false, false
		}
		b = rest
		found = found || num == tensorName && string(val) == name
		typed = typed || num == tensorContents && len(val) > 0
	}
	return found, typed
}

// raw is the raw data of the given output.
func raw(payload []byte, index int) ([]byte, bool) {
	for b := payload; len(b) > 0; {
		num, _, _, val, rest, fine := field(b)
		if !fine {
			return nil, false
		}
		b = rest
		if num == respRaw {
			if index == 0 {
				return val, true
			}
			index--
		}
	}
	return nil, false
}

// typedOutput decodes an output whose data is typed; servers other than Triton send such.
func typedOutput(payload []byte, want *tensor.Tensor) ([]byte, *service.Error) {
	all, err := decode(payload)
	if err != nil {
		return nil, errWire
	}
	for _, t := range all {
		if t.Name == want.Name {
			return t.Data, nil
		}
	}
	return nil, kserve.ErrOutputSize
}
