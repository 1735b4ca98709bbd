// Package fault makes the server fail on demand, so that clients can be tested with the faults of real servers.
//
// A fault is requested by the name of a model at start, or by a request itself in the header (or gRPC metadata)
// x-redline-fault. Both are written KIND[,every=N][,for=TIME]: with every=N only each n-th request is hit. A TIME without a unit is in
// milliseconds. docs/refserver.md lists the kinds.
package fault

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/redline-bench/redline/internal/refserver/conns"
	"github.com/redline-bench/redline/internal/refserver/pause"
)

// Header is the header by which a request selects a fault.
const Header = "X-Redline-Fault"

var kinds = []string{"error", "delay", "hang", "reset", "truncate", "length", "malformed", "slow", "goaway", "refuse", "die"}

// Text is the message of a fault.
const Text = "fault: failed on purpose"

// Spec is one fault.
type Spec struct {
	Kind  string
	Every int
	For   time.Duration
	seen  atomic.Int64
}

// Parse reads KIND[,every=N][,for=TIME].
func Parse(text string) (*Spec, error) {
	parts := strings.Split(text, ",")
	s := &Spec{Kind: parts[0], Every: 1, For: 100 * time.Millisecond}
	if s.Kind == "slow" {
		s.For = 10 * time.Millisecond
	}
	if !slices.Contains(kinds, s.Kind) {
		return nil, fmt.Errorf("unknown fault %q; use one of %v", parts[0], kinds)
	}
	for _, p := range parts[1:] {
		name, value, _ := strings.Cut(p, "=")
		var err error
		switch name {
		case "every":
			s.Every, err = strconv.Atoi(value)
		case "for":
			s.For, err = length(value)
		default:
			err = fmt.Errorf("unknown setting")
		}
		if err != nil || s.Every < 1 || s.For <= 0 {
			return nil, fmt.Errorf("fault %q: cannot read %q; write KIND[,every=N][,for=TIME]", text, p)
		}
	}
	return s, nil
}

// length reads a time; a number without a unit is in milliseconds, as that of --delay.
func length(text string) (time.Duration, error) {
	if ms, err := strconv.ParseFloat(text, 64); err == nil && ms >= 0 && ms < 1e12 {
		return time.Duration(ms * float64(time.Millisecond)), nil
	}
	return time.ParseDuration(text)
}

// Set is the faults of one server.
type Set struct {
	models map[string]*Spec
	clock  *pause.Clock
	board  *conns.Board
	die    func()
}

// New makes a set from specs by model; "*" hits all models. die ends the server's process.
func New(specs map[string]string, clock *pause.Clock, board *conns.Board, die func()) (*Set, error) {
	if die == nil {
		die = func() {}
	}
	s := &Set{models: map[string]*Spec{}, clock: clock, board: board, die: die}
	for model, text := range specs {
		spec, err := Parse(text)
		if err != nil {
			return nil, err
		}
		s.models[model] = spec
	}
	return s, nil
}

// find returns the fault of a request: from its header, for its model, or for all models. nil if it has none.
func (s *Set) find(model, header string) (*Spec, error) {
	if header != "" {
		return Parse(header)
	}
	for _, name := range []string{model, "*"} {
		if spec := s.models[name]; spec != nil && spec.seen.Add(1)%int64(spec.Every) == 0 {
			return spec, nil
		}
	}
	return nil, nil // no fault is not an error
}
