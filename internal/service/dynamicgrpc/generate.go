package dynamicgrpc

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os/exec"
	"sync/atomic"
	"time"
)

// What a generator may cost. A generator that writes nothing for stall is given up; patience of a minute lets
// interpreters start on a busy machine.
const (
	stall       = time.Minute
	outputLimit = 1 << 30
	stderrLimit = 4 << 10
)

// lengthSize is the size of the length before each message, in the machine's byte order.
const lengthSize = 4

// GeneratorError says why a message generator's output cannot be used.
type GeneratorError struct {
	Command string
	Text    string
	Err     error // the cause, if any
	// Said is the end of what the command wrote to its stderr, and Empty tells that it ended without any whole message.
	Said  string
	Empty bool
}

func (e *GeneratorError) Error() string {
	return fmt.Sprintf("message generator %q: %s", e.Command, e.Text)
}

func (e *GeneratorError) Unwrap() error { return e.Err }

// generate runs a command through the shell and returns the messages that it writes, and the end of what it says on its
// stderr. Its errors are of type *GeneratorError; beside one there are messages where the command failed after it had
// written them whole.
func generate(command string, patience time.Duration) (messages [][]byte, said string, err error) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	cmd := exec.CommandContext(ctx, "sh", "-c", command)
	out := &collector{limit: outputLimit, patience: patience}
	var stalled atomic.Bool
	out.timer = time.AfterFunc(patience, func() {
		stalled.Store(true)
		cancel()
	})
	defer out.timer.Stop()
	words := &tail{}
	cmd.Stdout, cmd.Stderr = out, words
	cmd.WaitDelay = time.Second // a grandchild may hold the pipe after the shell is gone
	err = cmd.Run()
	said = string(bytes.TrimSpace(words.b))
	fail := func(format string, args ...any) ([][]byte, string, error) {
		return nil, said, &GeneratorError{
			Command: command, Text: fmt.Sprintf(format, args...) + words.quote(), Err: err,
			Said: said, Empty: !stalled.Load() && !out.full && noneWhole(out.buf.Bytes()),
		}
	}
	switch {
	case out.full:
		return fail("it wrote more than %d MiB: it must end by itself", outputLimit>>20)
	case stalled.Load():
		return fail("it wrote nothing for %v and was stopped: it must write its messages and end", patience)
	}
	messages, why := split(out.buf.Bytes())
	if err != nil && !errors.Is(err, exec.ErrWaitDelay) {
		_, said, err = fail("%v", err)
		return messages, said, err
	}
	if why != "" {
		return fail("%s", why)
	}
	return messages, said, nil
}

// split cuts a generator's output into messages, which share its memory; why tells what is wrong with it.
func split(b []byte) (messages [][]byte, why string) {
	const hint = ": each message needs its length before it, 4 bytes in this machine's byte order"
	for len(b) > 0 {
		nth := len(messages) + 1
		if len(b) < lengthSize {
			return nil, fmt.Sprintf("its output ends inside the length of message %d, after %d of 4 bytes%s", nth, len(b), hint)
		}
		size := uint64(binary.NativeEndian.Uint32(b))
		b = b[lengthSize:]
		if size > uint64(len(b)) {
			return nil, fmt.Sprintf("message %d should have %d bytes, but only %d came%s", nth, size, len(b), hint)
		}
		messages = append(messages, b[:size:size])
		b = b[size:]
	}
	if len(messages) == 0 {
		return nil, "it wrote no message"
	}
	return messages, ""
}

// noneWhole tells whether not even the first message of a generator's output is whole.
func noneWhole(b []byte) bool {
	return len(b) < lengthSize || uint64(binary.NativeEndian.Uint32(b)) > uint64(len(b)-lengthSize)
}

// collector keeps what is written to it, up to a limit, and notes when it was.
type collector struct {
	buf      bytes.Buffer
	limit    int
	full     bool
	patience time.Duration
	timer    *time.Timer
}

var errFull = errors.New("too much output")

func (c *collector) Write(p []byte) (int, error) {
	c.timer.Reset(c.patience)
	if c.buf.Len()+len(p) > c.limit {
		c.full = true
		return 0, errFull
	}
	return c.buf.Write(p)
}

// tail keeps the last of what is written to it: the end of a program's complaints says the most.
type tail struct{ b []byte }

func (t *tail) Write(p []byte) (int, error) {
	t.b = append(t.b, p...)
	if n := len(t.b) - stderrLimit; n > 0 {
		t.b = append(t.b[:0], t.b[n:]...)
	}
	return len(p), nil
}

// quote is the last line, for the end of a message.
func (t *tail) quote() string {
	text := bytes.TrimSpace(t.b)
	if i := bytes.LastIndexByte(text, '\n'); i >= 0 {
		text = text[i+1:]
	}
	if len(text) == 0 {
		return ""
	}
	return fmt.Sprintf(" (it said: %s)", text)
}
