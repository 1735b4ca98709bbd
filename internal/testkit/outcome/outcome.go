// Package outcome ends a test that did not run to its end, in words that the summary of `make test` reads:
//
//   - NOT TESTED: something that the test needs is missing on this machine. With CI=true this is a failure.
//   - HEAVY: the test belongs to `make test-heavy`.
//   - INCONCLUSIVE: other work disturbed a measurement that missed its tolerance (see package disturbance).
//
// A test skips with a plain t.Skip only where it can never apply, as on another operating system.
package outcome

import (
	"os"
	"testing"

	"github.com/redline-bench/redline/internal/cleantext"
)

// The first words of a message. tools/testrun reads them.
const (
	notTestedPrefix    = "NOT TESTED: "
	heavyPrefix        = "HEAVY: "
	inconclusivePrefix = "INCONCLUSIVE: "
)

// NotTested ends the test because something is missing: what is not tested, why, and what to install. It skips the
// test, or fails it where the environment has CI=true.
func NotTested(t testing.TB, what string, why error, install string) {
	t.Helper()
	text := notTestedPrefix + what + ": " + cleantext.Cut(why.Error(), limit)
	if install != "" {
		text += "; install " + install
	}
	if os.Getenv("CI") == "true" {
		t.Fatal(text)
	}
	t.Skip(text)
}

// HeavyOnly skips the test unless REDLINE_HEAVY is set, as `make test-heavy` sets it.
func HeavyOnly(t testing.TB, what string) {
	t.Helper()
	if !Heavy() {
		t.Skip(heavyPrefix + what)
	}
}

// NotQuick skips the test in `make quick`, which passes -short: a simulation that takes many seconds of CPU time.
func NotQuick(t testing.TB) {
	t.Helper()
	if testing.Short() {
		t.Skip("a long simulation; make test runs it")
	}
}

// Heavy tells whether the tests run in their long form.
func Heavy() bool { return os.Getenv("REDLINE_HEAVY") != "" }

// Inconclusive skips the test: a measurement missed its tolerance while other work disturbed it.
func Inconclusive(t testing.TB, why string) {
	t.Helper()
	t.Skip(inconclusivePrefix + cleantext.Cut(why, limit))
}

// limit is how many characters of a reason the summary shows. It has one line a test.
const limit = 2000
