package workload

import (
	"encoding/binary"
	"hash/fnv"
	"math"
	"math/rand/v2"

	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/service"
	"github.com/redline-bench/redline/internal/tensor"
)

// alphabet is what random strings are made of.
const alphabet = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ1234567890 .?!"

// maxGenerated bounds the data of one input, so that a slip of --shape is an error and not an exhausted machine.
const maxGenerated = 16 << 30

// generate makes one stream of one step.
func (d *Data) generate() error {
	s := step{in: make([]datum, len(d.inputs))}
	for i, spec := range d.inputs {
		data, err := generate(spec, d.in)
		if err != nil {
			return err
		}
		s.in[i] = datum{set: true, shape: spec.Shape, data: data}
	}
	d.streams = [][]step{{s}}
	return nil
}

// randomBytes is how many random bytes are drawn before the first sequence: those of the largest input.
func (d *Data) randomBytes() int {
	if d.in.Source != plan.Random {
		return 0
	}
	most := 0
	for i, spec := range d.inputs {
		if spec.Type != tensor.Bytes {
			most = max(most, len(d.streams[0][0].in[i].data))
		}
	}
	return most
}

func generate(spec service.TensorSpec, in plan.Input) ([]byte, error) {
	if spec.ShapeTensor {
		return nil, dataError("no data can be made for the shape tensor %s: give it with --input-data", spec.Name)
	}
	count := spec.Shape.Elements()
	if count < 0 {
		return nil, dynamic(spec)
	}
	each := int64(spec.Type.Size())
	switch {
	case spec.Type == tensor.Bytes && in.StringData != "":
		each = 4 + int64(len(in.StringData))
	case spec.Type == tensor.Bytes:
		each = 4 + int64(in.StringLength)
	case each == 0:
		return nil, dataError("no data can be made for input %s of type %s: give it with --input-data", spec.Name, spec.Type)
	}
	if each > maxGenerated || count > maxGenerated/each {
		return nil, dataError("input %s with shape %s is too large: more than 16 GiB of data would be generated", spec.Name, spec.Shape)
	}
	data := make([]byte, count*each)
	switch {
	case spec.Type == tensor.Bytes:
		fillStrings(data, int(each)-4, in, source(in.Seed, spec.Name))
	case in.Source != plan.Zero:
		fill(data, spec.Type, source(in.Seed, spec.Name))
	}
	return data, nil
}

func dynamic(spec service.TensorSpec) error {
	return dataError("input %s has a variable shape: give its dimensions with --shape", spec.Name)
}

// source gives each input its own values, the same in every run with the same seed.
func source(seed uint64, name string) *rand.Rand {
	h := fnv.New64a()
	_, _ = h.Write([]byte(name)) // a hash never fails
	return rand.New(rand.NewPCG(seed, h.Sum64()))
}

// fillStrings writes framed strings of the given length into data, which has room for a whole number of them.
func fillStrings(data []byte, length int, in plan.Input, r *rand.Rand) {
	for len(data) > 0 {
		binary.LittleEndian.PutUint32(data, uint32(length))
		text := data[4 : 4+length]
		if copy(text, in.StringData) == 0 {
			for i := range text {
				text[i] = alphabet[r.IntN(len(alphabet))]
			}
		}
		data = data[4+length:]
	}
}

// fill writes random elements: integers over their whole range, floating-point numbers in [0, 1).
func fill(data []byte, t tensor.Datatype, r *rand.Rand) {
	le := binary.LittleEndian
	size := t.Size()
	for i := 0; i < len(data); i += size {
		at := data[i : i+size]
		switch t {
		case tensor.Bool:
			at[0] = byte(r.Uint32() & 1)
		case tensor.FP16:
			le.PutUint16(at, tensor.FP16FromFloat32(r.Float32()))
		case tensor.BF16:
			le.PutUint16(at, tensor.BF16FromFloat32(r.Float32()))
		case tensor.FP32:
			le.PutUint32(at, math.Float32bits(r.Float32()))
		case tensor.FP64:
			le.PutUint64(at, math.Float64bits(r.Float64()))
		default:
			u := r.Uint64()
			for j := range at {
				at[j] = byte(u)
				u >>= 8
			}
		}
	}
}
