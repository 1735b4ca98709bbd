package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"time"
)

// event is a line of `go test -json`.
type event struct {
	Action     string
	Package    string
	ImportPath string // of build-output and build-fail
	Test       string
	Output     string
	Elapsed    float64
}

// testName names a test or subtest of a package.
type testName struct{ pkg, test string }

func (n testName) String() string {
	if n.test == "" {
		return short(n.pkg)
	}
	return short(n.pkg) + " " + n.test
}

// pattern is the value of -run that selects exactly this test.
func (n testName) pattern() string {
	parts := strings.Split(n.test, "/")
	for i, p := range parts {
		parts[i] = "^" + regexp.QuoteMeta(p) + "$"
	}
	return strings.Join(parts, "/")
}

// short leaves out the module's name.
func short(pkg string) string {
	parts := strings.SplitN(pkg, "/", 4)
	if len(parts) == 4 && strings.Contains(parts[0], ".") {
		return parts[3]
	}
	return pkg
}

// finding is a test, or something else that was checked, with a reason.
type finding struct {
	what   string
	reason string
	test   testName // empty if it is not a test
	took   time.Duration
}

// eventLog collects what the stages print.
type eventLog struct {
	passed                                       int
	failed, inconclusive, notTested, heavy, skip []finding
	unchecked                                    []finding
	crashes                                      []string
	raceCrashes                                  []testName // packages in which the race detector crashed, which have to run again
	slow                                         []finding

	output  map[testName][]string // of tests that have not ended, and of packages
	parents map[testName]bool     // tests that have subtests
}

// The first words of a message, as package outcome of the project writes them.
const (
	notTestedPrefix    = "NOT TESTED: "
	uncheckedPrefix    = "NOT CHECKED: " // of programs that are not tests; never a failure, not even with CI=true
	heavyPrefix        = "HEAVY: "
	inconclusivePrefix = "INCONCLUSIVE: "
	crashPrefix        = "PEER CRASHED: "
)

func (l *eventLog) failures() int { return len(l.failed) }

// causes counts what makes a stage end with an error.
func (l *eventLog) causes() int { return len(l.failed) + len(l.raceCrashes) }

func (l *eventLog) fail(what, reason string) {
	l.failed = append(l.failed, finding{what: what, reason: reason})
}

// read reads the output of a stage. Lines that are not events are printed unchanged.
func (l *eventLog) read(in io.Reader, out io.Writer, stage string) {
	l.output, l.parents = map[testName][]string{}, map[testName]bool{}
	reader := bufio.NewReader(in)
	for {
		line, err := reader.ReadString('\n')
		if line != "" {
			var e event
			if strings.HasPrefix(line, "{") && json.Unmarshal([]byte(line), &e) == nil && e.Action != "" {
				l.event(e, out, stage)
			} else {
				l.plain(out, line)
			}
		}
		if err != nil {
			return
		}
	}
}

// plain takes a line of a program that is not a test.
func (l *eventLog) plain(out io.Writer, line string) {
	io.WriteString(out, line)
	if _, rest, ok := strings.Cut(line, notTestedPrefix); ok {
		l.notTested = append(l.notTested, finding{what: strings.TrimSpace(rest)})
	}
	if _, rest, ok := strings.Cut(line, uncheckedPrefix); ok {
		l.unchecked = append(l.unchecked, finding{what: strings.TrimSpace(rest)})
	}
}

func (l *eventLog) event(e event, out io.Writer, stage string) {
	name := testName{e.Package, e.Test}
	switch e.Action {
	case "build-output":
		io.WriteString(out, e.Output)
	case "build-fail":
		l.fail(short(e.ImportPath), "does not compile")
	case "output":
		l.note(name, e.Output)
	case "pass", "fail", "skip":
		if e.Test == "" {
			l.packageEnded(e, out, stage)
		} else {
			l.testEnded(name, e, out)
		}
	}
}

// note keeps a line of a test's output until the test has ended.
func (l *eventLog) note(name testName, line string) {
	l.output[name] = shorten(append(l.output[name], line))
	if _, rest, ok := strings.Cut(line, crashPrefix); ok {
		l.crashes = append(l.crashes, fmt.Sprintf("%v: %s", name, strings.TrimSpace(rest)))
	}
	if i := strings.LastIndex(name.test, "/"); i > 0 {
		l.parents[testName{name.pkg, name.test[:i]}] = true
	}
}

// shorten keeps the end of long output, and of what stands before it the first messages of the test: they say what failed.
func shorten(lines []string) []string {
	const end, most = 400, 50
	if len(lines) <= 2*end+most {
		return lines
	}
	var kept []string
	for _, line := range lines[:len(lines)-end] {
		if logged.MatchString(line) && len(kept) < most {
			kept = append(kept, line)
		}
	}
	return append(kept, lines[len(lines)-end:]...)
}

func (l *eventLog) testEnded(name testName, e event, out io.Writer) {
	text := strings.Join(l.output[name], "")
	delete(l.output, name)
	switch {
	case e.Action == "fail":
		io.WriteString(out, text)
		if !l.parents[name] || logged.MatchString(text) {
			l.failed = append(l.failed, finding{what: name.String(), reason: firstReason(text), test: name})
		}
	case e.Action == "skip":
		l.skipped(name, text, time.Duration(e.Elapsed*float64(time.Second)))
	case !l.parents[name]:
		l.passed++
	}
}

// skipped classifies a skipped test by the prefix of its message.
func (l *eventLog) skipped(name testName, text string, took time.Duration) {
	for prefix, list := range map[string]*[]finding{
		notTestedPrefix: &l.notTested, heavyPrefix: &l.heavy, inconclusivePrefix: &l.inconclusive,
	} {
		if _, rest, ok := strings.Cut(text, prefix); ok {
			line, _, _ := strings.Cut(rest, "\n")
			*list = append(*list, finding{what: name.String(), reason: line, test: name, took: took})
			return
		}
	}
	l.skip = append(l.skip, finding{what: name.String(), reason: firstReason(text), test: name})
}

func (l *eventLog) packageEnded(e event, out io.Writer, stage string) {
	name := testName{e.Package, ""}
	text := strings.Join(l.output[name], "")
	delete(l.output, name)
	if e.Elapsed >= 20 {
		l.slow = append(l.slow, finding{what: fmt.Sprintf("%s (%s)", short(e.Package), stage), reason: fmt.Sprintf("%.0f s", e.Elapsed)})
	}
	if e.Action != "fail" {
		io.WriteString(out, text)
		return
	}
	// Tests that never ended show where a panic or a timeout occurred.
	for test, lines := range l.output {
		if test.pkg == e.Package {
			text = strings.Join(lines, "") + text
			delete(l.output, test)
		}
	}
	io.WriteString(out, text)
	if slices.ContainsFunc(l.failed, func(f finding) bool { return f.test.pkg == e.Package || f.what == short(e.Package) }) {
		return
	}
	if crash := raceCrash(text); crash != "" && !slices.Contains(l.raceCrashes, name) {
		l.raceCrashes = append(l.raceCrashes, name)
		l.crashes = append(l.crashes, fmt.Sprintf("%v: the race detector: %s", name, crash))
	} else {
		l.failed = append(l.failed, finding{what: short(e.Package), reason: "ended outside a test: " + cmp.Or(lastWords(text), "it wrote nothing"), test: name})
	}
}

// raceCrash is the line with which Go's race detector ends a program because of an error of its own; empty if it found a data race
// before, or wrote no such line.
func raceCrash(text string) string {
	if strings.Contains(text, "DATA RACE") {
		return ""
	}
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "ThreadSanitizer: CHECK failed") || strings.HasPrefix(line, "FATAL: ThreadSanitizer CHECK failed") {
			return strings.TrimSpace(line)
		}
	}
	return ""
}

// takeInconclusive returns the inconclusive tests and forgets them.
func (l *eventLog) takeInconclusive() []finding {
	taken := l.inconclusive
	l.inconclusive = nil
	return taken
}

// logged is a line that a test logged: file, line number, text.
var logged = regexp.MustCompile(`(?m)^\s+\w+\.go:\d+: .*$`)

// scriptFailed is the line with which a script of testscript says which of its lines failed, and why.
var scriptFailed = regexp.MustCompile(`(?m)^\s+FAIL: (\S+:\d+: .*)$`)

// firstReason is the line in which a script failed, or else the first line that a test logged, apart from crashes of other programs,
// which have a list of their own.
func firstReason(text string) string {
	if failed := scriptFailed.FindStringSubmatch(text); failed != nil {
		return failed[1]
	}
	for _, line := range logged.FindAllString(text, -1) {
		if !strings.Contains(line, crashPrefix) {
			return strings.TrimSpace(line)
		}
	}
	return strings.TrimSpace(logged.FindString(text))
}

// lastWords is why a package ended outside a test: the line of its panic, or else the last line that the test program wrote.
func lastWords(text string) string {
	var last string
	for line := range strings.Lines(text) {
		switch line = strings.TrimSpace(line); {
		case strings.HasPrefix(line, "panic:"), strings.HasPrefix(line, "fatal error:"):
			return line
		case line != "" && !strings.HasPrefix(line, "FAIL") && !strings.HasPrefix(line, "exit status"):
			last = line
		}
	}
	return last
}
