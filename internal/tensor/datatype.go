// Package tensor implements datatypes, shapes and the two forms of tensor data: raw little-endian bytes and JSON. Both the load
// generator and the reference server use it; it does not depend on a protocol.
package tensor

import "fmt"

// Datatype is the type of a tensor's elements, by the names of the KServe v2 protocol.
type Datatype uint8

// The datatypes. JSON is not a wire type: it is one request body, as the OpenAI kind uses it.
const (
	Invalid Datatype = iota
	Bool
	Uint8
	Uint16
	Uint32
	Uint64
	Int8
	Int16
	Int32
	Int64
	FP16
	FP32
	FP64
	Bytes
	BF16
	JSON
)

var names = [...]string{"INVALID", "BOOL", "UINT8", "UINT16", "UINT32", "UINT64", "INT8", "INT16", "INT32", "INT64", "FP16", "FP32", "FP64", "BYTES", "BF16", "JSON"}

var sizes = [...]int{0, 1, 1, 2, 4, 8, 1, 2, 4, 8, 2, 4, 8, 0, 2, 0}

// ParseDatatype finds a datatype by its name.
func ParseDatatype(name string) (Datatype, bool) {
	for i, n := range names {
		if n == name && i > 0 {
			return Datatype(i), true
		}
	}
	return Invalid, false
}

func (d Datatype) String() string {
	if int(d) < len(names) {
		return names[d]
	}
	return "INVALID"
}

// MarshalText lets a datatype appear by its name in JSON.
func (d Datatype) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText reads what MarshalText wrote.
func (d *Datatype) UnmarshalText(text []byte) error {
	v, ok := ParseDatatype(string(text))
	if !ok && string(text) != Invalid.String() {
		return fmt.Errorf("unknown datatype %q", text)
	}
	*d = v
	return nil
}

// Size is the number of bytes of one element; 0 if elements differ in size (Bytes, JSON).
func (d Datatype) Size() int {
	if int(d) < len(sizes) {
		return sizes[d]
	}
	return 0
}
