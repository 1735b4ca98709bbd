package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/redline-bench/redline/internal/command"
	"github.com/redline-bench/redline/internal/pending"
	"github.com/redline-bench/redline/internal/secret"
)

// stream is standard output or standard error. It replaces secrets, and it remembers the first write error because most
// callers that print ignore errors.
type stream struct {
	text        *secret.Writer
	file        *os.File
	interrupted <-chan struct{}

	mu  sync.Mutex
	err error // the first one
}

// newStream makes a stream that replaces the secrets of files. An interrupt of files also ends the stream.
func newStream(f *os.File, files *pending.Output) *stream {
	s := &stream{file: f, interrupted: files.Interrupted()}
	s.text = files.Secrets().Writer(writerFunc(s.put))
	return s
}

type writerFunc func([]byte) (int, error)

// Write implements io.Writer.
func (f writerFunc) Write(b []byte) (int, error) { return f(b) }

// Write implements io.Writer.
func (s *stream) Write(b []byte) (int, error) { return s.text.Write(b) }

func (s *stream) put(b []byte) (int, error) {
	s.mu.Lock()
	given := s.err
	s.mu.Unlock()
	if errors.Is(given, pending.ErrInterrupted) {
		return 0, given
	}
	n, err := s.write(bytes.Clone(b))
	if err != nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.err == nil {
			s.err = err
		}
	}
	return n, err
}

// write waits for the reader without a limit; after an interrupt it waits at most pending.Grace.
func (s *stream) write(b []byte) (int, error) {
	type outcome struct {
		n   int
		err error
	}
	done := make(chan outcome, 1)
	go func() {
		n, err := s.file.Write(b)
		done <- outcome{n, err}
	}()
	select {
	case o := <-done:
		return o.n, o.err
	case <-s.interrupted:
	}
	select {
	case o := <-done:
		return o.n, o.err
	case <-time.After(pending.Grace):
		return 0, pending.ErrInterrupted
	}
}

// lost returns why output is missing. It is nil if the reader of a pipe or a terminal has gone, as with "| head".
func (s *stream) lost(terminal bool) error {
	_ = s.text.Flush() // put has noted its error
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed() || terminal && errors.Is(s.err, syscall.EIO) {
		return nil
	}
	return s.err
}

// closed reports whether the reader of a pipe has gone. The caller holds mu.
func (s *stream) closed() bool { return errors.Is(s.err, syscall.EPIPE) }

// closeStreams flushes the standard streams. Lost output turns a successful exit code into an error.
func closeStreams(p *command.IO, code int) int {
	if s, ok := p.Stdout.(*stream); ok {
		if err := s.lost(p.OutTerminal); err != nil && code == command.ExitOK {
			fmt.Fprintf(p.Stderr, "redline: cannot write standard output: %v\n", err)
			code = command.ExitError
		}
	}
	if s, ok := p.Stderr.(*stream); ok {
		_ = s.lost(true) // standard error cannot report its own error
	}
	return code
}

// outClosed reports whether the reader of standard output has gone.
func outClosed(p *command.IO) bool {
	s, ok := p.Stdout.(*stream)
	if !ok {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.closed()
}

// rawFile returns the file of a standard stream, for a child process that uses it too.
func rawFile(w io.Writer) io.Writer {
	if s, ok := w.(*stream); ok {
		return s.file
	}
	return w
}

// survivePipes makes a write to a closed pipe return an error. Without it SIGPIPE would end the process before its files
// are written.
func survivePipes() { signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) }
