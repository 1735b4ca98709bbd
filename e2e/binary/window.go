package binary

import (
	"errors"
	"fmt"
	"os/exec"
	"testing"
)

// NoRequests is the exit code of a run in which no request ended within a window. Other work on the machine can cause it.
const NoRequests = 3

// WindowError is the error of a run with the exit code NoRequests, for disturbance.Try. A run that failed in another way fails
// the test.
func WindowError(tb testing.TB, err error, output []byte) error {
	tb.Helper()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && exit.ExitCode() == NoRequests {
		return fmt.Errorf("a window had no request\n%s", output)
	}
	if err != nil {
		tb.Fatalf("%v\n%s", err, output)
	}
	return nil
}
