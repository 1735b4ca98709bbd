// Package stream writes server-sent events, valid or invalid, and records when each was written.
//
// A client must accept every valid stream and detect every invalid one. Therefore the header X-Redline-Stream of a request
// selects the kind of stream: NAME or NAME=VALUE, several separated by commas. Some kinds change how events are written and
// work for every stream; the others change the events of a language model.
//
//	split[=N]      write every N bytes (1) separately
//	merge=N        write N events at once
//	crlf, cr       how lines end
//	comments       a comment before each event
//	fields         each event has an id, a retry time and an unknown field
//	lines          the data of an event on two lines
//	bare           no space after "data:"
//	bom            a byte order mark at the start
//	big[=N]        events of at least N bytes (1000000)
//	gzip           compressed, flushed after each event
//	cut=N          the connection ends after N events
//	error=N        an error after N tokens, or N events if there are no tokens
//	stop=N         the stream ends after N tokens, without finish reason and without [DONE]
//	empty          a stream without events
//	nodone         no [DONE] at the end
//	status=N       no stream at all: this HTTP status
//	ping[=TIME]    a comment after each TIME (10ms) without an event
//	chunk=N        N tokens per event
//	role           an event with only the role before the first token
//	usage          usage in every event
//	reasoning[=N]  the first N tokens (half of them) are reasoning
//	cached=N       the usage reports N prompt tokens from the cache
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
	Split, Merge, Big           int
	EOL                         string
	Comments, Fields            bool
	Lines, Bare, BOM            bool
	Gzip, Empty, NoDone         bool
	Cut                         int // events; negative for never
	Fail                        int // tokens or events before an error; negative for never
	Stop                        int // tokens or events before an end; negative for never
	Status                      int
	Ping                        time.Duration
	Chunk                       int
	Role, Usage                 bool
	Reasoning                   int // tokens; negative for half of them
	Cached                      int
	HasReasoning, HasCached, on bool
}

// Plain returns the script of a valid stream.
func Plain() Script { return Script{EOL: "\n", Cut: -1, Fail: -1, Stop: -1, Chunk: 1} }

// Parse reads a script.
func Parse(text string) (Script, error) {
	s := Plain()
	for item := range strings.SplitSeq(text, ",") {
		item = strings.TrimSpace(item)
		if item == "" {
			continue
		}
		name, value, given := strings.Cut(item, "=")
		if err := s.set(name, value, given); err != nil {
			return s, fmt.Errorf("%s: cannot read %q: %w", Header, item, err)
		}
		s.on = true
	}
	return s, nil
}

func (s *Script) set(name, value string, given bool) error {
	if to := s.switches()[name]; to != nil {
		if given {
			return fmt.Errorf("%s takes no value", name)
		}
		*to = true
		return nil
	}
	if n := s.numbers()[name]; n.to != nil {
		*n.to = n.usual
		if given || n.needed {
			v, err := strconv.Atoi(value)
			if err != nil || v < n.least {
				return fmt.Errorf("%s needs a number of at least %d", name, n.least)
			}
			*n.to = v
		}
		s.HasReasoning = s.HasReasoning || name == "reasoning"
		s.HasCached = s.HasCached || name == "cached"
		return nil
	}
	switch {
	case name == "crlf" && !given:
		s.EOL = "\r\n"
	case name == "cr" && !given:
		s.EOL = "\r"
	case name == "ping":
		s.Ping = 10 * time.Millisecond
		if given {
			var err error
			if s.Ping, err = time.ParseDuration(value); err != nil || s.Ping <= 0 {
				return fmt.Errorf("ping needs a time, such as 10ms")
			}
		}
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

// number is a setting with a number: its default, its smallest value, and whether a number is required.
type number struct {
	to           *int
	usual, least int
	needed       bool
}

func (s *Script) numbers() map[string]number {
	return map[string]number{
		"split": {&s.Split, 1, 1, false}, "merge": {&s.Merge, 0, 1, true}, "big": {&s.Big, 1000000, 1, false},
		"cut": {&s.Cut, 0, 0, true}, "error": {&s.Fail, 0, 0, true}, "stop": {&s.Stop, 0, 0, true},
		"status": {&s.Status, 0, 100, true}, "chunk": {&s.Chunk, 1, 1, true}, "reasoning": {&s.Reasoning, -1, 0, false},
		"cached": {&s.Cached, 0, 0, true},
	}
}
