// Package conformance runs the same command line with the real perf_analyzer and with Redline under that name,
// against one real Triton, and compares what came out: exit code, text, CSV and JSON.
//
// The cases are in e2e/testdata/conformance.txt. Numbers are masked: what is compared is what a program that
// reads the output relies on. Where Redline differs on purpose, the case says so and states what must come out.
package conformance

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// The load of cases that say {load}: those in which the load itself is not what is compared. A count of requests takes
// less time than three windows, and no window is empty where the machine is busy.
const (
	countedLoad  = "--request-count 20"
	windowedLoad = "-p 250 -s 99999 -r 3" // in the heavy tests
)

// Case is one command line.
type Case struct {
	Name string
	Args []string // with {http}, {grpc}, {metrics}, {dead} and {data} still to be filled in
	// Files are written by the run and compared.
	Files []string
	// Deviation, when not empty, says why Redline differs; then only OurCode and OurText are checked.
	Deviation string
	OurCode   int
	OurText   string
	line      int
}

// Text is the case as a key for recorded outcomes.
func (c *Case) Text() string { return strings.Join(c.Args, " ") + "\n" + strings.Join(c.Files, " ") }

// needsCache is for models whose responses the server keeps.
const needsCache = "cache"

// Needs names the state of the server that the case has for itself: perf_analyzer forgets all regions of shared memory at
// its start, numbers sequences from 1, and two runs would see each other's cache hits.
func (c *Case) Needs() []string {
	var needs []string
	for i, a := range c.Args {
		switch {
		case strings.HasPrefix(a, "--shared-memory"):
			needs = append(needs, "shared memory")
		case i > 0 && strings.HasSuffix(c.Args[i-1], "m") && strings.HasPrefix(a, "accumulate"):
			needs = append(needs, a)
		case i > 0 && strings.HasSuffix(c.Args[i-1], "m") && strings.HasSuffix(a, "_cached"):
			needs = append(needs, needsCache)
		}
	}
	return needs
}

// Parse reads cases: a line "case NAME", then indented lines. "run: ARGS" may repeat and is joined; {load} in it becomes
// the given load. "files:", "deviates: WHY", "code: N" and "says: TEXT" are optional.
func Parse(r io.Reader, load string) ([]Case, error) {
	var cases []Case
	seen := map[string]bool{}
	lines := bufio.NewScanner(r)
	for n := 1; lines.Scan(); n++ {
		line := strings.TrimSpace(lines.Text())
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if name, ok := strings.CutPrefix(line, "case "); ok {
			if seen[name] {
				return nil, fmt.Errorf("line %d: case %s stands twice", n, name)
			}
			seen[name] = true
			cases = append(cases, Case{Name: name, line: n})
			continue
		}
		if len(cases) == 0 {
			return nil, fmt.Errorf("line %d: no case yet", n)
		}
		if err := cases[len(cases)-1].set(strings.ReplaceAll(line, "{load}", load)); err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
	}
	return cases, lines.Err()
}

func (c *Case) set(line string) (err error) {
	key, value, ok := strings.Cut(line, ":")
	if !ok {
		return fmt.Errorf("want KEY: VALUE, have %q", line)
	}
	value = strings.TrimSpace(value)
	switch key {
	case "run":
		var args []string
		args, err = fields(value)
		c.Args = append(c.Args, args...)
	case "files":
		c.Files = append(c.Files, strings.Fields(value)...)
	case "deviates":
		c.Deviation = value
	case "code":
		c.OurCode, err = strconv.Atoi(value)
	case "says":
		c.OurText = value
	default:
		err = fmt.Errorf("unknown key %q", key)
	}
	return err
}

// fields splits at blanks; a part in single quotes keeps its blanks.
func fields(s string) ([]string, error) {
	var out []string
	var word strings.Builder
	quoted, started := false, false
	for _, r := range s {
		switch {
		case r == '\'':
			quoted, started = !quoted, true
		case r == ' ' && !quoted:
			if started {
				out = append(out, word.String())
			}
			word.Reset()
			started = false
		default:
			word.WriteRune(r)
			started = true
		}
	}
	if quoted {
		return nil, fmt.Errorf("quote not closed in %q", s)
	}
	if started {
		out = append(out, word.String())
	}
	return out, nil
}
