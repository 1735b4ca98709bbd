// Package command holds what all commands use of the process: streams and environment as one IO, exit codes, signals, and
// the embedded server. Each folder below it holds one command; internal/cli has the table of commands.
package command

import (
	"errors"

	"github.com/redline-bench/redline/internal/option"
	"github.com/redline-bench/redline/internal/pending"
)

// ExitUnwritten is the exit code of a run whose files could not be written.
func ExitUnwritten(err error) int {
	if errors.Is(err, pending.ErrInterrupted) {
		return ExitInterrupted
	}
	return ExitError
}

// UsageError is a mistake in the arguments. The message that reports it names the help.
type UsageError struct{ error }

// Usage makes a UsageError of err.
func Usage(err error) error { return UsageError{err} }

// Unwrap returns the error without the hint.
func (e UsageError) Unwrap() error { return e.error }

// NativeError asks for the same command line to be run by redline-native. Its text says which part needs that.
type NativeError string

func (e NativeError) Error() string { return string(e) }

// InOrder takes the steps one after the other, up to the first that fails, and returns its error.
func InOrder(steps ...func() error) error {
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// Parse reads the options of a small command, which takes from least to most other arguments; want says which.
func Parse(table *option.Table, args []string, least, most int, want string) ([]string, error) {
	rest, err := table.Parse(args)
	switch {
	case err != nil:
		return nil, Usage(err)
	case most == 0 && len(rest) > 0:
		return nil, Usage(table.Unexpected(rest[0], 0))
	case len(rest) < least || len(rest) > most:
		return nil, Usage(errors.New(want))
	}
	return rest, nil
}
