package tune

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"time"

	"github.com/redline-bench/redline/internal/cleantext"
	"github.com/redline-bench/redline/internal/command"
	"github.com/redline-bench/redline/internal/command/search"
	"github.com/redline-bench/redline/internal/measure"
	"github.com/redline-bench/redline/internal/option"
	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/result"
)

// line is an error in one line.
func line(err error) string { return cleantext.Cut(cleantext.Line(err.Error()), 300) }

// shell runs a command of the user. Braces with the name of a knob stand for its value, which is quoted.
func (s *session) shell(ctx context.Context, text string, values []string) error {
	var pairs []string
	for i, v := range values {
		pairs = append(pairs, "{"+s.space.knobs[i].Name+"}", option.ShellWord(v))
	}
	text = strings.NewReplacer(pairs...).Replace(text)
	ctx, cancel := context.WithTimeout(ctx, s.opts.ready)
	defer cancel()
	cmd := exec.CommandContext(ctx, "sh", "-c", text)
	command.Detach(cmd)         // a second Ctrl-C must not end the command of --restore
	cmd.WaitDelay = time.Second // a server that the command leaves running may hold its output
	out, err := cmd.CombinedOutput()
	if err == nil || errors.Is(err, exec.ErrWaitDelay) {
		return nil
	}
	if ctx.Err() != nil {
		return fmt.Errorf("'%s' did not end within %v", text, s.opts.ready)
	}
	output := strings.TrimSpace(string(out))
	last := cleantext.Cut(output[strings.LastIndex(output, "\n")+1:], 200)
	if last == "" {
		return fmt.Errorf("'%s' failed: %w", text, err)
	}
	return fmt.Errorf("'%s' failed: %w: %s", text, err, last)
}

// ready starts the traffic. With retry it tries again until the server answers a request or the time is over.
func (s *session) ready(ctx context.Context, more []string, retry bool) (search.Traffic, error) {
	began := time.Now()
	for {
		t, err := s.traffic(more)
		if err != nil {
			return nil, err
		}
		if err = t.Start(s.quiet(), s.sigs, s.silent); err == nil && retry {
			err = s.answers(ctx, t)
		}
		if err == nil {
			return t, nil
		}
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

// answers sends requests, one after the other, until one succeeds or one fails.
func (s *session) answers(ctx context.Context, t search.Traffic) error {
	const often = 50 * time.Millisecond
	failed := ""
	err := t.Run(ctx, result.Level{Mode: plan.Concurrency, Concurrency: 1}, time.Second, measure.Look{At: often}, func(now measure.Sight) (measure.Look, bool) {
		switch {
		case now.Down != "":
			failed = now.Down
		case now.Failures > 0 && now.Requests == 0:
			failed = "the first request failed"
			if lv, _ := now.Level(0); len(lv.Failures) > 0 {
				failed = lv.Failures[0].Text
			}
		case now.Requests == 0 && now.Elapsed > s.opts.ready:
			failed = fmt.Sprintf("no request was answered within %v", s.opts.ready)
		}
		return measure.Look{At: now.Elapsed + often}, failed == "" && now.Requests == 0
	})
	if err == nil && failed != "" {
		err = errors.New(failed)
	}
	return err
}
