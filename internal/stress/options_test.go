package stress

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/redline-bench/redline/internal/option"
	"github.com/redline-bench/redline/internal/plan"
)

var epoch = time.Unix(1700000000, 0)

// parsed are the defaults as Parse gives them.
func parsed() *Plan {
	p := Defaults()
	p.Seed, p.Server = 1700000000, Address{Host: "localhost:8001"}
	p.Target.Over(plan.GRPC)
	p.Target.Connections, p.Target.Streaming = 8, true
	return p
}

func TestDefaultsAreTheOriginals(t *testing.T) {
	o, err := Parse(nil, epoch, nil)
	if diff := cmp.Diff(parsed(), o, unread); err != nil || diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
}

func TestParse(t *testing.T) {
	f := func(line string, change func(*Plan)) {
		t.Helper()
		o, err := Parse(strings.Fields(line), epoch, nil)
		want := parsed()
		change(want)
		if diff := cmp.Diff(want, o, unread); err != nil || diff != "" {
			t.Errorf("%s: %v\n%s", line, err, diff)
		}
	}
	f("-v -v -r 7 -t 3 -i 5 -u h:1 other", func(p *Plan) {
		p.Verbose, p.Seed, p.Threads, p.Target.Connections, p.Iterations, p.Target.Model = 2, 7, 3, 3, 5, "other"
		p.Target.URL, p.Server.Host = "h:1", "h:1"
	})
	f("--verbose --random-seed 7 --concurrency 3 --iterations 5 --url h:1 --model-name other", func(p *Plan) {
		p.Verbose, p.Seed, p.Threads, p.Target.Connections, p.Iterations, p.Target.Model = 1, 7, 3, 3, 5, "other"
		p.Target.URL, p.Server.Host = "h:1", "h:1"
	})
	f("--duration 3s", func(p *Plan) { p.Duration, p.Iterations = 3*time.Second, 0 })
	f("--duration 3s -i 9", func(p *Plan) { p.Duration, p.Iterations = 3*time.Second, 9 })
	f("--protocol HTTP", func(p *Plan) {
		p.Server.Host, p.Target.Streaming = "localhost:8000", false
		p.Target.Over(plan.HTTP)
	})
	f("-vvv --embedded --json f.json --label monday", func(p *Plan) {
		p.Verbose, p.Target.Embedded, p.Output.ResultJSON, p.Outcome.Label = 2, true, "f.json", "monday"
	})
	f("--weights valid=1 --rare-weights no-end=2,valid=1 --rare 0.5", func(p *Plan) {
		p.Weights, p.RareWeights, p.RareShare = Weights{Valid: 1}, Weights{NoEnd: 2, Valid: 1}, 0.5
	})
}

func TestParseRefuses(t *testing.T) {
	f := func(line, want string) {
		t.Helper()
		if _, err := Parse(strings.Fields(line), epoch, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", line, err, want)
		}
	}
	f("-r -1", "--random-seed is a whole number from 0 to 4294967295")
	f("-t 0", "--concurrency is a whole number of at least 1")
	f("-i 0", "-i 0 has no end: give --duration too")
	f("a b", `unexpected argument "b"`)
	f("--common-contexts 0 --rare-contexts 0", "there must be a context")
	f("--id-block 9", "10 contexts need as many correlation ids")
	f("--protocol udp", `--protocol is gRPC or HTTP, not "udp"`)
	f("--replay 1:2", "--replay needs the seed of the run")
	f("-r 1 --replay 8:2", "no thread 8: use -t 9 or more")
	f("-r 1 --replay 1", "--replay is THREAD:ITERATION")
	f("--protocol HTTP -u https://h --cut 1s", "--cut cannot be used with https")
	f("--values 3000000000", "--values is at most 2147483647")
	f("--weights x", "--weights is a list such as")
	if _, err := Parse([]string{"--help"}, epoch, nil); !errors.Is(err, option.ErrHelp) {
		t.Errorf("--help: %v", err)
	}
}

// unread leaves out the copy of the command line.
var unread = cmpopts.IgnoreFields(Plan{}, "Arguments")

// What a result keeps of a command line means the same run, with the same seed.
func TestArgumentsReadBack(t *testing.T) {
	o, err := Parse(strings.Fields("-t 4 --rare 0.25 m --unary -i 3"), epoch, nil)
	if err != nil {
		t.Fatal(err)
	}
	again, err := Parse(o.Arguments, epoch.Add(time.Hour), nil)
	if diff := cmp.Diff(o, again, unread); err != nil || diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
}

// -u takes URLs. Neither what is printed nor what is asked has a password in it.
func TestAddresses(t *testing.T) {
	f := func(line, printed, asked string) {
		t.Helper()
		o, err := Parse(strings.Fields(line), epoch, nil)
		if err != nil {
			t.Fatal(err)
		}
		if o.Target.URL != printed || o.Server.URL() != asked {
			t.Errorf("%s: %s, %s, want %s, %s", line, o.Target.URL, o.Server.URL(), printed, asked)
		}
		if again, err := Parse(o.args(), epoch, nil); err != nil || again.Server != o.Server {
			t.Errorf("%s: the command of a failure has %v: %v", line, o.args(), err)
		}
	}
	f("--protocol HTTP -u h:1", "h:1", "http://h:1")
	f("--protocol HTTP -u http://h", "h:80", "http://h:80")
	f("--protocol HTTP -u http://h:1/", "h:1", "http://h:1")
	f("--protocol HTTP -u h:1/base/", "h:1/base", "http://h:1/base")
	f("--protocol HTTP -u https://h/base", "https://h:443/base", "https://h:443/base")
	f("--protocol HTTP -u http://user:secret@h:1/?key=secret", "h:1", "http://h:1")
	f("--protocol HTTP -u user:secret@h:1", "h:1", "http://h:1")
	f("--protocol HTTP -u http://[::1]", "[::1]:80", "http://[::1]:80")
	f("-u http://user:secret@h:1/", "h:1", "http://h:1")
	f("-u [::1]:1", "[::1]:1", "http://[::1]:1")
	bad := func(line, want string) {
		t.Helper()
		if _, err := Parse(strings.Fields(line), epoch, nil); err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", line, err, want)
		}
	}
	bad("-u https://user:secret@h:1", "-u has the scheme https: redline stress has no TLS over gRPC; use HOST:PORT, or --protocol HTTP")
	bad("-u http://user:secret@h:1/base", "-u http://***@h:1/base has a path, and gRPC has none: write HOST:PORT")
	bad("-u ftp://user:secret@h:1", "-u ftp://***@h:1 has the scheme ftp: write HOST:PORT")
	bad("--protocol HTTP -u ftp://h:1", "-u has the scheme ftp: use HOST:PORT, http:// or https://")
	bad("--protocol HTTP -u http://user:sec%ret@h:1", `-u "h:1" is not an address: use HOST:PORT or http://HOST:PORT`)
	bad("-u http://user:sec/ret@h:1", "-u http://***@h:1 has a path, and gRPC has none: write HOST:PORT")
}

// The command of a failure means the same run.
func TestArgsReadBack(t *testing.T) {
	line := "-r 5 -t 4 -u h:1 --weights valid=1,idle=2 --rare-weights no-end=1 --rare 0.25 --common-contexts 3 --rare-contexts 1 " +
		"--length-mean 4 --length-deviation 2 --values 10 --first-id 7 --id-block 50 --timeout 1s --idle-time 3s -x 2 --string-ids --back-to-back m"
	o, err := Parse(strings.Fields(line), epoch, nil)
	if err != nil {
		t.Fatal(err)
	}
	again, err := Parse(o.args(), epoch, nil)
	if diff := cmp.Diff(o, again, unread); err != nil || diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
}

func TestReport(t *testing.T) {
	s := &Summary{
		Model: "m", Seed: 7, Took: 1500 * time.Millisecond, Cuts: 2,
		Tally: Tally{
			Common: [numPatterns]int{Valid: 10, NoStart: 1}, Rare: [numPatterns]int{NoEnd: 3}, Ended: 14, Requests: 200, Checked: 198,
			RefusedExpected: 1, RefusedAsExpected: 1, Faults: map[Fault]int{WrongAnswer: 1, LostEnd: 2}, Disturbed: 4, Expired: 1,
		},
		Places:   []Place{{1, 1, 14, 1000, 2000, 3000, 4000}, {3, 4, 9, 1e6, 2e6, 3e6, 4e6}, {65, 0, 1, 5e3, 5e3, 5e3, 5e3}},
		Failures: make([]*Failure, 3),
	}
	want := `Patterns sent   common  rare
  valid             10     0
  valid-valid        0     0
  valid-no-end       0     0
  no-end             0     3
  no-start           1     0

Requests sent           200
Results checked         198
Errors expected           1
Errors got                1
Wrong answers             1
Timeouts                  0
Fault: END was lost       2
Connections cut           2
Sequences disturbed       3
Expired in the backlog    1

Latency by position (usec)  requests   avg   p50   p99   max
  1                               14     1     2     3     4
  3 to 4                           9  1000  2000  3000  4000
  65 and on                        1     5     5     5     5

FAILED: 3 of 14 iterations in 1.5s; the seed is 7
`
	if diff := cmp.Diff(want, s.Text()); diff != "" {
		t.Error(diff)
	}
}

func TestStory(t *testing.T) {
	f := &Failure{
		Fault: WrongAnswer, Text: "expected 3, got 4, which is +1", Thread: 2, Iteration: 17, ID: "201", Pattern: "valid", Lengths: []int{3},
		History: []Event{
			{Step: Step{Start: true, Value: 1}, Sent: 1e6, Took: 25e5, Want: 1, Answer: 1, Answered: true},
			{Step: Step{Value: 2, Position: 1}, Sent: 1e6, Took: 4e6, Want: 3, Answer: 4, Answered: true},
		},
		Replay: "redline stress sequence m -r 1 --replay 2:17",
	}
	want := `FAILED: wrong answer: expected 3, got 4, which is +1
  thread_2, iteration 17, correlation id 201, pattern valid, length 3
  request  flags  value  expected  answer   sent at      took
  1        START      1         1       1  1.000 ms  2.500 ms
  2            -      2         3       4  1.000 ms  4.000 ms
  replay: redline stress sequence m -r 1 --replay 2:17
`
	if diff := cmp.Diff(want, f.Report()); diff != "" {
		t.Error(diff)
	}
}

func TestPlaces(t *testing.T) {
	for position, want := range map[int][2]int{0: {1, 1}, 1: {2, 2}, 2: {3, 4}, 3: {3, 4}, 4: {5, 8}, 15: {9, 16}, 63: {33, 64}, 64: {65, 0}, 9999: {65, 0}} {
		if first, last := placeRange(placeOf(position)); first != want[0] || last != want[1] {
			t.Errorf("position %d is in %d to %d, want %v", position, first, last, want)
		}
	}
}

// A run of a written plan is the same run, with the options of the second command line.
func TestAWrittenPlanIsRunAgain(t *testing.T) {
	f := func(line, more, same string) {
		t.Helper()
		p, err := Parse(strings.Fields(line), epoch, nil)
		if err != nil {
			t.Fatal(err)
		}
		own, err := json.Marshal(p)
		if err != nil {
			t.Fatal(err)
		}
		text, err := json.Marshal(p.With(func(c *plan.Plan) { c.Own, c.Target.URL = own, "127.0.0.1:9" }).Public()) // the address of --cut
		if err != nil {
			t.Fatal(err)
		}
		var written plan.Plan
		if err := json.Unmarshal(text, &written); err != nil {
			t.Fatal(err)
		}
		got, err := Again(&written, strings.Fields(more), nil)
		if err != nil {
			t.Fatalf("%s, %s: %v", line, more, err)
		}
		want, err := Parse(strings.Fields(same), epoch, nil)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, got, unread); d != "" {
			t.Errorf("%s, %s: %s", line, more, d)
		}
	}
	f("", "", "")
	f("m -t 4 --rare 0.25 --unary -i 3 --weights valid=1,no-end=2.5 --string-ids --timeout 9s --cut 1s -u h:1", "", "m -t 4 --rare 0.25 --unary -i 3 --weights valid=1,no-end=2.5 --string-ids --timeout 9s --cut 1s -u h:1")
	f("m -t 4 --duration 5s -i 9 --json a --label n", "-t 6 --json b", "m -t 6 --duration 5s -i 9 --json b --label n")
	f("m -r 7 --embedded", "-u h:1 --protocol HTTP", "m -r 7 -u h:1 --protocol HTTP")
	f("m -u h:1", "--protocol HTTP", "m --protocol HTTP")
}
