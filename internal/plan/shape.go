package plan

import (
	"errors"
	"strconv"
	"strings"

	"github.com/redline-bench/redline/internal/tensor"
)

// errShape says how a shape is written.
var errShape = errors.New("is NAME:DIMENSIONS, such as INPUT0:3,224,224, or NAME:DATATYPE:DIMENSIONS, such as INPUT0:FP32:-1,224; " +
	"dimensions are at least 1, the first can be -1, the batch dimension")

// AppendShape reads NAME:DIMENSIONS or NAME:DATATYPE:DIMENSIONS. Names of inputs may have colons.
func (in *Input) AppendShape(text string) error {
	i := strings.LastIndexByte(text, ':')
	if i < 1 {
		return errShape
	}
	name := text[:i]
	var shape []int64
	for part := range strings.SplitSeq(text[i+1:], ",") {
		d, err := strconv.ParseInt(part, 10, 64)
		if err != nil || d < 1 && (d != -1 || len(shape) > 0) {
			return errShape
		}
		shape = append(shape, d)
	}
	if before, last, ok := cutLast(name, ':'); ok {
		if t, ok := tensor.ParseDatatype(strings.ToUpper(last)); ok && t != tensor.JSON {
			name = before
			if in.Datatypes == nil {
				in.Datatypes = map[string]tensor.Datatype{}
			}
			in.Datatypes[name] = t
		}
	}
	if in.Shapes == nil {
		in.Shapes = map[string][]int64{}
	}
	in.Shapes[name] = shape
	return nil
}

// cutLast is strings.Cut at the last separator.
func cutLast(s string, sep byte) (before, after string, found bool) {
	i := strings.LastIndexByte(s, sep)
	if i < 1 {
		return s, "", false
	}
	return s[:i], s[i+1:], true
}
