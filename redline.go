// Package redline measures an inference server from a Go program, for example from a test of that server:
//
//	plan, err := redline.Parse("-m", "resnet50", "-u", "localhost:8001", "-i", "grpc", "--request-rate-range", "100")
//	if err != nil {
//		return err
//	}
//	result, err := plan.Run(ctx)
//	if err != nil {
//		return err
//	}
//	fmt.Println(result.Verdict, result.Levels[0].Latency.Percentile(99))
//
// The options are those of the command `redline profile`, which docs/flags.md lists; the measurement is the same. Nothing is
// printed, no signal is caught, no environment variable is read, and the run is not kept in the history. Options that need the
// redline program itself (--embedded, --calibrate) or redline-native fail: Parse returns the error.
package redline

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/redline-bench/redline/internal/command"
	"github.com/redline-bench/redline/internal/command/profile"
	"github.com/redline-bench/redline/internal/pacompat/flags"
	"github.com/redline-bench/redline/internal/pending"
	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/secret"
)

// Plan is a run whose options are checked. It can be run several times.
type Plan struct {
	plan    *plan.Plan
	line    string
	secrets *secret.Set
}

// Parse makes a plan of options of `redline profile`. The error says which option is wrong and what to do.
func Parse(options ...string) (*Plan, error) {
	p := &Plan{secrets: &secret.Set{Words: command.Words}}
	pl, notes, err := flags.Parse(flags.Redline, options, p.secrets)
	if err != nil {
		return nil, err
	}
	if err := needsProgram(pl); err != nil {
		return nil, err
	}
	p.plan, p.line = pl.With(func(pl *plan.Plan) { pl.Outcome.NoHistory = true }), notes.CommandLine
	return p, nil
}

// needsProgram is the error of a plan that needs the redline program beside this one.
func needsProgram(p *plan.Plan) error {
	what := profile.NeedsNative(p)
	switch {
	case p.Target.Embedded:
		what = "--embedded"
	case p.Measure.Calibrate:
		what = "--calibrate"
	case what == "":
		return nil
	}
	return fmt.Errorf("%s needs the redline program, which a Go program does not have: leave it out, or use the redline program", what)
}

// Run loads the server and returns what was measured. When ctx ends, Run sends no more requests, gives those in flight up to
// five seconds, and returns what was measured until then, with an error that wraps the error of ctx.
//
// The error is an *Error if the run did not do what the plan asks for. The result is nil only if nothing was measured.
func (p *Plan) Run(ctx context.Context) (*Result, error) {
	var said bytes.Buffer
	process := p.process(&said)
	sigs := process.Until(ctx)
	defer sigs.Stop()
	res, code, err := profile.Measure(process, sigs, p.plan, p.line) //nolint:contextcheck // sigs end with ctx
	if err != nil {
		return nil, fmt.Errorf("%w, which a Go program cannot do: use the redline program", err)
	}
	var result *Result
	if res != nil {
		if result, err = newResult(res); err != nil {
			return nil, err
		}
	}
	switch {
	case ctx.Err() != nil:
		return result, fmt.Errorf("the run was interrupted: %w", context.Cause(ctx))
	case code != command.ExitOK:
		return result, &Error{ExitCode: code, Message: message(said.String(), result)}
	}
	return result, nil
}

// process is a process without environment, terminal and program, whose errors go to said.
func (p *Plan) process(said io.Writer) *command.IO {
	return &command.IO{
		Args: []string{"redline"}, Stdin: strings.NewReader(""), Stdout: io.Discard, Stderr: said,
		Getenv: func(string) string { return "" }, Exit: func(int) {}, Width: func() int { return 0 },
		Executable: func() (string, error) {
			return "", errors.New("a Go program does not have it: use the redline program")
		},
		Secrets: p.secrets, Files: pending.New(p.secrets),
	}
}

// Error says that a run did not do what its plan asks for.
type Error struct {
	// ExitCode is the exit code with which `redline profile` ends: 2 for an unstable level, 4 for a rule that does not hold, 99
	// for a server that cannot be reached. docs/exit-codes.md lists them.
	ExitCode int
	Message  string
}

// Error returns the message.
func (e *Error) Error() string { return e.Message }

// message is the last line that the run printed as an error, or else the reason of the verdict.
func message(said string, r *Result) string {
	lines := strings.Split(strings.TrimSpace(said), "\n")
	last := strings.TrimPrefix(lines[len(lines)-1], "redline profile: ")
	switch {
	case last != "":
		return last
	case r != nil && len(r.Reasons) > 0:
		return "the run is " + r.Verdict + ": " + r.Reasons[0]
	}
	return "the run failed"
}
