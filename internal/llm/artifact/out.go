package artifact

import (
	"bufio"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"strconv"
	"syscall"

	"github.com/redline-bench/redline/internal/llm"
	"github.com/redline-bench/redline/internal/llm/metric"
	"github.com/redline-bench/redline/internal/pending"
	"github.com/redline-bench/redline/internal/tensor"
)

// out is a file that appears when it is complete. Sinks embed it.
type out struct {
	f   *pending.File
	w   *bufio.Writer
	buf []byte // one record while it is encoded
}

// create makes the temporary file of a text.
func create(cfg *Config, name string) (*out, error) { return createWith(cfg, name, cfg.Output.Create) }

func createWith(cfg *Config, name string, begin func(string) (*pending.File, error)) (*out, error) {
	path := filepath.Join(cfg.Dir, name)
	f, err := begin(path)
	if err != nil {
		return nil, fmt.Errorf("cannot write %s: %w", path, err)
	}
	return &out{f: f, w: bufio.NewWriterSize(f, 128<<10)}, nil
}

// put writes an encoded record and keeps its memory.
func (o *out) put(b []byte) error {
	_, err := o.w.Write(b)
	o.buf = b[:0]
	if cap(o.buf) > 4<<20 {
		o.buf = nil // the memory of one huge response is not kept
	}
	return o.named(err)
}

// named adds the user's path to an error.
func (o *out) named(err error) error {
	if err == nil {
		return nil
	}
	if cause, ok := errors.AsType[syscall.Errno](err); ok {
		err = cause // without the temporary file's name
	}
	return fmt.Errorf("%s is lost: %w", o.f.Path(), err)
}

// commit puts the file in place.
func (o *out) commit() error {
	err := o.w.Flush()
	if err == nil {
		err = o.f.Commit()
	}
	if err != nil {
		o.abort()
	}
	return o.named(err)
}

// finish writes the end of the file and puts it in place. An error leaves no file.
func (o *out) finish(b []byte) error {
	if err := o.put(b); err != nil {
		o.abort()
		return err
	}
	return o.commit()
}

// sample does nothing: a file that shows every request has its own.
func (o *out) sample(*llm.Sample, *metric.Values, bool) error { return nil }

// abort removes the file. After commit it does nothing.
func (o *out) abort() {
	if o != nil {
		o.f.Abort()
	}
}

// named applies the prefix of the config to a file's name, as AIPerf does for all files of an export.
func (c *Config) named(def, suffix string) string {
	if c.Prefix == "" {
		return def
	}
	return c.Prefix + suffix
}

// appendComma separates members and elements: it adds a comma unless b begins an object or an array.
func appendComma(b []byte) []byte {
	if n := len(b); n > 0 && b[n-1] != '{' && b[n-1] != '[' {
		b = append(b, ',')
	}
	return b
}

// appendName begins a member of an object. The functions below add whole members.
func appendName(b []byte, name string) []byte {
	b = append(appendComma(b), '"')
	b = append(b, name...)
	return append(b, '"', ':')
}

func appendText[S ~string | ~[]byte](b []byte, name string, text S) []byte {
	return tensor.AppendQuoted(appendName(b, name), text)
}

func appendInt(b []byte, name string, n int64) []byte {
	return strconv.AppendInt(appendName(b, name), n, 10)
}

// appendNumber adds a number as the shortest text that reads the same. JSON has no infinity and no NaN.
func appendNumber(b []byte, v float64) []byte {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return append(b, "null"...)
	}
	if v == math.Trunc(v) && math.Abs(v) < 1e15 {
		b = strconv.AppendInt(b, int64(v), 10)
		return append(b, '.', '0')
	}
	return strconv.AppendFloat(b, v, 'g', -1, 64)
}
