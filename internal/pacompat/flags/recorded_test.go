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
	"github.com/redline-bench/redline/internal/plan"
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

// said renders what Parse says: warnings, then one line.
func said(face plan.Program, args []string) string {
	_, notes, err := flags.Parse(face, "perf_analyzer", args, nil)
	lines := notes.Warnings
	var u *flags.UsageError
	errors.As(err, &u)
	switch {
	case err == nil:
		lines = append(lines, "ok")
	case errors.Is(err, flags.ErrVersion):
		lines = append(lines, "version")
	case errors.Is(err, option.ErrHelp):
		lines = append(lines, "help")
	case u == nil:
		lines = append(lines, "unexpected: "+err.Error())
	case u.ShowUsage:
		lines = append(lines, "usage: "+u.Text)
	default:
		lines = append(lines, "Error: "+u.Text)
	}
	return strings.Join(lines, "\n")
}

// behindNumber is the warning about text behind a number, which perf_analyzer ignores silently.
var behindNumber = regexp.MustCompile(`WARNING: .* is read as .*\n`)

// TestRecorded holds perf_analyzer mode to recorded responses of perf_analyzer. redline profile refuses the same in words of its own.
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
		want = strings.ReplaceAll(strings.TrimSpace(want), "\n  ", "\n")
		got := behindNumber.ReplaceAllString(said(plan.PerfAnalyzer, words(command)), "")
		if d := cmp.Diff(want, strings.TrimSpace(got)); d != "" {
			t.Errorf("%s: %s", command, d)
		}
		if _, usage, refused := strings.Cut(want, "usage: "); refused {
			ours := said(plan.Redline, words(command))
			_, ours, _ = strings.Cut(ours, ": ")
			if ours == usage || strings.HasPrefix(ours, "Failed to parse") || strings.HasSuffix(ours, ".") {
				t.Errorf("%s: redline profile says %q in perf_analyzer's words", command, ours)
			}
		}
	}
	if cases < 300 {
		t.Errorf("only %d cases read", cases)
	}
}

// TestDepartures lists where perf_analyzer mode differs on purpose: perf_analyzer aborts, hangs, or starts nonsense.
func TestDepartures(t *testing.T) {
	inFolder(t)
	f := func(line, want string) {
		t.Helper()
		if d := cmp.Diff(want, said(plan.PerfAnalyzer, words(line))); d != "" {
			t.Errorf("%s: %s", line, d)
		}
	}
	f("-h", "help")
	f("--help", "help")
	f("-m x --hel", "help")
	f("-p 0 --help", "usage: Failed to parse --measurement-interval (-p). The value must be > 0 msec.")
	f("-m x -u=localhost:1 -i=grpc -p=5", "ok")

	// Numbers out of range.
	f("-m x -p 3000000000", "Error: Failed to parse -p. The number is out of range: 3000000000")
	f("-m x --measurement-interval 3000000000", "Error: Failed to parse --measurement-interval. The number is out of range: 3000000000")
	f("-m x -s 1e39", "Error: Failed to parse -s. The number is out of range: 1e39")
	f("-m x --request-rate-range 1e400", "Error: Failed to parse --request-rate-range. The number is out of range: 1e400")
	f("-m x --shape a:99999999999999999999999", "Error: Failed to parse --shape. The number is out of range: a:99999999999999999999999")
	f("-m x --concurrency-range 99999999999999999999999", "Error: Failed to parse --concurrency-range. The number is out of range: 99999999999999999999999")
	f("-m x --concurrency-range -1", "Error: Failed to parse --concurrency-range. The number is out of range: -1")
	f("-m x --concurrency-range 1:-1", "ok")
	f("-m x --session-concurrency -1", "usage: Session concurrency mode is only supported with OpenAI service kind.")

	// No numbers.
	f("-m x --request-rate-range nan", "usage: Failed to parse --request-rate-range. Invalid value provided: nan")
	f("-m x --request-rate-range 1:inf", "usage: Failed to parse --request-rate-range. Invalid value provided: 1:inf")
	f("-m x --sequence-length-variation nan", "usage: Failed to parse --sequence-length-variation. Invalid value provided: nan")

	// Uncaught exceptions.
	f("-m x -H foo", `Error: Failed to parse -H. A header is written 'Name: value', on one line: "foo"`)
	f("-m x -H :v", `Error: Failed to parse -H. A header is written 'Name: value', on one line: ":v"`)
	f("-m x --request-rate-range 3 --fixed-schedule", "Error: Cannot use both RequestRate and FixedSchedule inference load modes.")
	f("-m x --request-rate-range 3 -d", "Warning: -d is deprecated and will be removed in an upcoming version. Use --concurrency-range instead.\n"+
		"Error: Cannot use both RequestRate and DeprecatedConcurrency inference load modes.")
	f("-m x --request-count 5 --fixed-schedule", "Error: Cannot specify `--request-count` when using `--fixed-schedule`. The request count will be equal "+
		"to the number of requests in the input data minus the warmup request count.")
	f("-m x --fixed-schedule", "Error: When using `--fixed-schedule`, you must provide a dataset using `--input-data`.")
	f("--fixed-schedule -z", "Warning: -z is deprecated and will be removed in an upcoming version. Use --input-data=zero instead.\n"+
		"Error: When using `--fixed-schedule`, you must provide a dataset using `--input-data`.")
	f("-m x --fixed-schedule --input-data d1", "Error: 'd1' is not a file. When using `--fixed-schedule`, all paths passed to --input-data must be files.")
	f("-m x --fixed-schedule --input-data j3.json", "Error: The dataset provided is empty. When using `--fixed-schedule`, the dataset must contain at least one payload.")
	for _, j := range []string{"j1", "j2", "j4", "j5"} {
		f("-m x --fixed-schedule --input-data "+j+".json", "Error: Input data JSON file must contain an object with a single 'data' member "+
			"that is an array. Review JSON file: '"+j+".json'")
	}
	f("-m x --fixed-schedule --input-data j6.json", "Error: JSON parse error: unexpected end of JSON input. Review JSON file for formatting errors: 'j6.json'")
	f("-m x --fixed-schedule --input-data one.json --warmup-request-count 1",
		"Error: The warmup request count must be less than the total number of payloads in the dataset.")
	f("-m x --fixed-schedule --input-data one.json", "ok")
}

// Every option of perf_analyzer that asks for a feature of its own is accepted.
func TestFeatures(t *testing.T) {
	inFolder(t)
	f := func(line string) {
		t.Helper()
		if _, _, err := flags.Parse(plan.PerfAnalyzer, "perf_analyzer", words(line), nil); err != nil {
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

func TestStderr(t *testing.T) {
	f := func(face plan.Program, line, head, tail string) {
		t.Helper()
		_, _, err := flags.Parse(face, "/opt/perf_analyzer", words(line), nil)
		var u *flags.UsageError
		if !errors.As(err, &u) {
			t.Fatalf("%s: %v", line, err)
		}
		got := u.Stderr(100)
		if !strings.HasPrefix(got, head) || !strings.HasSuffix(got, tail) {
			t.Errorf("%s: %q", line, got)
		}
		if head == tail && got != head {
			t.Errorf("%s: %q, want %q", line, got, head)
		}
	}
	f(plan.PerfAnalyzer, "", "Usage: /opt/perf_analyzer [options]\n", "\nError: Failed to parse -m (model name). The value must be specified.\n\n")
	f(plan.PerfAnalyzer, "-q", "Error: Invalid short option '-q'\n", "Error: Invalid short option '-q'\n")
	f(plan.PerfAnalyzer, "-m x -p 9999999999", "Error: Failed to parse -p. The number is out of range: 9999999999\n",
		"Error: Failed to parse -p. The number is out of range: 9999999999\n")
	own := func(line, message string) {
		t.Helper()
		text := "redline profile: " + message + "\nsee redline profile --help\n"
		f(plan.Redline, line, text, text)
	}
	own("-Q", "unknown option '-Q'")
	own("-m x stray", `unexpected argument "stray"`)
	own("--concurency-range 4", "unknown option '--concurency-range'; did you mean --concurrency-range?")
	own("-m x -async", "option '-async' has two dashes: --async")
	own("--in x", "option '--in' could be --input-data or --input-tensor-format")
	own("-m x --request-distribution x", "--request-distribution is one of 'poisson', 'constant', not 'x'")
	own("-m x --request-rate-range 1 --concurrency-range 1", "--request-rate-range and --concurrency-range exclude each other: leave one out")
	own("-m x --latency-from start", `--latency-from is scheduled or send, not "start"`)
	own("-m x --max-error-rate 101", "--max-error-rate is a percentage from 0 to 100, not \"101\"")
	own("-m x --max-error-rate nan", "--max-error-rate is a percentage from 0 to 100, not \"nan\"")
	own("-m x --stages 10", `--stages is a list of LEVEL:TIME, as "10:30s,10-50:1m", not "10"`)
	own("-m x --stages 10:5s --request-rate-range 5", "--stages and --request-rate-range exclude each other, and each is given once")
	own("-m x --stages 10:5s --request-count 5", "--stages and --request-count exclude each other: the stages say how long is measured")
	own("-m x --duration 5s -p 100", "--duration and --measurement-interval exclude each other")
	own("-m x --duration 5x", `--duration is a time such as 5s or 250ms, or a number of seconds, not "5x"`)
	own("-m x --think-time 30x", "--think-time is a time of at most 24h, such as 100ms or 100ms±20ms, not '30x'")
	own("-m x --think-time 1s+-2s", "--think-time has a spread that is longer than the time itself: '1s+-2s'")
	own("-m x --think-time 1s --request-rate-range 5", "--think-time needs a closed loop: use it with --concurrency-range alone")
	own("-m x --request-timeout 0s", `--request-timeout is a time above 0, such as 5s or 250ms, not "0s"`)
	own("-m x -p 0", `--measurement-interval is a time above 0, such as 5s or 250ms, not "0"`)
	own("-m x -l 5x", `--latency-threshold is a time such as 5s or 250ms, or a number of milliseconds, not "5x"`)
	own("-m x -b 1e3", `-b is a number, not "1e3"`)
	own("-m x --concurrency-range 1:8x", `--concurrency-range is a number, not "8x"`)
	own("-m x --concurrency-range 8:1", "--concurrency-range 8:1 ends below its start: write the lower number first")
	own("-m x --request-rate-range 8:1", "--request-rate-range 8:1 ends below its start: write the lower number first")
	own("-m x -u grpc://h:1", "-u grpc://h:1 is a gRPC address: add -i grpc, or write http://HOST:PORT")
	own("-m x --connections -1", `--connections is a whole number of at least 0, not "-1"`)
	own("-m x --seed -1", `--seed is a whole number from 0 to 18446744073709551615, not "-1"`)
	own("-m x --embedded -u localhost:1", "-u and --embedded exclude each other: the embedded server chooses its own address")
	own("-m x --embedded-arg a", "--embedded-arg needs --embedded: without it no server is started")
	own("--embedded --service-kind dynamic_grpc --input-data .", "--embedded serves --service-kind triton only, not dynamic_grpc")
}
