package rest

import (
	"bytes"
	"strconv"

	"github.com/redline-bench/redline/internal/record"
	"github.com/redline-bench/redline/internal/service"
	"github.com/redline-bench/redline/internal/service/kserve"
	"github.com/redline-bench/redline/internal/service/kserve/share"
	"github.com/redline-bench/redline/internal/tensor"
	"github.com/redline-bench/redline/internal/tensor/jsonscan"
	"github.com/redline-bench/redline/internal/wire"
)

// output is one tensor of a reply: binary data by its place after the JSON, or JSON.
type output struct {
	name     jsonscan.Value
	datatype tensor.Datatype
	shape    jsonscan.Value
	at, size int
	data     jsonscan.Value // nil: binary
	count    uint64         // elements
	shared   bool           // in shared memory: the reply has neither data nor size
}

// checker checks the replies of one slot. Servers repeat themselves: a JSON part that equals the previous good
// one, but for the id, needs no new look.
type checker struct {
	shares  bool     // outputs may be in shared memory
	outputs []output // of the reply at hand; names and shapes point into it, or into known
	binary  int      // their binary bytes

	known  []byte // the previous good JSON part
	idAt   int    // where its id is, without the quotes; 0: not known, or it has none
	idLen  int
	noID   bool   // it has none
	values []byte // scratch for JSON data
}

// check tells whether the reply is a good one for a request with these variables. nil means yes.
func (k *checker) check(r *wire.Reply, req *request, v *service.Vars) *service.Error {
	if r.Status != 200 {
		return &service.Error{
			Op: kserve.OpInfer, Class: record.Server, Code: r.Status, Text: serverText(r.Body), Err: service.NewStatusError(r.Status, r.Retry, r.Body),
		}
	}
	if len(r.Encoding) > 0 && string(r.Encoding) != "identity" {
		return bad("it is compressed although that was not asked for")
	}
	n := len(r.Body)
	if r.Number >= 0 {
		if r.Number > int64(n) {
			return bad(headerLength + " is longer than the body")
		}
		n = int(r.Number)
	}
	var room [24]byte
	id := room[:0]
	if v.HasID {
		id = strconv.AppendUint(id, v.ID, 10)
	}
	k.shares = req.outputs != nil
	if !k.same(r.Body[:n], id) {
		if err := k.parse(r.Body[:n], id); err != nil {
			return err
		}
	}
	if n+k.binary != len(r.Body) {
		return bad("the sizes of its outputs do not add up to its length")
	}
	if req.expect != nil {
		return k.compare(r.Body[n:], req)
	}
	return nil
}

func bad(why string) *service.Error {
	return &service.Error{Op: kserve.OpInfer, Class: record.Protocol, Code: 200, Text: "malformed infer response: " + why}
}

// same tells whether the JSON part is the known one with this id in it.
func (k *checker) same(h, id []byte) bool {
	switch {
	case len(k.known) == 0:
		return false
	case k.idAt == 0:
		return (len(id) == 0 || k.noID) && bytes.Equal(h, k.known)
	case len(h)-len(id) != len(k.known)-k.idLen:
		return false
	}
	end := k.idAt + len(id)
	return bytes.Equal(h[:k.idAt], k.known[:k.idAt]) && bytes.Equal(h[k.idAt:end], id) && bytes.Equal(h[end:], k.known[k.idAt+k.idLen:])
}

// knownLimit is the largest JSON part that is remembered.
const knownLimit = 64 << 10

// parse looks at a JSON part in full. An empty id accepts any.
func (k *checker) parse(h, id []byte) *service.Error {
	k.known = k.known[:0]
	v, err := jsonscan.Parse(h)
	if err != nil {
		return bad(err.Error())
	}
	at := bytes.IndexByte(h, '{')
	if v.Kind() != jsonscan.Object || len(bytes.Trim(h[at+len(v):], " \t\r\n")) > 0 {
		return bad("its JSON is not one object")
	}
	if len(h) <= knownLimit { // the outputs then refer to the copy, which outlives the reply
		k.known = append(k.known, h...)
		v = jsonscan.Value(k.known[at : at+len(v)])
	}
	e := k.checkID(v, id)
	if e == nil {
		e = k.scan(v)
	}
	if e != nil {
		k.known = k.known[:0]
	}
	return e
}

// checkID compares the id and notes where it is. Servers may leave it out.
func (k *checker) checkID(v jsonscan.Value, id []byte) *service.Error {
	k.idAt, k.idLen = 0, 0
	got, _ := v.Get("id")
	k.noID = got == nil || got.Kind() == jsonscan.Null || got.Is("")
	if len(id) == 0 || k.noID {
		return nil
	}
	if !got.Is(string(id)) {
		e := bad("its id is not the id of the request")
		if got.Kind() == jsonscan.String {
			e.Err = service.ErrOtherRequest
		}
		return e
	}
	var room [40]byte
	member := append(append(append(room[:0], `"id":"`...), id...), '"')
	i := bytes.Index(k.known, member)
	if i < 0 || bytes.Contains(k.known[i+1:], member) {
		k.known = k.known[:0] // no place, or no single one: the next reply is looked at in full again
		return nil
	}
	k.idAt, k.idLen = i+len(`"id":"`), len(id)
	return nil
}

// scan lists the outputs.
func (k *checker) scan(v jsonscan.Value) *service.Error {
	k.outputs, k.binary = k.outputs[:0], 0
	if text, found := v.Get("error"); found {
		return &service.Error{Op: kserve.OpInfer, Class: record.Server, Code: 200, Text: service.Said(string(text.AppendText(nil)))}
	}
	list, _ := v.Get("outputs")
	if list.Kind() != jsonscan.Array {
		return bad("it has no outputs")
	}
	for e := range list.Elements() {
		o, err := k.output(e)
		if err != nil {
			return err
		}
		k.outputs = append(k.outputs, o)
		k.binary += o.size
	}
	return nil
}

// output reads one output and holds its size against its datatype and shape.
func (k *checker) output(v jsonscan.Value) (o output, err *service.Error) {
	o.name, _ = v.Get("name")
	o.shape, _ = v.Get("shape")
	datatype, _ := v.Get("datatype")
	o.datatype = parseDatatype(datatype)
	var ok bool
	o.count, ok = count(o.shape)
	if o.name.Kind() != jsonscan.String || o.datatype == tensor.Invalid || !ok {
		return o, bad("an output lacks a name, datatype or shape")
	}
	params, _ := v.Get("parameters")
	if size, found := params.Get("binary_data_size"); found {
		n, ok := size.Uint64()
		if !ok || n > maxBody {
			return o, bad("an output's binary_data_size is not a size")
		}
		if !kserve.Fits(o.datatype, o.count, n) {
			return o, o.sizeError(n)
		}
		o.at, o.size = k.binary, int(n)
		return o, nil
	}
	o.data, _ = v.Get("data")
	if o.shared = k.shares && o.data == nil; o.shared {
		return o, o.checkShared(params)
	}
	if o.data.Kind() != jsonscan.Array {
		return o, bad("an output has no data")
	}
	if n, ok := leaves(o.data, maxNesting); !ok || n != o.count {
		return o, o.sizeError(n * uint64(max(1, o.datatype.Size())))
	}
	return o, nil
}

// checkShared holds the number of bytes in shared memory, where the server tells it, against the datatype and shape. It
// may tell the size of the memory, which is larger.
func (o *output) checkShared(params jsonscan.Value) *service.Error {
	size, found := params.Get("shared_memory_byte_size")
	if n, ok := size.Uint64(); found && ok && n < o.count*uint64(o.datatype.Size()) {
		return o.sizeError(n)
	}
	return nil
}

func (o *output) sizeError(size uint64) *service.Error {
	err := kserve.SizeError(string(o.name.AppendText(nil)), o.datatype.String(), string(o.shape), size)
	err.Code = 200
	return err
}

// maxNesting is how deep the data of an output may be nested.
const maxNesting = 64

// leaves counts the values in nested lists.
func leaves(list jsonscan.Value, depth int) (n uint64, ok bool) {
	for v := range list.Elements() {
		if v.Kind() != jsonscan.Array {
			n++
			continue
		}
		if depth == 0 {
			return n, false
		}
		more, ok := leaves(v, depth-1)
		if n += more; !ok {
			return n, false
		}
	}
	return n, true
}

// maxBody bounds the sizes that can be right, so that sums cannot overflow.
const maxBody = 1 << 40

func parseDatatype(v jsonscan.Value) tensor.Datatype {
	for d := tensor.Bool; d < tensor.JSON; d++ {
		if v.Is(d.String()) {
			return d
		}
	}
	return tensor.Invalid
}

// count is the number of elements of a shape.
func count(shape jsonscan.Value) (uint64, bool) {
	if shape.Kind() != jsonscan.Array {
		return 0, false
	}
	n := uint64(1)
	for d := range shape.Elements() {
		u, ok := d.Uint64()
		if !ok || u > maxBody || n*u > maxBody {
			return 0, false
		}
		n *= u
	}
	return n, true
}

// compare holds the outputs against the expected ones. binary is what follows the JSON part.
func (k *checker) compare(binary []byte, req *request) *service.Error {
	for i := range req.expect {
		want := &req.expect[i]
		got, err := k.find(binary, want.Name, req.slot)
		if err != nil {
			return err
		}
		if err := kserve.Match(want, got); err != nil {
			return err
		}
	}
	return nil
}

// find gives the raw data of an output; none when the reply does not have it.
func (k *checker) find(binary []byte, name string, slot *share.Slot) ([]byte, *service.Error) {
	for i := range k.outputs {
		o := &k.outputs[i]
		if !o.name.Is(name) {
			continue
		}
		var raw []byte
		var err error
		switch {
		case o.shared && slot != nil:
			raw, err = slot.Output(name, o.datatype, o.count)
		case o.data == nil:
			raw = binary[o.at : o.at+o.size]
		default:
			raw, err = tensor.AppendNested(k.values[:0], o.datatype, o.data)
			k.values = raw
		}
		if err != nil {
			return nil, bad(err.Error())
		}
		return raw, nil
	}
	return nil, nil
}
