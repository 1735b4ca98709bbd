// Package records writes every request of a run to a file, one row each, as Parquet or CSV, or as histograms over time in
// HdrHistogram's log format. The ending of the file name selects the format.
//
// Rows are written during the run, and memory does not grow. Times are nanoseconds since the start of the first row's level;
// the column wall_ns is the Unix time of the send. Until Close the data is in a temporary file; Abort removes it.
package records

import (
	"bufio"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/redline-bench/redline/internal/clock"
	"github.com/redline-bench/redline/internal/pending"
	"github.com/redline-bench/redline/internal/record"
)

// Level is the level of a record: the mode and value of the load (concurrency 4, request_rate 100), and the window of the
// measurement, from 0; -1 for none.
type Level struct {
	Mode   string
	Value  float64
	Window int
	// FromDue: the reported latency starts at the due time.
	FromDue bool
}

// begin returns the start of a request's latency, as in the report.
func (l *Level) begin(r *record.Record) int64 {
	if l.FromDue && r.Due > 0 {
		return r.Due
	}
	return r.Sent
}

// Writer writes one file. It is not safe for concurrent use. After an error every call returns that error.
type Writer struct {
	file *pending.File
	buf  *bufio.Writer
	enc  encoder
	last Level // of the current record
	zero int64 // reading of the clock that is time 0; set by the first record
	open bool
	err  error
}

// encoder writes one file format.
type encoder interface {
	// add encodes a record; times count from zero.
	add(l *Level, r *record.Record, zero int64) error
	close() error
}

// Create makes the temporary file beside path, so that a folder without write permission is found before the load starts. The
// ending of path must be .parquet, .csv or .hlog.
func Create(out *pending.Output, path, version string) (*Writer, error) {
	ext := strings.ToLower(filepath.Ext(path))
	if ext != ".parquet" && ext != ".csv" && ext != ".hlog" {
		return nil, fmt.Errorf("cannot write the records %s: its name must end with .parquet, .csv or .hlog", path)
	}
	create := out.Create
	if ext == ".parquet" {
		create = out.CreateBinary // it contains no text of the user or the server
	}
	f, err := create(path)
	if err != nil {
		return nil, fmt.Errorf("cannot write the records %s: %w", path, err)
	}
	w := &Writer{file: f, buf: bufio.NewWriterSize(f, 256<<10)}
	switch ext {
	case ".parquet":
		w.enc = newParquet(w.buf, version)
	case ".csv":
		w.enc = newCSV(w.buf)
	default:
		w.enc = newLog(w.buf)
	}
	return w, nil
}

// Add writes one record.
func (w *Writer) Add(l Level, r *record.Record) error {
	if w.err != nil {
		return w.err
	}
	if !w.open {
		w.open, w.zero = true, min(r.Due, r.Sent)
		if r.Due == 0 {
			w.zero = r.Sent
		}
	}
	w.last = l
	w.err = w.enc.add(&w.last, r, w.zero)
	return w.err
}

// Close completes the file and puts it in place. An error leaves no file.
func (w *Writer) Close() error {
	if w.file.Done() {
		return w.err
	}
	err := w.err
	for _, step := range []func() error{w.enc.close, w.buf.Flush, w.file.Commit} {
		if err == nil {
			err = step()
		}
	}
	if err != nil {
		w.Abort()
	}
	return err
}

// Abort removes the temporary file. After Close it does nothing.
func (w *Writer) Abort() { w.file.Abort() }

// row is one record in the form of the file.
type row struct {
	WallNs    int64   `parquet:"wall_ns,delta"`
	DueNs     int64   `parquet:"due_ns,delta"`
	SentNs    int64   `parquet:"sent_ns,delta"`
	WrittenNs int64   `parquet:"written_ns,delta"`
	FirstNs   int64   `parquet:"first_ns,delta"`
	EndNs     int64   `parquet:"end_ns,delta"`
	LatencyNs int64   `parquet:"latency_ns,delta"`
	Class     string  `parquet:"class,dict"`
	BytesOut  int64   `parquet:"request_bytes,delta"`
	BytesIn   int64   `parquet:"answer_bytes,delta"`
	Step      int32   `parquet:"step,delta"`
	Slot      int32   `parquet:"slot,delta"`
	Sequence  int64   `parquet:"sequence,delta"`
	Responses int32   `parquet:"responses,delta"`
	Delayed   bool    `parquet:"delayed"`
	Mode      string  `parquet:"mode,dict"`
	Level     float64 `parquet:"level,dict"`
	Window    int32   `parquet:"window,delta"`
}

// rowOf returns the row of a record. The time of something that did not happen, such as the first byte of a failed request, is
// -1.
func rowOf(l *Level, r *record.Record, zero int64) row {
	since := func(t int64) int64 {
		if t == 0 {
			return -1
		}
		return t - zero
	}
	return row{
		WallNs: clock.Wall(r.Sent), DueNs: since(r.Due), SentNs: since(r.Sent), WrittenNs: since(r.Written), FirstNs: since(r.First), EndNs: since(r.End),
		LatencyNs: r.Latency(), Class: r.Class.String(), BytesOut: int64(r.Out), BytesIn: int64(r.In), Step: int32(r.Step), Slot: int32(r.Slot),
		Sequence: int64(r.SeqID), Responses: int32(r.Responses), Delayed: r.Flags&record.Delayed != 0, Mode: l.Mode, Level: l.Value, Window: int32(l.Window),
	}
}
