package tensor

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// prefix is the size of the length before each element of a Bytes tensor.
const prefix = 4

// ErrFraming means that the data of a Bytes tensor ends inside an element.
var ErrFraming = errors.New("BYTES data ends inside an element")

// AppendElement appends one element of a Bytes tensor: its length as four little-endian bytes, then itself.
func AppendElement[S ~string | ~[]byte](dst []byte, elem S) []byte {
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(elem)))
	return append(dst, elem...)
}

// PackBytes returns the raw data of a Bytes tensor of these elements.
func PackBytes(elems [][]byte) []byte {
	var b []byte
	for _, e := range elems {
		b = AppendElement(b, e)
	}
	return b
}

// Pack returns the raw data of a tensor of these elements. Protocols list elements in wider types than the tensor's own: the
// bytes above the size of t are dropped.
func Pack[T bool | int32 | int64 | uint32 | uint64 | float32 | float64](t Datatype, elems []T) []byte {
	b, _ := binary.Append(nil, binary.LittleEndian, elems) // fails for no type of T
	size, wide := t.Size(), len(b)/max(1, len(elems))
	for i := range elems {
		copy(b[i*size:], b[i*wide:i*wide+size])
	}
	return b[:len(elems)*size]
}

// NextElement splits the first element off the data of a Bytes tensor. Both results refer to data.
func NextElement(data []byte) (elem, rest []byte, err error) {
	if len(data) < prefix {
		return nil, nil, fmt.Errorf("%w: %d bytes where a length of 4 is expected", ErrFraming, len(data))
	}
	n := uint64(binary.LittleEndian.Uint32(data))
	data = data[prefix:]
	if uint64(len(data)) < n {
		return nil, nil, fmt.Errorf("%w: it has %d of %d bytes", ErrFraming, len(data), n)
	}
	return data[:n:n], data[n:], nil
}

// ByteSize is the size of the raw data of a tensor of this type and shape, or -1 if the shape is variable or the type's elements
// differ in size. Sizes beyond int64 are limited to its largest value.
func ByteSize(t Datatype, s Shape) int64 {
	n := s.Elements()
	if n < 0 || t.Size() == 0 {
		return -1
	}
	return mul(n, int64(t.Size()))
}

// Slice is element i along the first dimension, such as one member of a batch. The data is shared.
func (t Tensor) Slice(i int) (Tensor, error) {
	if len(t.Shape) == 0 || i < 0 || int64(i) >= t.Shape[0] {
		return Tensor{}, fmt.Errorf("tensor %q of shape %s has no element %d", t.Name, t.Shape, i)
	}
	part := Tensor{Name: t.Name, Type: t.Type, Shape: t.Shape[1:]}
	if size := ByteSize(t.Type, part.Shape); size >= 0 {
		if whole := mul(size, t.Shape[0]); whole != int64(len(t.Data)) {
			return Tensor{}, fmt.Errorf("tensor %q of shape %s has %d bytes, expect %d", t.Name, t.Shape, len(t.Data), whole)
		}
		from := int64(i) * size
		part.Data = t.Data[from : from+size : from+size]
		return part, nil
	}
	count := part.Shape.Elements()
	if t.Type != Bytes || count < 0 {
		return Tensor{}, fmt.Errorf("tensor %q of type %s and shape %s cannot be split", t.Name, t.Type, t.Shape)
	}
	from, err := skip(t.Data, mul(int64(i), count))
	if err != nil {
		return Tensor{}, fmt.Errorf("tensor %q: %w", t.Name, err)
	}
	size, err := skip(t.Data[from:], count)
	if err != nil {
		return Tensor{}, fmt.Errorf("tensor %q: %w", t.Name, err)
	}
	part.Data = t.Data[from : from+size : from+size]
	return part, nil
}

// skip is the number of bytes of the first n elements.
func skip(data []byte, n int64) (int, error) {
	rest := data
	for ; n > 0; n-- {
		var err error
		if _, rest, err = NextElement(rest); err != nil {
			return 0, err
		}
	}
	return len(data) - len(rest), nil
}
