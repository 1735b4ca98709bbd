package tune

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"time"

	"github.com/redline-bench/redline/internal/cleantext"
	"github.com/redline-bench/redline/internal/command/outcome"
	"github.com/redline-bench/redline/internal/option"
	"github.com/redline-bench/redline/internal/plan"
)

// line is an error in one line.
func line(err error) string { return cleantext.Cut(cleantext.Line(err.Error()), 300) }

// shell runs a command of the user. Braces with the name of a knob stand for its value, which is quoted.
func (s *session) shell(ctx context.Context, command string, values []string) error {
	for i, v := range values {
		command = strings.ReplaceAll(command, "{"+s.space.knobs[i].Name+"}", option.ShellWord(v))
	}
	ctx, cancel := context.WithTimeout(ctx, s.opts.ready)
	defer cancel()
	cmd := exec.CommandContext(ctx, "sh", "-c", command)
	cmd.WaitDelay = time.Second // a server that the command leaves running may hold its output
	out, err := cmd.CombinedOutput()
	if err == nil || errors.Is(err, exec.ErrWaitDelay) {
		return nil
	}
	if ctx.Err() != nil {
		return fmt.Errorf("'%s' did not end within %v", command, s.opts.ready)
	}
	last := ""
	for text := range strings.SplitSeq(strings.TrimSpace(string(out)), "\n") {
		last = text
	}
	return fmt.Errorf("'%s' failed: %w: %s", command, err, cleantext.Cut(cleantext.Line(last), 200))
}

// ready starts the traffic, and tries again until the server answers or the time is over.
func (s *session) ready(ctx context.Context, more []string, retry bool) (target, error) {
	began := time.Now()
	for {
		t, err := s.target(more)
		if err != nil {
			return nil, err
		}
		// Requests of candidates go to no file and to no other tool: each start connects an outcome of its own.
		out, err := outcome.Open(s.quiet(), plan.DefaultOutcome(), "tune", "")
		if err != nil {
			return nil, err
		}
		if err = t.Start(s.quiet(), s.sigs, out); err == nil {
			s.unheard = append(s.unheard, out)
			return t, nil
		}
		out.Close()
		t.Close()
		if !retry || ctx.Err() != nil || time.Since(began) > s.opts.ready {
			return nil, errors.New(t.Advise(err))
		}
		select {
		case <-time.After(200 * time.Millisecond):
		case <-ctx.Done():
		}
	}
}
