package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// events writes lines of `go test -json` for one test.
func events(test, action string, output ...string) string {
	var b strings.Builder
	for _, o := range output {
		fmt.Fprintf(&b, `{"Action":"output","Package":"example.org/a/b/e2e/x","Test":%q,"Output":%q}`+"\n", test, o+"\n")
	}
	fmt.Fprintf(&b, `{"Action":%q,"Package":"example.org/a/b/e2e/x","Test":%q}`+"\n", action, test)
	return b.String()
}

func TestOutcomesAreSorted(t *testing.T) {
	var l eventLog
	var shown strings.Builder
	l.read(strings.NewReader(
		events("TestGood", "pass", "ok")+
			events("TestParent/child", "fail", "    x_test.go:1: it broke")+
			events("TestParent", "fail", "--- FAIL: TestParent")+
			events("TestStart", "fail", "    x_test.go:7: PEER CRASHED: signal: killed", "    x_test.go:8: start it again: no memory")+
			events("TestScripts/run", "fail", "    testscript.go:609: WORK=$WORK", "        > exec redline", "        FAIL: script/run.txtar:3: no match")+
			events("TestPeer", "skip", "    suite.go:3: NOT TESTED: the real Triton: no python3; install python3")+
			events("TestLong", "skip", "    x_test.go:4: HEAVY: whole windows")+
			events("TestTimes/http", "skip", "    x_test.go:5: INCONCLUSIVE: p50 25ms (other programs used 1.9 cores)")+
			events("TestTimes", "pass", "--- PASS")+
			events("TestElsewhere", "skip", "    x_test.go:6: reads ELF files")+
			"plain line\n"+
			"NOT CHECKED: known vulnerabilities: no database\n"+
			"**** NOT TESTED: lint rules: no network\n"), &shown, "e2e")

	if l.passed != 1 {
		t.Errorf("%d passed, want 1: parents do not count", l.passed)
	}
	for name, c := range map[string]struct {
		list []finding
		want string
	}{
		"failed":       {l.failed, "e2e/x TestParent/child: x_test.go:1: it broke\ne2e/x TestStart: x_test.go:8: start it again: no memory\ne2e/x TestScripts/run: script/run.txtar:3: no match"},
		"not tested":   {l.notTested, "e2e/x TestPeer: the real Triton: no python3; install python3\nlint rules: no network"},
		"not checked":  {l.unchecked, "known vulnerabilities: no database"},
		"heavy":        {l.heavy, "e2e/x TestLong: whole windows"},
		"inconclusive": {l.inconclusive, "e2e/x TestTimes/http: p50 25ms (other programs used 1.9 cores)"},
		"skipped":      {l.skip, "e2e/x TestElsewhere: x_test.go:6: reads ELF files"},
	} {
		var lines []string
		for _, f := range c.list {
			lines = append(lines, strings.TrimSuffix(f.what+": "+f.reason, ": "))
		}
		if got := strings.Join(lines, "\n"); got != c.want {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
	if text := shown.String(); !strings.Contains(text, "it broke") || !strings.Contains(text, "plain line") || strings.Contains(text, "--- PASS") {
		t.Errorf("shown while it runs: %q", text)
	}
}

// The message that says why a test failed is shown also where programs of the test wrote thousands of lines after it.
func TestLongOutputKeepsTheReason(t *testing.T) {
	lines := []string{"    x_test.go:1: it broke"}
	for i := range 3000 {
		lines = append(lines, fmt.Sprint("        line ", i))
	}
	var l eventLog
	var shown strings.Builder
	l.read(strings.NewReader(events("TestLong", "fail", lines...)), &shown, "e2e")
	if len(l.failed) != 1 || l.failed[0].reason != "x_test.go:1: it broke" {
		t.Errorf("failed: %v", l.failed)
	}
	if text := shown.String(); !strings.Contains(text, "it broke") || !strings.Contains(text, "line 2999\n") || strings.Count(text, "\n") > 1000 {
		t.Errorf("%d lines are shown", strings.Count(text, "\n"))
	}
}

// A package that ends outside a test, as by a panic or a timeout, is a failure, and so is one that does not compile.
func TestBrokenPackagesFail(t *testing.T) {
	var l eventLog
	l.read(strings.NewReader(`{"Action":"run","Package":"example.org/a/b/p","Test":"TestHangs"}
{"Action":"output","Package":"example.org/a/b/p","Test":"TestHangs","Output":"panic: test timed out\n"}
{"Action":"fail","Package":"example.org/a/b/p"}
{"ImportPath":"example.org/a/b/q","Action":"build-output","Output":"syntax error\n"}
{"ImportPath":"example.org/a/b/q","Action":"build-fail"}
`), &strings.Builder{}, "unit")
	if l.failures() != 2 || l.failed[0].what != "p" || l.failed[1].what != "q" {
		t.Fatalf("failed: %v, want p and q", l.failed)
	}
	if got, want := l.failed[0].reason, "ended outside a test: panic: test timed out"; got != want {
		t.Errorf("the reason is %q, want %q", got, want)
	}
}

// What a program that starts badly wrote last is the reason.
func TestBadStartNamesItsCause(t *testing.T) {
	for text, want := range map[string]string{
		"": "it wrote nothing",
		"listen tcp: address already in use\nFAIL\nFAIL\texample.org/a/b/p\t0.1s\n":                                                                "listen tcp: address already in use",
		"panic: test timed out after 30m0s\n\trunning tests:\n\t\tTestHangs (5m0s)\n\ngoroutine 1:\nmain.main()\nFAIL\texample.org/a/b/p\t1800s\n": "panic: test timed out after 30m0s",
	} {
		var l eventLog
		var b strings.Builder
		for line := range strings.Lines(text) {
			fmt.Fprintf(&b, `{"Action":"output","Package":"example.org/a/b/p","Output":%q}`+"\n", line)
		}
		l.read(strings.NewReader(b.String()+`{"Action":"fail","Package":"example.org/a/b/p"}`+"\n"), &strings.Builder{}, "unit")
		if len(l.failed) != 1 || l.failed[0].reason != "ended outside a test: "+want {
			t.Errorf("%q: got %v, want %q", text, l.failed, want)
		}
	}
}

// A test that took long is not measured again if it would end too late; it stays inconclusive.
func TestLongRunsAreNotRepeated(t *testing.T) {
	r := runner{dir: t.TempDir(), out: &strings.Builder{}, begun: time.Now().Add(-30 * time.Minute), repeatUntil: 45 * time.Minute}
	r.log.read(strings.NewReader(`{"Action":"output","Package":"e2e/x","Test":"TestTimes","Output":"INCONCLUSIVE: p50 25ms\n"}
{"Action":"skip","Package":"e2e/x","Test":"TestTimes","Elapsed":960.5}
`), r.out, "e2e")
	r.retryInconclusive(t.Context())
	if len(r.log.inconclusive) != 1 || r.log.failures() != 0 {
		t.Errorf("inconclusive %v, failed %v; want the test to stay inconclusive", r.log.inconclusive, r.log.failed)
	}
}

func TestPatternSelectsOneSubtest(t *testing.T) {
	if got, want := (testName{"p", "TestA/http_(1)"}).pattern(), `^TestA$/^http_\(1\)$`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// Stages at the same time are all in the summary: what a test of the second one did, and that the third failed.
func TestStagesTogether(t *testing.T) {
	dir := t.TempDir()
	const event = `{"Action":"pass","Package":"example.com/p","Test":"TestOne"}`
	makefile := "first:\n\t@echo one\nsecond:\n\t@echo '" + event + "'\nthird:\n\t@echo three; exit 3\n"
	if err := os.WriteFile(filepath.Join(dir, "Makefile"), []byte(makefile), 0o644); err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	r := runner{dir: dir, out: &out}
	r.together(t.Context(), []string{"first", "second", "third"})
	r.summary(0)
	for _, want := range []string{"one", "second (beside)", "three", "FAILED:\n  stage third: exit status 2", "1 passed, 1 failed"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the output lacks %q:\n%s", want, out.String())
		}
	}
}

// What Go's race detector writes when it finds an error of its own, not of the program.
const raceCrashLine = `ThreadSanitizer: CHECK failed: tsan_rtl.cpp:346 "((exiting || thr->fast_state.epoch() == kEpochLast)) != (0)" (0x0, 0x0) (tid=13027)`

// packageCrashes are the events of a package that ended in a test, after these lines.
func packageCrashes(lines ...string) string {
	return events("TestRuns", "run", lines...) + `{"Action":"fail","Package":"example.org/a/b/e2e/x"}` + "\n"
}

// A package in which the race detector crashed runs once more, and counts by what happens then. The summary names the crash.
func TestACrashOfTheRaceDetectorIsRepeated(t *testing.T) {
	const passes = `{"Action":"pass","Package":"example.org/a/b/e2e/x","Test":"TestRuns"}` + "\n" + `{"Action":"pass","Package":"example.org/a/b/e2e/x"}` + "\n"
	for name, c := range map[string]struct{ second, want string }{
		"passes":        {passes, "1 passed, 0 failed"},
		"crashes again": {packageCrashes(raceCrashLine), "FAILED:\n  e2e/x: ended outside a test: ThreadSanitizer"},
		"a test fails":  {events("TestRuns", "fail", "    x_test.go:1: it broke") + `{"Action":"fail","Package":"example.org/a/b/e2e/x"}` + "\n", "FAILED:\n  e2e/x TestRuns: x_test.go:1: it broke"},
	} {
		dir := t.TempDir()
		for file, text := range map[string]string{
			"first": packageCrashes(raceCrashLine), "second": c.second,
			"Makefile": "unit:\n\t@cat first; exit 1\nrace-packages:\n\t@test $(PACKAGES) = example.org/a/b/e2e/x; cat second; ! grep -q '\"fail\"' second\n",
		} {
			if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		var out strings.Builder
		r := runner{dir: dir, out: &out}
		r.stage(t.Context(), "unit")
		r.repeatCrashed(t.Context())
		r.summary(0)
		for _, want := range []string{c.want, "their tests were run again:\n  e2e/x: the race detector: ThreadSanitizer: CHECK failed"} {
			if !strings.Contains(out.String(), want) {
				t.Errorf("%s: the output lacks %q:\n%s", name, want, out.String())
			}
		}
		if failed := r.log.failures() > 0; failed != (name != "passes") {
			t.Errorf("%s: %d failures", name, r.log.failures())
		}
	}
}

// A data race is a failure, whatever the race detector does after it.
func TestADataRaceIsAFailure(t *testing.T) {
	var l eventLog
	l.read(strings.NewReader(packageCrashes("WARNING: DATA RACE", raceCrashLine)), &strings.Builder{}, "unit")
	if l.failures() != 1 || len(l.raceCrashes) != 0 {
		t.Errorf("failed: %v, to run again: %v; want one failure", l.failed, l.raceCrashes)
	}
}

// Every stage runs to its end, also when an earlier one failed.
func TestStagesAfterAFailureRun(t *testing.T) {
	dir := t.TempDir()
	makefile := "early:\n\t@echo fetched; echo 'NOT TESTED: a peer: no network'\nbad:\n\t@echo broken; exit 3\ngood:\n\t@echo fine\n"
	if err := os.WriteFile(filepath.Join(dir, "Makefile"), []byte(makefile), 0o644); err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	r := runner{dir: dir, out: &out}
	wait := r.startBackground(t.Context(), "early")
	r.stage(t.Context(), "bad")
	wait()
	r.stage(t.Context(), "good")
	r.summary(0)
	for _, want := range []string{"broken", "fetched", "fine", "FAILED:\n  stage bad: exit status 2", "a peer: no network", "0:00  CPU   0:00  ok\n", "0 passed, 1 failed, 1 skipped"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the output lacks %q:\n%s", want, out.String())
		}
	}
}
