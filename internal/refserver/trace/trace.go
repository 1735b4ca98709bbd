// Package trace writes the events of single requests with their times in Triton's format: a file of JSON with one line for each
// timestamp. The settings decide which requests are traced. Other requests have a nil Trace, on which calls do nothing.
package trace

import (
	"encoding/json"
	"errors"
	"os"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/redline-bench/redline/internal/tensor"
)

// Recorder collects traces and writes them to files.
type Recorder struct {
	mu    sync.Mutex
	next  uint64 // id of the trace before
	kept  [][]byte
	files int
}

// Options are the settings that a trace is made under.
type Options struct {
	File                string
	Timestamps, Tensors bool
	// Every is the number of traces per numbered file; 0 writes one file at the end.
	Every int
}

// Trace is one traced request, or a step of an ensemble.
type Trace struct {
	recorder *Recorder
	options  Options
	root     *Trace // nil for the request itself
	id       uint64
	parent   uint64

	mu    sync.Mutex
	steps []byte // of the ensemble's steps that have ended
	lines []byte
}

// Start begins the trace of a request.
func (r *Recorder) Start(o Options) *Trace {
	if o.File == "" || !o.Timestamps && !o.Tensors {
		return nil
	}
	return &Trace{recorder: r, options: o, id: r.number()}
}

func (r *Recorder) number() uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.next++
	return r.next
}

// Child begins the trace of a step of an ensemble. The caller must call its End.
func (t *Trace) Child() *Trace {
	if t == nil {
		return nil
	}
	root := t.root
	if root == nil {
		root = t
	}
	return &Trace{recorder: t.recorder, options: t.options, root: root, id: t.recorder.number(), parent: t.id}
}

// Step reports whether this is a step of an ensemble.
func (t *Trace) Step() bool { return t != nil && t.root != nil }

// Wants reports whether tensors are to be shown.
func (t *Trace) Wants() bool { return t != nil && t.options.Tensors }

// Model sets the model that runs the request.
func (t *Trace) Model(name string, version int64, request string) {
	if t == nil {
		return
	}
	b := appendString([]byte(`"model_name":`), name)
	b = strconv.AppendInt(append(b, `,"model_version":`...), version, 10)
	if request != "" {
		b = appendString(append(b, `,"request_id":`...), request)
	}
	if t.parent != 0 {
		b = strconv.AppendUint(append(b, `,"parent_id":`...), t.parent, 10)
	}
	t.line(b)
}

// Mark adds a timestamp.
func (t *Trace) Mark(name string, at time.Time) {
	if t == nil || !t.options.Timestamps {
		return
	}
	b := append([]byte(`"timestamps":[{"name":"`), name...)
	b = strconv.AppendInt(append(b, `","ns":`...), at.UnixNano(), 10)
	t.line(append(b, "}]"...))
}

// Tensor adds a tensor; data is its elements as text.
func (t *Trace) Tensor(activity string, x tensor.Tensor, data string) {
	if !t.Wants() {
		return
	}
	b := append([]byte(`"activity":"`), activity...)
	b = appendString(append(b, `","tensor":{"name":`...), x.Name)
	b = appendString(append(b, `,"data":`...), data)
	b = append(b, `,"shape":"`...)
	for i, d := range x.Shape {
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendInt(b, d, 10)
	}
	t.line(append(append(append(b, `","dtype":"`...), x.Type.String()...), `"}`...))
}

func (t *Trace) line(members []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.lines = append(t.lines, `{"id":`...)
	t.lines = strconv.AppendUint(t.lines, t.id, 10)
	t.lines = append(append(append(t.lines, ','), members...), '}', ',')
}

// End passes on the lines: those of a step to its request, those of a request to the recorder.
func (t *Trace) End() {
	if t == nil {
		return
	}
	t.mu.Lock()
	all := slices.Concat(t.steps, t.lines)
	t.steps, t.lines = nil, nil
	t.mu.Unlock()
	if t.root != nil {
		t.root.mu.Lock()
		t.root.steps = append(t.root.steps, all...)
		t.root.mu.Unlock()
		return
	}
	t.recorder.keep(all, t.options)
}

// keep writes a file when it is full. A trace that cannot be written is dropped: tracing must not stop the server.
func (r *Recorder) keep(lines []byte, o Options) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.kept = append(r.kept, lines)
	if o.Every > 0 && len(r.kept) >= o.Every {
		_ = r.write(o.File + "." + strconv.Itoa(r.files))
		r.files++
	}
}

// Close writes what is left to the file itself.
func (r *Recorder) Close(file string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if file == "" || len(r.kept) == 0 {
		return nil
	}
	return r.write(file)
}

func (r *Recorder) write(file string) error {
	out, err := os.Create(file)
	if err != nil {
		r.kept = nil
		return err
	}
	var all []byte
	for _, lines := range r.kept {
		all = append(all, lines...)
	}
	r.kept = nil
	if len(all) > 0 {
		all = all[:len(all)-1] // the last comma
	}
	_, err = out.Write(append(append([]byte{'['}, all...), ']'))
	return errors.Join(err, out.Close())
}

func appendString(b []byte, s string) []byte {
	text, err := json.Marshal(s)
	if err != nil {
		text = []byte(`""`)
	}
	return append(b, text...)
}
