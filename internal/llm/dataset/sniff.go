package dataset

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// keys are the fields that are tried in turn for the prompt, if none is named.
var keys = []string{"input", "prompt", "text", "question", "instruction"}

// layout is what was detected about a file before its records are read.
type layout struct {
	format Format
	box    container
	head   []string // of a table
}

// sniff detects the format and the container of a file from its start. A named format is kept.
func sniff(path string, want Format, key string) (layout, error) {
	f, err := os.Open(path)
	if err != nil {
		return layout{}, fmt.Errorf("open the prompts: %w", err)
	}
	defer f.Close()
	l := layout{format: want}
	ext := strings.ToLower(filepath.Ext(path))
	switch {
	case want == Text || want == "" && (ext == ".txt" || ext == ".text"):
		l.format = Text
		return l, nil
	case want == CSV || want == BurstGPT || want == "" && (ext == ".csv" || ext == ".tsv"):
		return sniffTable(f, l)
	}
	first, box, err := firstRecord(f)
	if err != nil {
		return l, fmt.Errorf("%s: %w", path, err)
	}
	l.box = box
	if l.format != "" {
		return l, nil
	}
	if len(first) == 0 {
		return l, fmt.Errorf("the file of prompts %s has no prompt", path)
	}
	if first[0] != '{' {
		return l, fmt.Errorf("%s: line 1: expected one JSON object per line; name the format of the file with --custom-dataset-type (%s)", path, "text for plain lines, csv for a table")
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(first, &fields); err != nil {
		return l, fmt.Errorf("%s: line 1: expected one JSON object per line: %w", path, jsonError(err))
	}
	l.format = guess(fields, box, key)
	if l.format == "" && key != "" {
		return l, fmt.Errorf("%s: line 1: expected the prompt in the field %q, found %s; name it with --input-key", path, key, strings.Join(names(fields), ", "))
	}
	if l.format == "" {
		return l, fmt.Errorf("%s: line 1: no known format has the fields %s; name the prompt's field with --input-key, or the format with --custom-dataset-type",
			path, strings.Join(names(fields), ", "))
	}
	return l, nil
}

func sniffTable(f io.Reader, l layout) (layout, error) {
	l.box = table
	s := &rowScanner{r: newCSV(f)}
	if _, err := s.scan(); err != nil && !errors.Is(err, io.EOF) && s.head == nil {
		return l, fmt.Errorf("line 1: expected the names of the columns: %w", err)
	}
	l.head = s.head
	if l.format == "" {
		l.format = CSV
		if !slices.ContainsFunc(burstColumns, func(name string) bool { return !slices.Contains(l.head, name) }) {
			l.format = BurstGPT
		}
	}
	return l, nil
}

// firstRecord returns the first record of a JSON file, and the container.
func firstRecord(f io.ReadSeeker) ([]byte, container, error) {
	c, err := firstByte(f)
	if err != nil || c == 0 {
		return nil, lines, err
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return nil, lines, err
	}
	if c == '[' {
		first, err := firstOf(f, elements)
		return first, elements, err
	}
	first, err := firstOf(f, lines)
	if err != nil {
		return nil, lines, err
	}
	whole := json.Valid(first)
	if whole && !hasData(first) || !bytes.HasPrefix(first, []byte("{")) {
		return first, lines, nil
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return nil, lines, err
	}
	element, err := firstOf(f, elements)
	if err == nil || whole {
		return element, elements, err
	}
	return first, lines, nil // an invalid line, not a document; the reader reports it with its number
}

// hasData reports whether the text is a document with an array of records, not a record.
func hasData(first []byte) bool {
	var doc struct {
		Data []json.RawMessage `json:"data"`
	}
	return json.Unmarshal(first, &doc) == nil && doc.Data != nil
}

// firstByte is the first byte that is not white space; 0 if there is none.
func firstByte(f io.Reader) (byte, error) {
	r := bufio.NewReaderSize(skipMark(f), 64<<10)
	for {
		c, err := r.ReadByte()
		switch {
		case errors.Is(err, io.EOF):
			return 0, nil
		case err != nil:
			return 0, err
		case c != ' ' && c != '\t' && c != '\r' && c != '\n':
			return c, nil
		}
	}
}

func firstOf(f io.Reader, c container) ([]byte, error) {
	r, err := c.open(f, nil).scan()
	if errors.Is(err, io.EOF) {
		return nil, nil
	}
	return bytes.Clone(r.raw), err
}

// guess detects the format from the fields of the first record.
func guess(f map[string]json.RawMessage, box container, key string) Format {
	has := func(names ...string) bool {
		return slices.ContainsFunc(names, func(name string) bool { return f[name] != nil })
	}
	if has("chat_id") && has("parent_chat_id") && has("input_length") { // its type is the kind of the question
		return Bailian
	}
	if has("captureData") && has("eventMetadata") {
		return SageMaker
	}
	var named string
	if json.Unmarshal(f["type"], &named) == nil {
		if form, err := ParseFormat(named); err == nil && form != "" {
			return form
		}
	}
	switch {
	case key != "" && has(key):
		return Prompts
	case has("payloads"):
		return Inputs
	case has("turns"):
		return Multi
	case has("conversations", "conversation"):
		return ShareGPT
	case box == elements && len(f) == 0, box == elements && isList(f["payload"]), box == elements && isList(f["text_input"]), box == elements && has("content", "shape"):
		return PAInputs
	case has("body") && has("custom_id", "method", "url"):
		return Messages
	case has("input_length", "hash_ids", "text_input", "payload"):
		return Mooncake
	case has("messages"):
		return guessChat(has)
	case has("text", "texts", "image", "images", "audio", "audios", "video", "videos"):
		return Single
	case has("prompt") && has("model", "max_tokens", "stream", "temperature"):
		return RawBody
	case key == "" && has(keys...):
		return Prompts
	case box == elements:
		return PAInputs
	}
	return ""
}

// guessChat distinguishes the formats with messages.
func guessChat(has func(...string) bool) Format {
	switch {
	case has("timestamp", "delay", "output_length", "session_id"):
		return Mooncake
	case has("model", "stream", "temperature"):
		return RawBody
	}
	return Messages
}

func isList(raw json.RawMessage) bool { return len(raw) > 0 && raw[0] == '[' }
