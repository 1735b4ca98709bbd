package parquet

import "encoding/binary"

// thrift writes structs in Thrift's compact protocol, in which Parquet keeps everything but the values. A field is
// the distance from the last one and its type in one byte, then the value.
type thrift struct {
	bytes []byte
	last  int
}

// The numbers of the types in the protocol.
const (
	trueType   = 1
	falseType  = 2
	i8Type     = 3
	i32Type    = 5
	i64Type    = 6
	binaryType = 8
	listType   = 9
	structType = 12
)

func (t *thrift) field(id, kind int) {
	t.bytes = append(t.bytes, byte((id-t.last)<<4|kind))
	t.last = id
}

// end ends a struct; the next field is the first of another.
func (t *thrift) end() {
	t.bytes = append(t.bytes, 0)
	t.last = 0
}

func (t *thrift) boolean(id int, v bool) {
	if v {
		t.field(id, trueType)
	} else {
		t.field(id, falseType)
	}
}

func (t *thrift) i8(id int, v int8) {
	t.field(id, i8Type)
	t.bytes = append(t.bytes, byte(v))
}

func (t *thrift) i32(id int, v int32) {
	t.field(id, i32Type)
	t.bytes = binary.AppendVarint(t.bytes, int64(v))
}

func (t *thrift) i64(id int, v int64) {
	t.field(id, i64Type)
	t.bytes = binary.AppendVarint(t.bytes, v)
}

func (t *thrift) text(id int, s string) {
	t.field(id, binaryType)
	t.raw(s)
}

func (t *thrift) raw(s string) {
	t.bytes = binary.AppendUvarint(t.bytes, uint64(len(s)))
	t.bytes = append(t.bytes, s...)
}

// child writes a struct that is written already, with its end.
func (t *thrift) child(id int, ended []byte) {
	t.field(id, structType)
	t.bytes = append(t.bytes, ended...)
}

// list writes elements that are written already.
func (t *thrift) list(id, kind, n int, elements []byte) {
	t.field(id, listType)
	if n < 15 {
		t.bytes = append(t.bytes, byte(n<<4|kind))
	} else {
		t.bytes = append(t.bytes, byte(15<<4|kind))
		t.bytes = binary.AppendUvarint(t.bytes, uint64(n))
	}
	t.bytes = append(t.bytes, elements...)
}

func (t *thrift) i32s(id int, values []int32) {
	var b []byte
	for _, v := range values {
		b = binary.AppendVarint(b, int64(v))
	}
	t.list(id, i32Type, len(values), b)
}

func (t *thrift) texts(id int, values ...string) {
	var b thrift
	for _, v := range values {
		b.raw(v)
	}
	t.list(id, binaryType, len(values), b.bytes)
}
