package workload

import (
	"errors"
	"os"
	"slices"

	"github.com/redline-bench/redline/internal/service"
	"github.com/redline-bench/redline/internal/tensor/jsonscan"
)

// files gathers the steps of one JSON file after the other.
type files struct {
	d       *Data
	many    bool // the entries are arrays, each a stream; else all are steps of one stream
	started bool // many is known
	scratch []byte
}

// place is a step, as errors name it.
type place struct{ stream, step int }

func (d *Data) readFiles(paths []string) error {
	f := &files{d: d}
	for _, path := range paths {
		if err := f.read(path); err != nil {
			if e, ok := errors.AsType[*DataError](err); ok && e.Path == "" {
				e.Path = path
			}
			return err
		}
	}
	if !slices.ContainsFunc(d.streams, func(s []step) bool { return len(s) > 0 }) {
		return d.nothing()
	}
	for i, stream := range d.streams {
		if len(stream) == 0 && d.sequence {
			return dataError("stream %d of the input data has no steps to make a sequence of", i)
		}
	}
	return nil
}

// nothing is the error of data without steps.
func (d *Data) nothing() error {
	for _, spec := range d.inputs {
		if !spec.Optional {
			return &DataError{Fault: noData, Args: []any{spec.Name}, Err: ErrNoSteps}
		}
	}
	return &DataError{Err: ErrNoSteps}
}

// parseFile reads a file as JSON.
func parseFile(path string) (jsonscan.Value, error) {
	text, err := os.ReadFile(path)
	if st, serr := os.Stat(path); err != nil && serr == nil && st.IsDir() {
		err = nil // only the first may be a directory; another one reads as an empty file
	}
	if err != nil {
		return nil, &DataError{Fault: "the file cannot be read: %v", Args: []any{err}, Path: path, Err: err}
	}
	root, err := jsonscan.Parse(text)
	if err != nil {
		at := 0
		if syntax, ok := errors.AsType[*jsonscan.SyntaxError](err); ok {
			at = syntax.Offset
		}
		return nil, &DataError{Fault: "not valid JSON at byte %d: check the file with a JSON validator", Args: []any{at}, Path: path, Err: err}
	}
	return root, nil
}

func (f *files) read(path string) error {
	root, err := parseFile(path)
	if err != nil {
		return err
	}
	data, ok := root.Get("data")
	if !ok {
		return dataError(`the file has no "data": write {"data": [...]}`)
	}
	if !list(data) {
		return dataError(malformed)
	}
	want, validates := root.Get("validation_data")
	return pairs(data, want, validates, f.entry)
}

// list tells whether a value can be read as a list: null and {} are empty ones.
func list(v jsonscan.Value) bool {
	for range v.Members() {
		return false
	}
	return v.Kind() == jsonscan.Array || v.Kind() == jsonscan.Null || v.Kind() == jsonscan.Object
}

// pairs calls fn with each element of an array, and with the element of want beside it; without validation that is nil.
func pairs(data, want jsonscan.Value, validates bool, fn func(i int, entry, want jsonscan.Value) error) error {
	entries := slices.Collect(data.Elements())
	expected := make([]jsonscan.Value, len(entries))
	if validates {
		if expected = slices.Collect(want.Elements()); !list(want) || len(expected) != len(entries) {
			return dataError(Misaligned)
		}
	}
	for i, entry := range entries {
		if err := fn(i, entry, expected[i]); err != nil {
			return err
		}
	}
	return nil
}

// entry takes one entry of the data array: a stream or a step. The first of a file decides which they are.
func (f *files) entry(i int, entry, want jsonscan.Value) error {
	many := entry.Kind() == jsonscan.Array
	if f.started && many != f.many && (f.many || i == 0) {
		return dataError(`"data" has both objects and lists: write objects for one stream, or lists for several`)
	}
	if !f.started {
		f.many = many
	}
	if f.many || !f.started {
		f.d.streams = append(f.d.streams, nil)
	}
	f.started = true
	if !f.many {
		return f.step(entry, want)
	}
	return pairs(entry, want, want != nil, func(_ int, s, want jsonscan.Value) error { return f.step(s, want) })
}

// step adds one step to the last stream.
func (f *files) step(v, want jsonscan.Value) error {
	stream := len(f.d.streams) - 1
	at := place{stream, len(f.d.streams[stream])}
	var s step
	var err error
	if s.in, err = f.tensors(v, f.d.inputs, at, false); err != nil {
		return err
	}
	if want != nil {
		if s.want, err = f.tensors(want, f.d.outputs, at, true); err != nil {
			return err
		}
	}
	f.d.streams[stream] = append(f.d.streams[stream], s)
	return nil
}

// tensors reads the members of a step. An array or null in its place has none.
func (f *files) tensors(v jsonscan.Value, specs []service.TensorSpec, at place, output bool) ([]datum, error) {
	if v.Kind() != jsonscan.Object && v.Kind() != jsonscan.Array && v.Kind() != jsonscan.Null {
		return nil, dataError(malformed)
	}
	members := make([]jsonscan.Value, len(specs))
	unknown := ""
	for name, member := range v.Members() {
		text := string(name.AppendText(nil))
		i := find(specs, text)
		switch {
		case i < 0 && text != "model" && unknown == "":
			unknown = text
		case i >= 0 && members[i] == nil: // of two members of one name the first counts
			members[i] = member
		}
	}
	data := make([]datum, len(specs))
	for i, spec := range specs {
		var err error
		switch {
		case members[i] != nil:
			if data[i], err = f.tensor(members[i], spec, at, output); err != nil {
				return nil, err
			}
		case !spec.Optional:
			return nil, dataError("there is no tensor %s in step %[3]d of stream %[2]d", spec.Name, at.stream, at.step)
		}
	}
	if unknown != "" {
		return nil, dataError("the model has no input or output %q", unknown)
	}
	return data, nil
}
