package dataset

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
)

// maxRecord limits one record of a file: a prompt with a video fits, a file without line ends does not.
const maxRecord = 512 << 20

// rec is one record of a file, with its position.
type rec struct {
	raw  []byte // valid until the next one is read
	off  int64
	size int // in the file
	line int // -1: only off is known
}

// scanner reads the records of a file in order; io.EOF ends them.
type scanner interface{ scan() (rec, error) }

// container is the kind of file: how it stores its records.
type container uint8

const (
	lines    container = iota
	table              // CSV with a head line
	elements           // a JSON document with an array of records
)

// open makes a scanner. The head is the first line of a table, which its rows need when they are read alone.
func (c container) open(r io.Reader, head []string) scanner {
	switch c {
	case table:
		return &rowScanner{r: newCSV(r), head: head}
	case elements:
		return &elementScanner{dec: json.NewDecoder(skipMark(r))}
	case lines:
	}
	return &lineScanner{r: bufio.NewReaderSize(r, 256<<10)}
}

// mark is the byte order mark that some editors write.
var mark = []byte("\xef\xbb\xbf")

func skipMark(r io.Reader) io.Reader {
	b := bufio.NewReaderSize(r, 256<<10)
	if start, err := b.Peek(3); err == nil && bytes.Equal(start, mark) {
		_, _ = b.Discard(3) // they were just peeked at
	}
	return b
}

// lineScanner gives lines without white space at their ends; empty ones are skipped.
type lineScanner struct {
	r    *bufio.Reader
	buf  []byte
	off  int64
	line int
}

func (s *lineScanner) scan() (rec, error) {
	for {
		start := s.off
		raw, err := s.read()
		if err != nil {
			return rec{line: s.line + 1}, err
		}
		s.line++
		if start == 0 {
			raw = bytes.TrimPrefix(raw, mark)
		}
		if raw = bytes.TrimSpace(raw); len(raw) > 0 {
			return rec{raw, start, int(s.off - start), s.line}, nil
		}
	}
}

// read is the next line. A last one without its end is a line.
func (s *lineScanner) read() ([]byte, error) {
	s.buf = s.buf[:0]
	for {
		part, err := s.r.ReadSlice('\n')
		s.off += int64(len(part))
		if err == nil && len(s.buf) == 0 {
			return part, nil
		}
		s.buf = append(s.buf, part...)
		switch {
		case err == nil:
			return s.buf, nil
		case errors.Is(err, bufio.ErrBufferFull):
			if len(s.buf) > maxRecord {
				return nil, fmt.Errorf("a line has more than %d bytes; the file must have one record per line", maxRecord)
			}
		case errors.Is(err, io.EOF) && len(s.buf) > 0:
			return s.buf, nil
		default:
			return nil, err
		}
	}
}

// rowScanner gives the rows of a table as JSON objects by the head line.
type rowScanner struct {
	r    *csv.Reader
	head []string
	buf  []byte
}

func newCSV(r io.Reader) *csv.Reader {
	c := csv.NewReader(skipMark(r))
	c.ReuseRecord = true
	c.LazyQuotes = true
	return c
}

func (s *rowScanner) scan() (rec, error) {
	for {
		off := s.r.InputOffset()
		row, err := s.r.Read()
		if err != nil {
			if pe, ok := errors.AsType[*csv.ParseError](err); ok {
				return rec{line: pe.StartLine}, pe.Err
			}
			return rec{}, err
		}
		if s.head == nil {
			s.head = slices.Clone(row)
			continue
		}
		line, _ := s.r.FieldPos(0)
		s.buf = appendRow(s.buf[:0], s.head, row)
		return rec{s.buf, off, int(s.r.InputOffset() - off), line}, nil
	}
}

// numeric are the columns whose values are numbers.
var numeric = []string{"timestamp", "delay", "output_length", "input_length", "max_tokens"}

func appendRow(b []byte, head, row []string) []byte {
	b = append(b, '{')
	for i, v := range row {
		if i >= len(head) || v == "" {
			continue
		}
		if len(b) > 1 {
			b = append(b, ',')
		}
		b = appendText(b, head[i])
		b = append(b, ':')
		if _, err := strconv.ParseFloat(v, 64); err == nil && slices.Contains(numeric, head[i]) && json.Valid([]byte(v)) {
			b = append(b, v...)
			continue
		}
		b = appendText(b, v)
	}
	return append(b, '}')
}

func appendText(b []byte, s string) []byte {
	text, _ := json.Marshal(strings.ToValidUTF8(s, "\ufffd")) // a string always encodes
	return append(b, text...)
}

// elementScanner gives the elements of the array of a JSON document: the document itself, or its field data.
type elementScanner struct {
	dec  *json.Decoder
	open bool
	raw  json.RawMessage
}

func (s *elementScanner) scan() (rec, error) {
	if !s.open {
		if err := s.enter(); err != nil {
			return rec{line: -1, off: s.dec.InputOffset()}, err
		}
		s.open = true
	}
	if !s.dec.More() {
		if _, err := s.dec.Token(); err != nil {
			return rec{line: -1, off: s.dec.InputOffset()}, cut(err)
		}
		return rec{}, io.EOF
	}
	s.raw = s.raw[:0]
	if err := s.dec.Decode(&s.raw); err != nil {
		return rec{line: -1, off: s.dec.InputOffset()}, cut(err)
	}
	return rec{s.raw, s.dec.InputOffset() - int64(len(s.raw)), len(s.raw), -1}, nil
}

// cut returns a clear error for a document that is not complete.
func cut(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errors.New("the JSON document is not complete: check the file")
	}
	return err
}

// enter goes to the start of the array.
func (s *elementScanner) enter() error {
	t, err := s.dec.Token()
	if err != nil {
		return cut(err)
	}
	if t == json.Delim('[') {
		return nil
	}
	if t != json.Delim('{') {
		return errors.New(`expected a JSON array, or an object with the array "data"`)
	}
	for s.dec.More() {
		key, err := s.dec.Token()
		if err != nil {
			return cut(err)
		}
		if key != "data" {
			var skip json.RawMessage
			if err := s.dec.Decode(&skip); err != nil {
				return cut(err)
			}
			continue
		}
		if t, err = s.dec.Token(); err != nil {
			return cut(err)
		}
		if t != json.Delim('[') {
			return errors.New(`the field "data" is not an array`)
		}
		return nil
	}
	return errors.New(`the document has no array "data"`)
}

// alone parses the bytes of one record of the file.
func (c container) alone(b []byte, head []string) ([]byte, error) {
	if c != table {
		return bytes.TrimSpace(bytes.TrimPrefix(b, mark)), nil
	}
	r, err := table.open(bytes.NewReader(b), head).scan()
	return r.raw, err
}

// lineAt is the number of the line at an offset of a file, for the messages of documents.
func lineAt(path string, off int64) int {
	f, err := os.Open(path)
	if err != nil {
		return 0
	}
	defer f.Close()
	r := bufio.NewReader(io.LimitReader(f, off))
	n := 1
	for {
		part, err := r.ReadSlice('\n')
		n += bytes.Count(part, []byte{'\n'})
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			return n
		}
	}
}

// span is the position of a record.
type span struct {
	off  int64
	size int32
	conv int32 // the conversation it belongs to
	turn int32 // number of the turn, if the file has one
}

// index has the positions of each conversation's records, for files whose own order cannot be used.
type index struct {
	list   []span  // by conversation
	starts []int32 // of each conversation in list
}

func (ix *index) size() int { return len(ix.starts) }

// spans are the records of conversation i in their order.
func (ix *index) spans(i int) []span {
	end := len(ix.list)
	if i+1 < len(ix.starts) {
		end = int(ix.starts[i+1])
	}
	return ix.list[ix.starts[i]:end]
}

// buildIndex reads the file again and sorts its records by conversation, and those by their first times.
func (s *fileSource) buildIndex(ctx context.Context) (*index, error) {
	sessions := map[string]int32{}
	var firsts []time.Duration // by conversation; below 0: without a time
	var list []span
	grouped := s.l.format.grouped()
	err := s.each(ctx, io.Discard, func(r rec, it item) error {
		conv, known := int32(len(firsts)), false
		if grouped && it.session != "" {
			if conv, known = sessions[it.session]; !known {
				conv = int32(len(firsts))
				sessions[it.session] = conv
			}
			s.talks = s.talks || known && !it.alone
		}
		if !known {
			first := time.Duration(-1)
			if it.turns[0].Timed {
				first = it.turns[0].At
			}
			firsts = append(firsts, first)
			if s.times && first < 0 {
				return errUntimed
			}
		}
		list = append(list, span{r.off, int32(min(r.size, math.MaxInt32)), conv, it.turn})
		return nil
	})
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(list, func(a, b span) int {
		if c := cmp.Compare(firsts[a.conv], firsts[b.conv]); c != 0 {
			return c
		}
		return cmp.Or(cmp.Compare(a.conv, b.conv), cmp.Compare(a.turn, b.turn))
	})
	ix := &index{list: list}
	for i, sp := range list {
		if i == 0 || sp.conv != list[i-1].conv {
			ix.starts = append(ix.starts, int32(i))
		}
	}
	return ix, nil
}
