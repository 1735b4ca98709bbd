package infer

import (
	"cmp"
	"encoding/binary"
	"slices"
	"strconv"
	"strings"

	"github.com/redline-bench/redline/internal/tensor"
)

// Classify turns a tensor into its largest elements, as text "value:index" (and ":label" if the model has labels): for each
// element of the batch if batched, else for the whole tensor.
func Classify(t tensor.Tensor, classes int, batched bool, label func(index int) string) (tensor.Tensor, error) {
	size := t.Type.Size()
	if size == 0 {
		return t, Errorf(InvalidArg, "class result not available for output due to unsupported type '%s'", t.Type)
	}
	rows := 1
	if batched && len(t.Shape) > 0 {
		rows = int(t.Shape[0])
	}
	width := 0
	if rows > 0 {
		width = len(t.Data) / size / rows
	}
	classes = min(classes, width)
	var data []byte
	for r := range rows {
		row := t.Data[r*width*size : (r+1)*width*size]
		for _, k := range top(t.Type, row, classes) {
			text := valueText(t.Type, row[k*size:]) + ":" + strconv.Itoa(k)
			if l := label(k); l != "" {
				text += ":" + l
			}
			data = binary.LittleEndian.AppendUint32(data, uint32(len(text)))
			data = append(data, text...)
		}
	}
	shape := tensor.Shape{int64(classes)}
	if batched && len(t.Shape) > 0 {
		shape = tensor.Shape{t.Shape[0], int64(classes)}
	}
	return tensor.Tensor{Name: t.Name, Type: tensor.Bytes, Shape: shape, Data: data}, nil
}

// top finds the indices of the n largest elements, largest first.
func top(t tensor.Datatype, row []byte, n int) []int {
	size := t.Size()
	index := make([]int, len(row)/size)
	for i := range index {
		index[i] = i
	}
	slices.SortStableFunc(index, func(a, b int) int {
		return cmp.Compare(valueOf(t, row[b*size:]), valueOf(t, row[a*size:]))
	})
	return index[:n]
}

// valueOf is an element for comparisons. Elements of 16 bits are not compared.
func valueOf(t tensor.Datatype, b []byte) float64 {
	switch n := tensor.Number(t, b); t {
	case tensor.FP16, tensor.BF16:
		return 0
	case tensor.FP32, tensor.FP64:
		return n.Real
	case tensor.Uint64:
		return float64(uint64(n.Whole))
	default:
		return float64(n.Whole)
	}
}

func valueText(t tensor.Datatype, b []byte) string {
	switch t {
	case tensor.FP32, tensor.FP64:
		return strconv.FormatFloat(valueOf(t, b), 'f', 6, 64)
	case tensor.Uint64:
		return strconv.FormatUint(binary.LittleEndian.Uint64(b), 10)
	case tensor.Int64:
		return strconv.FormatInt(int64(binary.LittleEndian.Uint64(b)), 10)
	default:
		return strconv.FormatInt(int64(valueOf(t, b)), 10)
	}
}

// DataText writes the elements of a tensor as readable text.
func DataText(t tensor.Tensor) string {
	var parts []string
	size := t.Type.Size()
	for rest := t.Data; size > 0 && len(rest) >= size || size == 0 && len(rest) >= 4; {
		if size > 0 {
			parts, rest = append(parts, valueText(t.Type, rest)), rest[size:]
			continue
		}
		n := min(int(binary.LittleEndian.Uint32(rest)), len(rest)-4)
		parts, rest = append(parts, strconv.Quote(string(rest[4:4+n]))), rest[4+n:]
	}
	return strings.Join(parts, ",")
}
