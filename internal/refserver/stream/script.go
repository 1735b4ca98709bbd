// Package stream writes server-sent events, well or badly, and notes when each left.
//
// A client of a stream must cope with whatever is allowed and must notice whatever is not. So a request may ask, in the
// header X-Redline-Stream, for a stream of a certain kind: NAME or NAME=VALUE, several with commas between. Some change how
// events are written and work for every stream; the others change what a language model says.
//
//	split[=N]      every N bytes (1) are a write of their own
//	merge=N        N events are one write
//	crlf, cr       how lines end
//	comments       a comment before each event
//	fields         each event has an id, a retry time and a field that nobody knows
//	lines          the data of an event on two lines
//	bare           no space after "data:"
//	bom            a byte order mark in front of everything
//	big[=N]        events of at least N bytes (1000000)
//	gzip           compressed, flushed after each event
//	cut=N          the connection ends after N events
//	error=N        an error after N tokens, or N events if there are no tokens
//	stop=N         the stream ends after N tokens, as if it were complete, but without what ends it
//	empty          a stream without events
//	nodone         no [DONE] at the end
//	status=N       no stream at all: this HTTP status
//	ping[=TIME]    a comment whenever nothing was said for so long (10ms)
//	chunk=N        N tokens an event
//	role           an event with the role alone comes before the first token
//	usage          usage in every event
//	reasoning[=N]  the first N tokens (half of them) are reasoning
//	cached=N       so many tokens of the prompt were in the cache
package stream

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Header is where a request asks for a kind of stream.
const Header = "X-Redline-Stream"

// Script says how a stream is to be. The zero value of New is one that every client likes.
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

// Plain is a stream as it should be.
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
				return fmt.Errorf("ping needs a time, as 10ms")
			}
		}
	default:
		return fmt.Errorf("no such kind of stream; see docs/refserver.md")
	}
	return nil
}

func (s *Script) switches() map[string]*bool {
	return map[string]*bool{
		"comments": &s.Comments, "fields": &s.Fields, "lines": &s.Lines, "bare": &s.Bare, "bom": &s.BOM, "gzip": &s.Gzip,
		"empty": &s.Empty, "nodone": &s.NoDone, "role": &s.Role, "usage": &s.Usage,
	}
}

// number is a setting with a number: what it is without one, and whether it may be without one.
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
