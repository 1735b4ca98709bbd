// Package parquet writes flat tables as Parquet files, column by column.
//
// A file is a row of groups, each with one chunk a column, and a footer that says where they are. Numbers are written
// as differences, packed into as few bits as a block of them needs; texts and fractions as places in a list of the
// distinct ones, with runs of the same place written once. What is known of a table of requests, that times grow and
// most other columns hardly change, is used up by that, so nothing is compressed on top.
//
// Only what the tables here need is here: columns without nulls, no nesting, no reading. The libraries that do all of
// it bring every codec there is, a quarter of the program, and set them up at every start.
package parquet

import (
	"encoding/binary"
	"fmt"
	"io"
)

// Writer writes one file. Columns are made first; then each row is a value for every column, and EndRow. It is not
// safe for concurrent use.
type Writer struct {
	out       io.Writer
	createdBy string
	groupRows int

	columns []column
	offset  int64
	rows    int // of the group in hand
	all     int64
	groups  thrift // those written, as they stand in the footer
	count   int
	err     error
}

// The bytes at both ends of a file.
const magic = "PAR1"

// NewWriter writes to out. A group of rows is held in memory until it is full, in the form in which it is written.
func NewWriter(out io.Writer, createdBy string, groupRows int) *Writer {
	return &Writer{out: out, createdBy: createdBy, groupRows: groupRows}
}

// Int32 makes a column of numbers of 32 bits.
func (w *Writer) Int32(name string) *Ints { return w.ints(name, 32, true) }

// Int64 makes a column of numbers of 64 bits.
func (w *Writer) Int64(name string) *Ints { return w.ints(name, 64, true) }

// Uint32 makes a column of numbers of 32 bits without a sign.
func (w *Writer) Uint32(name string) *Ints { return w.ints(name, 32, false) }

// Uint64 makes a column of numbers of 64 bits without a sign.
func (w *Writer) Uint64(name string) *Ints { return w.ints(name, 64, false) }

func (w *Writer) ints(name string, bits int, signed bool) *Ints {
	c := &Ints{title: title{name}, bits: bits, signed: signed}
	w.columns = append(w.columns, c)
	return c
}

// Bool makes a column of yes and no.
func (w *Writer) Bool(name string) *Bools {
	c := &Bools{title: title{name}}
	w.columns = append(w.columns, c)
	return c
}

// Float makes a column of fractions.
func (w *Writer) Float(name string) *Floats {
	c := &Floats{title: title{name}, dict: dict[uint64]{places: map[uint64]uint32{}}}
	w.columns = append(w.columns, c)
	return c
}

// Text makes a column of texts.
func (w *Writer) Text(name string) *Texts {
	c := &Texts{title: title{name}, dict: dict[string]{places: map[string]uint32{}}}
	w.columns = append(w.columns, c)
	return c
}

// EndRow ends a row, and writes the group when it is full.
func (w *Writer) EndRow() error {
	if w.rows++; w.rows < w.groupRows {
		return w.err
	}
	return w.flush()
}

// Close writes what is left and the footer. It does not close what lies below.
func (w *Writer) Close() error {
	if err := w.flush(); err != nil {
		return err
	}
	w.begin()
	footer := w.footer()
	w.write(footer)
	w.write(binary.LittleEndian.AppendUint32(nil, uint32(len(footer))))
	w.write([]byte(magic))
	return w.err
}

func (w *Writer) begin() {
	if w.offset == 0 {
		w.write([]byte(magic))
	}
}

// write keeps the first error.
func (w *Writer) write(b []byte) {
	if w.err != nil {
		return
	}
	n, err := w.out.Write(b)
	w.offset += int64(n)
	w.err = err
}

// flush writes a group.
func (w *Writer) flush() error {
	if w.rows == 0 || w.err != nil {
		return w.err
	}
	w.begin()
	start := w.offset
	var chunks thrift
	for _, c := range w.columns {
		if n := c.len(); n != w.rows {
			w.err = fmt.Errorf("the column %s has %d values in %d rows", c.label(), n, w.rows)
			return w.err
		}
		w.chunk(&chunks, c)
	}
	w.groups.list(1, structType, len(w.columns), chunks.bytes)
	w.groups.i64(2, w.offset-start)
	w.groups.i64(3, int64(w.rows))
	w.groups.i64(5, start)
	w.groups.i64(6, w.offset-start)
	w.groups.end()
	w.all += int64(w.rows)
	w.count++
	w.rows = 0
	return w.err
}

// chunk writes the pages of a column, and adds what the footer says of them.
func (w *Writer) chunk(to *thrift, c column) {
	start, values := w.offset, c.len()
	p := c.pages()
	first := int64(0)
	if p.entries > 0 {
		w.page(dictionaryPage, p.dictionary, p.entries, plain)
		first = start
	}
	data := w.offset
	w.page(dataPage, p.data, values, p.encoding)

	var meta thrift
	meta.i32(1, int32(c.kind().physical))
	encodings := []int32{int32(p.encoding)}
	if p.entries > 0 {
		encodings = append(encodings, int32(plain))
	}
	meta.i32s(2, encodings)
	meta.texts(3, c.label())
	meta.i32(4, 0) // not compressed
	meta.i64(5, int64(values))
	meta.i64(6, w.offset-start)
	meta.i64(7, w.offset-start)
	meta.i64(9, data)
	if p.entries > 0 {
		meta.i64(11, first)
	}
	meta.end()
	to.i64(2, start)
	to.child(3, meta.bytes)
	to.end()
}

// The kinds of pages and encodings, by their numbers in the format.
const (
	dataPage       = 0
	dictionaryPage = 2

	plain           encoding = 0
	levels          encoding = 3 // of nulls, of which there are none
	deltaPacked     encoding = 5
	indexDictionary encoding = 8
)

type encoding int32

// page writes a page with its head.
func (w *Writer) page(kind int32, body []byte, values int, e encoding) {
	var head, sub thrift
	head.i32(1, kind)
	head.i32(2, int32(len(body)))
	head.i32(3, int32(len(body)))
	sub.i32(1, int32(values))
	sub.i32(2, int32(e))
	if kind == dataPage {
		sub.i32(3, int32(levels))
		sub.i32(4, int32(levels))
		sub.end()
		head.child(5, sub.bytes)
	} else {
		sub.end()
		head.child(7, sub.bytes)
	}
	head.end()
	w.write(head.bytes)
	w.write(body)
}

// footer tells what the file holds.
func (w *Writer) footer() []byte {
	var schema thrift
	schema.text(4, "row")
	schema.i32(5, int32(len(w.columns)))
	schema.end()
	for _, c := range w.columns {
		k := c.kind()
		schema.i32(1, int32(k.physical))
		schema.i32(3, 0) // required
		schema.text(4, c.label())
		if k.converted >= 0 {
			schema.i32(6, int32(k.converted))
		}
		if k.logical != nil {
			schema.child(10, k.logical)
		}
		schema.end()
	}
	var f thrift
	f.i32(1, 1)
	f.list(2, structType, 1+len(w.columns), schema.bytes)
	f.i64(3, w.all)
	f.list(4, structType, w.count, w.groups.bytes)
	f.text(6, w.createdBy)
	f.end()
	return f.bytes
}
