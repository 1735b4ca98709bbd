package flags_test

import (
	"errors"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/redline-bench/redline/internal/option"
	"github.com/redline-bench/redline/internal/pacompat/flags"
)

// words splits a line as a shell would, as far as double quotes go.
func words(line string) []string {
	var out []string
	word, open, some := "", false, false
	for _, c := range line {
		switch {
		case c == '"':
			open, some = !open, true
		case c == ' ' && !open:
			if some {
				out = append(out, word)
			}
			word, some = "", false
		default:
			word, some = word+string(c), true
		}
	}
	if some {
		out = append(out, word)
	}
	return out
}

// inFolder moves the test to a folder with the files that the recorded command lines name.
func inFolder(t *testing.T) {
	t.Helper()
	t.Chdir(t.TempDir())
	for name, text := range map[string]string{
		"f1": "", "f2": "", "one.json": `{"data":[{"a":1}]}`,
		"j1.json": `[]`, "j2.json": `{}`, "j3.json": `{"data":[]}`, "j4.json": `{"data":{}}`,
		"j5.json": `{"data":[1],"x":1}`, "j6.json": `{"data":[1,2]`,
	} {
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir("d1", 0o755); err != nil {
		t.Fatal(err)
	}
}

// said is the error of a command line, or what else comes of it.
func said(program flags.Program, line string) string {
	_, _, err := flags.Parse(program, words(line), nil)
	switch {
	case err == nil:
		return "ok"
	case errors.Is(err, flags.ErrVersion):
		return "version"
	case errors.Is(err, option.ErrHelp):
		return "help"
	}
	return err.Error()
}

// departs are command lines that perf_analyzer accepts by reading less than what is written.
var departs = map[string]bool{
	"-m x --percentile 4294967297": true, "-m x --shape :1": true, `-m x --shape "a: 3"`: true,
	"-m x --ssl-https-verify-peer a": true, "-m x --ssl-https-verify-peer 1abc": true,
}

// TestRecorded holds perf_analyzer mode to what perf_analyzer accepts and refuses, as it was recorded. What it refuses has one clear line.
func TestRecorded(t *testing.T) {
	recorded, err := os.ReadFile("testdata/original.txt")
	if err != nil {
		t.Fatal(err)
	}
	inFolder(t)
	cases := 0
	for block := range strings.SplitSeq(string(recorded), "\n\n") {
		line, want, ok := strings.Cut(strings.TrimSpace(block), "\n")
		command, isCase := strings.CutPrefix(line, "$ ")
		if !ok || !isCase {
			continue
		}
		cases++
		if departs[command] {
			continue
		}
		accepted := regexp.MustCompile(`(?m)^\s*(ok|version)$`).MatchString(want)
		got := said(flags.PerfAnalyzer, command)
		if (got == "ok" || got == "version") != accepted || strings.Contains(got, "\n") {
			t.Errorf("%s: %s, and perf_analyzer says %s", command, got, want)
		}
	}
	if cases < 300 {
		t.Errorf("only %d cases read", cases)
	}
}

// TestDepartures lists where perf_analyzer mode differs on purpose: perf_analyzer aborts, hangs, or starts nonsense.
func TestDepartures(t *testing.T) {
	inFolder(t)
	f := func(want string, lines ...string) {
		t.Helper()
		for _, line := range lines {
			if got := said(flags.PerfAnalyzer, line); !strings.Contains(got, want) {
				t.Errorf("%s: %q lacks %q", line, got, want)
			}
		}
	}
	f("help", "-h", "--help", "-m x --hel")
	f("--measurement-interval is a whole number of at least 1", "-p 0 --help", "-m x -p 30000000000000000000000")
	f("ok", "-m x -u=localhost:1 -i=grpc -p=5", "-m x --concurrency-range 1:-1", "-m x --fixed-schedule --input-data one.json", "-m x -p 5s", "-m x --request-count 29.5")
	f("--request-rate-range has numbers of requests a second", "-m x --request-rate-range 1e400", "-m x --request-rate-range nan", "-m x --request-rate-range 1:inf")
	f("--sequence-length-variation is a percentage", "-m x --sequence-length-variation nan")
	f("-H is 'Name: value'", "-m x -H foo", "-m x -H :v")
	f("exclude each other", "-m x --request-rate-range 3 --fixed-schedule", "-m x --request-rate-range 3 -d", "-m x --request-count 5 --fixed-schedule")
	f("--fixed-schedule needs its requests", "-m x --fixed-schedule", "--fixed-schedule -z")
	f("is not a file", "-m x --fixed-schedule --input-data d1")
	f("has no requests", "-m x --fixed-schedule --input-data j3.json")
	f("and nothing else", "-m x --fixed-schedule --input-data j1.json", "-m x --fixed-schedule --input-data j2.json", "-m x --fixed-schedule --input-data j4.json")
	f("is not valid JSON", "-m x --fixed-schedule --input-data j6.json")
	f("must be lower", "-m x --fixed-schedule --input-data one.json --warmup-request-count 1")
}

// Every option of perf_analyzer that asks for a feature of its own is accepted.
func TestFeatures(t *testing.T) {
	inFolder(t)
	f := func(line string) {
		t.Helper()
		if _, _, err := flags.Parse(flags.PerfAnalyzer, words(line), nil); err != nil {
			t.Errorf("%s: %v", line, err)
		}
	}
	f("-m x --service-kind triton")
	f("-m x --service-kind torchserve --input-data one.json")
	f("-m x --service-kind=openai --endpoint v1 --async --input-data one.json")
	f("-m x --endpoint v1/chat --grpc-method a/b --model-repository d1")
	f("-m x -i grpc --streaming")
	f("-m x --shared-memory none --output-shared-memory-size 5")
	f("-m x --shared-memory system")
	f("-m x --shared-memory cuda")
	f("-m x -i grpc --streaming --periodic-concurrency-range 1:2 --profile-export-file p")
	f("-m x --request-period 5")
	f("-m x --fixed-schedule --input-data one.json")
	f("-m x --collect-metrics")
	f("-m x --trace-level OFF")
	f("-m x --trace-rate 5")
	f("-m x --trace-count 5")
	f("-m x --log-frequency 5")
	f(`-m x --bls-composing-models ""`)
	f("-m x --bls-composing-models a")
	f("-m x --sequence-length 5")
	f("-m x --sequence-length-variation 5")
	f("-m x --sequence-id-range 5")
	f("-m x --num-of-sequences 5")
	f("-m x --serial-sequences")
	f("-m x -i grpc --request-parameter a:b:int")
	f("-m x --enable-mpi")
}

func TestErrors(t *testing.T) {
	own := func(line, message string) {
		t.Helper()
		if d := cmp.Diff(message, said(flags.Redline, line)); d != "" {
			t.Errorf("%s: %s", line, d)
		}
	}
	own("-Q", "unknown option '-Q'")
	own("-m x stray", `unexpected argument "stray"`)
	own("--concurency-range 4", "unknown option '--concurency-range'; did you mean --concurrency-range?")
	own("-m x -async", "option '-async' has two dashes: --async")
	own("--in x", "option '--in' could be --input-data or --input-tensor-format")
	own("-m x --request-distribution x", "--request-distribution is poisson or constant, not \"x\"")
	own("-m x --request-rate-range 1 --concurrency-range 1", "--concurrency-range and --request-rate-range exclude each other: leave one out")
	own("-m x --latency-from start", `--latency-from is scheduled or send, not "start"`)
	own("-m x --max-error-rate 101", "--max-error-rate is a percentage from 0 to 100, not \"101\"")
	own("-m x --max-error-rate nan", "--max-error-rate is a percentage from 0 to 100, not \"nan\"")
	own("-m x --stages 10", `--stages is a list of LEVEL:TIME, as "10:30s,10-50:1m", not "10"`)
	own("-m x --stages 10:5s --request-rate-range 5", "--request-rate-range and --stages exclude each other, and each is given once")
	own("-m x --stages 10:5s --request-count 5", "--stages and --request-count exclude each other: the stages say how long is measured")
	own("-m x --duration 5s -p 100", "--duration and --measurement-interval exclude each other")
	own("-m x --duration 5x", `--duration is a time such as 5s or 250ms, or a number of seconds, not "5x"`)
	own("-m x --think-time 30x", "--think-time is a time of at most 24h, such as 100ms or 100ms±20ms, not '30x'")
	own("-m x --think-time 1s+-2s", "--think-time has a spread that is longer than the time itself: '1s+-2s'")
	own("-m x --think-time 1s --request-rate-range 5", "--think-time needs a closed loop: use it with --concurrency-range alone")
	own("-m x --request-timeout 0s", `--request-timeout is a time above 0, such as 5s or 250ms, not "0s"`)
	own("-m x -p 0", `--measurement-interval is a time above 0, such as 5s or 250ms, not "0"`)
	own("-m x -l 5x", `--latency-threshold is a time such as 5s or 250ms, or a number of milliseconds, not "5x"`)
	own("-m x -b 1e3", `-b is a whole number of at least 1, not "1e3"`)
	own("-m x --concurrency-range 1:8x", `--concurrency-range has the whole numbers of requests in flight, not "8x"`)
	own("-m x --concurrency-range 8:1", "--concurrency-range 8:1 ends below its start: write the lower number first")
	own("-m x --request-rate-range 8:1", "--request-rate-range 8:1 ends below its start: write the lower number first")
	own("-m x -u grpc://h:1", "-u grpc://h:1 is a gRPC address: add -i grpc, or write http://HOST:PORT")
	own("-m x --connections -1", `--connections is a whole number of at least 0, not "-1"`)
	own("-m x --seed -1", `--seed is a whole number from 0 to 18446744073709551615, not "-1"`)
	own("-m x --embedded -u localhost:1", "-u and --embedded exclude each other: the embedded server chooses its own address")
	own("-m x --embedded-arg a", "--embedded-arg needs --embedded: without it no server is started")
	own("--embedded --service-kind dynamic_grpc --input-data .", "--embedded serves --service-kind triton only, not dynamic_grpc")
}
