// Package trace writes the times of single requests in Triton's format: a file of JSON with one line for each timestamp. The settings
// decide which requests are traced. Other requests have a nil Trace, on which calls do nothing.
package trace

import (
	"cmp"
	"encoding/json"
	"errors"
	"os"
	"strconv"
	"sync"
	"time"
)

// Recorder collects traces and writes them to files.
type Recorder struct {
	mu    sync.Mutex
	next  uint64 // id of the trace before
	kept  []line
	count int // traces in kept
	files int
}

// Options are the settings that a trace is made under.
type Options struct {
	File string
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
	lines []line // of the request, with those of its steps
}

// line is a line of a file: what a trace is of, or a timestamp.
type line struct {
	ID         uint64 `json:"id"`
	Model      string `json:"model_name,omitempty"`
	Version    int64  `json:"model_version,omitempty"`
	Request    string `json:"request_id,omitempty"`
	Parent     uint64 `json:"parent_id,omitempty"`
	Timestamps []mark `json:"timestamps,omitempty"`
}

type mark struct {
	Name string `json:"name"`
	Ns   int64  `json:"ns"`
}

// Start begins the trace of a request.
func (r *Recorder) Start(o Options) *Trace {
	if o.File == "" {
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

// Child begins the trace of a step of an ensemble.
func (t *Trace) Child() *Trace {
	if t == nil {
		return nil
	}
	return &Trace{recorder: t.recorder, root: cmp.Or(t.root, t), id: t.recorder.number(), parent: t.id}
}

// Step reports whether this is a step of an ensemble.
func (t *Trace) Step() bool { return t != nil && t.root != nil }

// Model sets the model that runs the request.
func (t *Trace) Model(name string, version int64, request string) {
	if t != nil {
		t.add(line{Model: name, Version: version, Request: request, Parent: t.parent})
	}
}

// Mark adds a timestamp.
func (t *Trace) Mark(name string, at time.Time) {
	if t != nil {
		t.add(line{Timestamps: []mark{{name, at.UnixNano()}}})
	}
}

func (t *Trace) add(l line) {
	l.ID = t.id
	root := cmp.Or(t.root, t)
	root.mu.Lock()
	defer root.mu.Unlock()
	root.lines = append(root.lines, l)
}

// End passes on the lines of a request to the recorder.
func (t *Trace) End() {
	if t == nil || t.root != nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.recorder.keep(t.lines, t.options)
	t.lines = nil
}

// keep writes a file when it is full. A trace that cannot be written is dropped: tracing must not stop the server.
func (r *Recorder) keep(lines []line, o Options) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.kept = append(r.kept, lines...)
	if r.count++; o.Every > 0 && r.count >= o.Every {
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
	text, err := json.Marshal(r.kept)
	r.kept, r.count = nil, 0
	return errors.Join(err, os.WriteFile(file, text, 0o666))
}
