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

// Trace is one traced request, or a step of an ensemble.
type Trace struct {
	recorder *Recorder
	file     string
	every    int
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

// Start begins the trace of a request. Every so many traces go to a file of their own, with a number; 0 writes one file at the end.
func (r *Recorder) Start(file string, every int) *Trace {
	if file == "" {
		return nil
	}
	return &Trace{recorder: r, file: file, every: every, id: r.number()}
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
	t.recorder.keep(t)
	t.lines = nil
}

// keep writes a file when it is full. A trace that cannot be written is dropped: tracing must not stop the server.
func (r *Recorder) keep(t *Trace) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.kept = append(r.kept, t.lines...)
	if r.count++; t.every > 0 && r.count >= t.every {
		_ = r.write(t.file + "." + strconv.Itoa(r.files))
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
