// Package stream writes server-sent events, valid or invalid, and records when each was written.
//
// A client must accept every valid stream and detect every invalid one. Therefore the header X-Redline-Stream of a request
// selects the kind of stream: NAME or NAME=VALUE, several separated by commas; docs/refserver.md lists them. Some kinds change how
// events are written and work for every stream; the others change the events of a language model.
package stream

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Header is the header by which a request selects a kind of stream.
const Header = "X-Redline-Stream"

// Script is the form of a stream. Plain returns that of a valid stream.
type Script struct {
	// How events are written.
	Split, Merge, Big   int
	EOL                 string
	Comments, Fields    bool
	Lines, Bare, BOM    bool
	Gzip, Empty, NoDone bool
	Cut                 int // events; negative for never
	Fail                int // tokens or events before an error; negative for never
	Stop                int // tokens or events before an end; negative for never
	Status              int
	Ping                time.Duration
	Chunk               int
	Role, Usage         bool
	Reasoning           int // tokens; -1 for half of them, less for none
	Cached              int
}

// Plain returns the script of a valid stream.
func Plain() Script { return Script{EOL: "\n", Cut: -1, Fail: -1, Stop: -1, Chunk: 1, Reasoning: -2} }

// Parse reads a script.
func Parse(text string) (Script, error) {
	s := Plain()
	for item := range strings.SplitSeq(text, ",") {
		if item = strings.TrimSpace(item); item == "" {
			continue
		}
		name, value, given := strings.Cut(item, "=")
		if err := s.set(name, value, given); err != nil {
			return s, fmt.Errorf("%s: cannot read %q: %w", Header, item, err)
		}
	}
	return s, nil
}

func (s *Script) set(name, value string, given bool) error {
	if n := s.numbers()[name]; n.to != nil && (given || n.usual == needed) {
		v, err := strconv.Atoi(value)
		if err != nil || v < n.least {
			return fmt.Errorf("%s needs a number of at least %d", name, n.least)
		}
		*n.to = v
		return nil
	} else if n.to != nil {
		*n.to = n.usual
		return nil
	}
	to := s.switches()[name]
	switch {
	case name == "ping" && !given:
		s.Ping = 10 * time.Millisecond
	case name == "ping":
		var err error
		if s.Ping, err = time.ParseDuration(value); err != nil || s.Ping <= 0 {
			return fmt.Errorf("ping needs a time, such as 10ms")
		}
	case given:
		return fmt.Errorf("it is no kind of stream with a value; see docs/refserver.md")
	case to != nil:
		*to = true
	case name == "crlf":
		s.EOL = "\r\n"
	case name == "cr":
		s.EOL = "\r"
	default:
		return fmt.Errorf("unknown kind of stream; see docs/refserver.md")
	}
	return nil
}

func (s *Script) switches() map[string]*bool {
	return map[string]*bool{
		"comments": &s.Comments, "fields": &s.Fields, "lines": &s.Lines, "bare": &s.Bare, "bom": &s.BOM, "gzip": &s.Gzip,
		"empty": &s.Empty, "nodone": &s.NoDone, "role": &s.Role, "usage": &s.Usage,
	}
}

// number is a setting with a number: its usual value, or needed, and its smallest.
type number struct {
	to           *int
	usual, least int
}

const needed = -3

func (s *Script) numbers() map[string]number {
	return map[string]number{
		"split": {&s.Split, 1, 1}, "merge": {&s.Merge, needed, 1}, "big": {&s.Big, 1000000, 1}, "cut": {&s.Cut, needed, 0},
		"error": {&s.Fail, needed, 0}, "stop": {&s.Stop, needed, 0}, "status": {&s.Status, needed, 100}, "chunk": {&s.Chunk, needed, 1},
		"reasoning": {&s.Reasoning, -1, 0}, "cached": {&s.Cached, needed, 0},
	}
}
