package workload

import (
	"bytes"
	"errors"
	"os"
	"syscall"

	"github.com/redline-bench/redline/internal/service"
	"github.com/redline-bench/redline/internal/tensor"
)

// readDirectory reads one step from files named like the inputs, and what is expected from files named like
// the outputs, as far as there are any.
func (d *Data) readDirectory(dir string) error {
	files, err := os.ReadDir(dir)
	if err != nil {
		return &DataError{Fault: "the folder %s cannot be read", Args: []any{dir}, Path: dir, Err: err}
	}
	for _, f := range files {
		if find(d.inputs, f.Name()) < 0 && find(d.outputs, f.Name()) < 0 {
			return dataError("the file %s has the name of no input or output of the model: rename or remove it", f.Name())
		}
	}
	s := step{in: make([]datum, len(d.inputs))}
	for i, spec := range d.inputs {
		if s.in[i], err = readTensor(dir, spec, "input"); err != nil {
			return err
		}
		if s.in[i].shape.Dynamic() {
			return dynamic(spec)
		}
	}
	for i, spec := range d.outputs {
		if _, err := os.Stat(dir + "/" + spec.Name); err != nil {
			continue
		}
		if s.want == nil {
			s.want = make([]datum, len(d.outputs))
		}
		if s.want[i], err = readTensor(dir, spec, "output"); err != nil {
			return err
		}
		if spec.Shape.Dynamic() {
			s.want[i].shape = nil
		}
	}
	d.streams = [][]step{{s}}
	return nil
}

// readTensor reads the file of one tensor: raw bytes, or a line for each element where the type is Bytes.
// A variable shape is not held against the data.
func readTensor(dir string, spec service.TensorSpec, role string) (datum, error) {
	path := dir + "/" + spec.Name
	data, err := os.ReadFile(path)
	if errors.Is(err, syscall.EISDIR) {
		return datum{}, &DataError{Fault: "%s is a folder: a tensor needs a file", Args: []any{path}, Path: path, Err: err}
	}
	if err != nil {
		return datum{}, &DataError{Fault: "the file %s cannot be opened", Args: []any{path}, Path: path, Err: err}
	}
	if len(data) == 0 {
		return datum{}, &DataError{Fault: "the file %s is empty", Args: []any{path}, Path: path}
	}
	if spec.Type == tensor.Bytes {
		framed, lines := frameLines(data)
		if want := spec.Shape.Elements(); want >= 0 && lines != want {
			return datum{}, dataError("the data of %s %s has %d elements, but the model needs %d", role, spec.Name, lines, want)
		}
		return datum{set: true, shape: spec.Shape, data: framed}, nil
	}
	if want := tensor.ByteSize(spec.Type, spec.Shape); want >= 0 && int64(len(data)) != want {
		return datum{}, dataError("the data of %s %s has %d bytes, but the model needs %d", role, spec.Name, len(data), want)
	}
	return datum{set: true, shape: spec.Shape, data: data}, nil
}

// frameLines makes an element of each line. A last line without its newline counts; nothing after one does not.
func frameLines(text []byte) (framed []byte, lines int64) {
	for line := range bytes.Lines(text) {
		framed = tensor.AppendElement(framed, bytes.TrimSuffix(line, []byte{'\n'}))
		lines++
	}
	return framed, lines
}
