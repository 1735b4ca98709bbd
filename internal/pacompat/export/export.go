// Package export writes the raw data of a run in the form of perf_analyzer's --profile-export-file: every request
// that was measured, with its times, its inputs and its outputs.
//
// The file is one JSON document without white space. It is written during the run, so memory does not grow with the run; the
// inputs, which repeat, are encoded once. Until Commit the data is in a temporary file beside the final one: a run that fails
// leaves nothing behind.
//
// The keys, their order and their types are perf_analyzer's. perf_analyzer sometimes writes invalid files; this package does not:
// the file is always valid JSON and valid UTF-8 (NaN is null, an invalid byte is U+FFFD), it has all elements of a batch, and
// half-precision numbers are numbers.
package export

import (
	"bufio"
	"fmt"
	"math"
	"strconv"

	"github.com/redline-bench/redline/internal/clock"
	"github.com/redline-bench/redline/internal/pending"
	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/record"
	"github.com/redline-bench/redline/internal/tensor"
)

// Config tells a Writer how to read requests.
type Config struct {
	// Inputs returns the inputs of a prepared request, by the Step of its records.
	Inputs func(step uint32) []tensor.Tensor
	// Outputs decodes one response. The tensors may share its memory.
	Outputs func(payload []byte) ([]tensor.Tensor, error)
	// Names are the model's outputs. A response without any, as the last one of a stream, shows each as "".
	Names []string
}

// version is the perf_analyzer release whose format is written; readers look at it.
const version = "2.60.0"

// The sizes of a Writer.
const (
	bufferSize = 256 << 10
	// cacheSize bounds the encoded inputs that are kept, in bytes.
	cacheSize = 32 << 20
)

// Writer writes one file. It is not safe for concurrent use. After an error every call returns that error.
type Writer struct {
	// Verdict is written at the end if it is set. perf_analyzer's document has none.
	Verdict string

	cfg   Config
	file  *pending.File
	w     *bufio.Writer
	buf   []byte // one request while it is encoded
	cache map[uint32][]byte
	free  int // what the cache may still take
	err   error

	experiments, requests int  // written so far, the latter in this experiment
	open                  bool // an experiment has begun
}

// Create makes the temporary file beside path, so that a folder that cannot be written to is known before the load
// starts.
func Create(out *pending.Output, path string, cfg Config) (*Writer, error) {
	f, err := out.Create(path)
	if err != nil {
		return nil, fmt.Errorf("cannot write the profile export %s: %w", path, err)
	}
	w := &Writer{
		cfg: cfg, file: f, w: bufio.NewWriterSize(f, bufferSize),
		cache: make(map[uint32][]byte), free: cacheSize,
	}
	w.put([]byte(`{"experiments":[`))
	return w, w.err
}

// put hands an encoded piece to the file's buffer, and keeps its memory for the next one.
func (w *Writer) put(b []byte) {
	if w.err == nil {
		_, w.err = w.w.Write(b)
	}
	w.buf = b[:0]
}

// Begin opens the experiment of one level. Modes without a concurrency are known by their rate.
func (w *Writer) Begin(mode plan.Mode, concurrency int, rate float64) error {
	if w.open {
		_ = w.End(nil) // the level before was cut short; its error is kept
	}
	b := w.buf
	if w.experiments > 0 {
		b = append(b, ',')
	}
	switch mode {
	case plan.Concurrency:
		b = append(b, `{"experiment":{"mode":"concurrency","value":`...)
		b = strconv.AppendInt(b, int64(concurrency), 10)
	case plan.PeriodicConcurrency:
		b = append(b, `{"experiment":{"mode":"concurrency","value":1`...)
	case plan.FixedSchedule, plan.SessionConcurrency:
		b = append(b, `{"experiment":{"mode":"request_rate","value":0.0`...)
	case plan.RequestRate, plan.CustomIntervals:
		b = append(b, `{"experiment":{"mode":"request_rate","value":`...)
		b = appendFloat(b, rate)
	}
	b = append(b, `},"requests":[`...)
	w.put(b)
	w.experiments++
	w.requests, w.open = 0, true
	return w.err
}

// Request adds one request. Data holds the responses of its events, one after the other.
func (w *Writer) Request(r *record.Record, events []record.Event, data []byte) error {
	if w.err != nil {
		return w.err
	}
	b := w.buf
	if w.requests > 0 {
		b = append(b, ',')
	}
	w.requests++
	b = append(b, `{"timestamp":`...)
	b = strconv.AppendInt(b, clock.Wall(r.Sent), 10)
	if r.SeqID != 0 {
		b = append(b, `,"sequence_id":`...)
		b = strconv.AppendUint(b, r.SeqID, 10)
	}
	b = append(b, `,"request_inputs":`...)
	b = w.appendInputs(b, r.Step)
	b = append(b, `,"response_timestamps":[`...)
	if len(events) == 0 {
		b = strconv.AppendInt(b, clock.Wall(r.End), 10)
	}
	b = appendTimes(b, events)
	b = append(b, `],"response_outputs":[`...)
	b = w.appendResponses(b, events, data)
	b = append(b, `]}`...)
	w.put(b)
	return w.err
}

// appendTimes adds when the responses came.
func appendTimes(b []byte, events []record.Event) []byte {
	var last int64
	for i := range events {
		b, last = clock.AppendWall(b, last, events[i].At)
	}
	return b
}

// appendInputs adds the inputs of a step, which are encoded only once as long as there is room to keep them.
func (w *Writer) appendInputs(b []byte, step uint32) []byte {
	if known, ok := w.cache[step]; ok {
		return append(b, known...)
	}
	start := len(b)
	var inputs []tensor.Tensor
	if w.cfg.Inputs != nil {
		inputs = w.cfg.Inputs(step)
	}
	b = appendTensors(b, inputs)
	if n := len(b) - start; n <= w.free {
		w.cache[step] = append([]byte(nil), b[start:]...)
		w.free -= n
	}
	return b
}

func (w *Writer) appendResponses(b []byte, events []record.Event, data []byte) []byte {
	if len(events) == 0 {
		return w.appendOutputs(b, nil)
	}
	for i := range events {
		if i > 0 {
			b = append(b, ',')
		}
		n := min(int(events[i].Size), len(data))
		b = w.appendOutputs(b, data[:n])
		data = data[n:]
	}
	return b
}

// appendOutputs adds one response. One that cannot be decoded counts as one without outputs: its request was
// measured and belongs into the file.
func (w *Writer) appendOutputs(b, payload []byte) []byte {
	var outputs []tensor.Tensor
	if w.cfg.Outputs != nil && len(payload) > 0 {
		if list, err := w.cfg.Outputs(payload); err == nil {
			outputs = list
		}
	}
	if len(outputs) > 0 {
		return appendTensors(b, outputs)
	}
	b = append(b, '{')
	for i, name := range w.cfg.Names {
		if i > 0 {
			b = append(b, ',')
		}
		b = tensor.AppendQuoted(b, name)
		b = append(b, `:""`...)
	}
	return append(b, '}')
}

// End closes the experiment with the edges of its windows in Unix nanoseconds. The largest integer stands for a
// window without end.
func (w *Writer) End(boundaries []int64) error {
	if !w.open {
		return w.err
	}
	b := w.buf
	b = append(b, `],"window_boundaries":[`...)
	for i, t := range boundaries {
		if i > 0 {
			b = append(b, ',')
		}
		if t == math.MaxInt64 {
			b = strconv.AppendUint(b, math.MaxUint64, 10)
			continue
		}
		b = strconv.AppendInt(b, t, 10)
	}
	b = append(b, `]}`...)
	w.put(b)
	w.open = false
	return w.err
}

// Commit completes the document and puts it in place. An error leaves no file.
func (w *Writer) Commit(kind plan.Kind, endpoint string) error {
	if w.open {
		_ = w.End(nil) // its error is kept
	}
	b := w.buf
	b = append(b, `],"version":`...)
	b = tensor.AppendQuoted(b, version)
	b = append(b, `,"service_kind":`...)
	b = tensor.AppendQuoted(b, string(kind))
	b = append(b, `,"endpoint":`...)
	b = tensor.AppendQuoted(b, endpoint)
	if w.Verdict != "" {
		b = append(b, `,"verdict":`...)
		b = tensor.AppendQuoted(b, w.Verdict)
	}
	b = append(b, '}')
	w.put(b)
	err := w.err
	if err == nil {
		err = w.w.Flush()
	}
	if err == nil {
		err = w.file.Commit()
	}
	if err != nil {
		w.Abort()
	}
	return err
}

// Abort removes what was written. After Commit it does nothing.
func (w *Writer) Abort() { w.file.Abort() }
