package run

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"sync"

	"github.com/redline-bench/redline/internal/command"
	"github.com/redline-bench/redline/internal/command/class"
	"github.com/redline-bench/redline/internal/fleet"
	"github.com/redline-bench/redline/internal/scenario"
)

// member is a class of the scenario that runs.
type member struct {
	*scenario.Class
	load  class.Class
	fleet *fleet.Run   // makes its load; nil if this process does
	text  bytes.Buffer // its report
	out   class.Outcome
}

// quiet is the process as a class sees it: what it prints is kept until all classes have ended, and warnings have its name.
func (m *member) quiet(r *run) *command.IO {
	p := *r.IO
	p.Stdout, p.Line = &m.text, nil
	p.Stderr = &named{to: r.Stderr, name: "class " + m.Name + ": "}
	return &p
}

// named puts a name before each line.
type named struct {
	to   io.Writer
	name string

	mu   sync.Mutex
	line []byte
}

// Write implements io.Writer. It writes whole lines.
func (n *named) Write(b []byte) (int, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.line = append(n.line, b...)
	for {
		i := bytes.IndexByte(n.line, '\n')
		if i < 0 {
			return len(b), nil
		}
		if _, err := fmt.Fprintf(n.to, "%s%s\n", n.name, n.line[:i]); err != nil {
			return 0, err
		}
		n.line = n.line[i+1:]
	}
}

// start is where classes wait for each other before they measure.
type start struct {
	mu      sync.Mutex
	missing map[*member]bool // neither ready nor at their end
	open    chan struct{}
	begin   func() int64 // called once, when all are ready; it returns the time at which all begin
	at      int64
}

func newStart(all []*member, begin func() int64) *start {
	s := &start{missing: map[*member]bool{}, open: make(chan struct{}), begin: begin}
	for _, m := range all {
		s.missing[m] = true
	}
	return s
}

// arrive notes that a class is ready, or that it has ended. The last one opens the start for all.
func (s *start) arrive(m *member) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.missing[m] {
		return
	}
	if delete(s.missing, m); len(s.missing) == 0 {
		s.at = s.begin()
		close(s.open)
	}
}

// wait notes that a class is ready, and returns when all are, with the time at which they begin, or when ctx ends.
func (s *start) wait(ctx context.Context, m *member) (at int64, err error) {
	s.arrive(m)
	select {
	case <-s.open:
		return s.at, nil
	case <-ctx.Done():
		return 0, ctx.Err()
	}
}
