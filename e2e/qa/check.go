// Package qa makes the checks that Triton's own tests make of perf_analyzer, with Redline under its name: on the real
// Triton where a model of the same kind can be had there, else on `redline serve`.
//
// The rows of the tables are the checks of testdata/checks.txt, by their numbers. What is not a single run is code:
//
//	A4          inOrder, in the server's log after A3
//	C15 to C17  decoupled
//	C18, C19    ranks
//	D           TestTLS
//	E           inProcess
//	E13         noneLeft
//	F           groundTruth
//	H           noModel
package qa

import (
	"bufio"
	"fmt"
	"io"
	"regexp"
	"strings"
	"time"
)

// check is one row of the tables.
type check struct {
	name   string
	run    string
	models []string
	pass   string // ok, zero, fail, or an exit code
	says   []*regexp.Regexp
	lacks  []*regexp.Regexp
	trace  string // what the server's trace files must contain
	on     string // onServe or onOwn; empty is the Triton of all checks
	within time.Duration
}

// Where a check runs.
const (
	onServe = "redline" // on `redline serve`
	onOwn   = "own"     // on a Triton of its own: it crashes sometimes with as many streams, and so ends other runs
)

// parse reads checks: a line "check NAME", then indented lines KEY: VALUE.
func parse(r io.Reader) ([]check, error) {
	var list []check
	lines := bufio.NewScanner(r)
	for n := 1; lines.Scan(); n++ {
		line := strings.TrimSpace(lines.Text())
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if name, ok := strings.CutPrefix(line, "check "); ok {
			list = append(list, check{name: name, pass: "ok"})
			continue
		}
		key, value, ok := strings.Cut(line, ": ")
		if !ok || len(list) == 0 {
			return nil, fmt.Errorf("line %d: want KEY: VALUE in a check, have %q", n, line)
		}
		if err := list[len(list)-1].set(key, value); err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
	}
	return list, lines.Err()
}

func (c *check) set(key, value string) error {
	var err error
	pattern := func(list []*regexp.Regexp) []*regexp.Regexp {
		var re *regexp.Regexp
		if re, err = regexp.Compile(value); err != nil {
			return list
		}
		return append(list, re)
	}
	switch key {
	case "within":
		c.within, err = time.ParseDuration(value)
	case "run":
		c.run = value
	case "models":
		c.models = strings.Fields(value)
	case "pass":
		c.pass = value
	case "says":
		c.says = pattern(c.says)
	case "lacks":
		c.lacks = pattern(c.lacks)
	case "trace":
		c.trace = value
	case "on":
		c.on = value
	default:
		err = fmt.Errorf("unknown key %q", key)
	}
	return err
}

// each returns the command lines of a check: every protocol, kind of shared memory and model that it requests.
func (c *check) each(shared []string) []string {
	out := []string{c.run}
	vary := func(mark string, values []string) {
		if !strings.Contains(c.run, mark) {
			return
		}
		var more []string
		for _, line := range out {
			for _, v := range values {
				more = append(more, strings.ReplaceAll(line, mark, v))
			}
		}
		out = more
	}
	vary("{P}", []string{"-i grpc -u {grpc}", "-i http -u {http}"})
	vary("{M}", shared)
	vary("{model}", c.models)
	return out
}

// serverLog is a line of a server in the same process, which may well speak of errors, such as that of having no GPU.
var serverLog = regexp.MustCompile(`(?m)^[IWE]\d{4} \d\d:.*$`)

// nothing matches what a run says that failed or measured nothing. A composing model, which stands further to the
// right, may well have had no work.
var nothing = regexp.MustCompile(`(?m)error|^ {4}Request count: 0$|: 0 infer/sec`)

// wrong says what is wrong with how a run ended and what it printed; "" is nothing.
func (c *check) wrong(code int, output string) string {
	if why := c.code(code); why != "" {
		return why
	}
	if c.pass == "ok" {
		output = serverLog.ReplaceAllString(output, "")
		if bad := nothing.FindString(output); bad != "" {
			return fmt.Sprintf("the output has %q", strings.TrimSpace(bad))
		}
	}
	for _, re := range c.says {
		if !re.MatchString(output) {
			return fmt.Sprintf("the output lacks %q", re)
		}
	}
	for _, re := range c.lacks {
		if re.MatchString(output) {
			return fmt.Sprintf("the output has %q", re.FindString(output))
		}
	}
	return ""
}

func (c *check) code(code int) string {
	var good bool
	switch c.pass {
	case "ok", "zero":
		good = code == 0
	case "fail":
		good = code != 0
	default:
		good = fmt.Sprint(code) == c.pass
	}
	if !good {
		return fmt.Sprintf("exit code %d, want %s", code, c.pass)
	}
	return ""
}
