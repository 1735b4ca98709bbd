//go:build unix

package interrupt

import (
	"fmt"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/redline-bench/redline/e2e/binary"
	"github.com/redline-bench/redline/internal/testkit/disturbance"
)

// A program whose server answers, or that has sent nothing yet, ends within a second of Ctrl-C.
func TestTimedEndsWithinASecond(t *testing.T) {
	f := func(name string, begin func(t *testing.T) *program) {
		t.Run(name, func(t *testing.T) {
			disturbance.Try(t, func() error {
				p := begin(t)
				begun := time.Now()
				p.signal(t, syscall.SIGINT)
				p.ends(t)
				if took := time.Since(begun); took > time.Second {
					return fmt.Errorf("it ended %v after the signal", took)
				}
				return nil
			})
		})
	}
	// said begins a program and waits until it has printed a text.
	said := func(text string, args ...string) func(*testing.T) *program {
		return func(t *testing.T) *program {
			t.Helper()
			p := begin(t, args...)
			await(t, &p.out, text)
			return p
		}
	}
	f("while it prepares", func(t *testing.T) *program {
		t.Helper()
		address, accepted := silent(t)
		p := begin(t, "redline", "profile", "-m", "simple", "-u", address)
		accepted.wait(t, "the connection")
		return p
	})
	f("while it makes prompts", said("prompts: generated", "redline", "llm", "-m", "m", "-u", reference.Ports["openai"], "--isl", "1000000000"))
	windows := []string{"redline", "profile", "-m", "simple", "-v", "-p", "300ms", "-r", "1000", "-s", "0.000001"}
	f("closed loop", said("Pass [2]", slices.Concat(windows, []string{"-u", reference.HTTP, "--concurrency-range", "8"})...))
	f("open loop", said("Pass [2]", slices.Concat(windows, []string{"-i", "grpc", "-u", reference.GRPC, "--request-rate-range", "200"})...))
}

// begin starts a program in an empty folder.
func begin(t *testing.T, args ...string) *program {
	t.Helper()
	p := start(t, t.TempDir(), args...)
	if err := binary.StartWithHangup(p.Cmd); err != nil {
		t.Fatal(err)
	}
	return p
}
