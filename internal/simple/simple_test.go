package simple_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/redline-bench/redline/internal/option"
	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/record"
	"github.com/redline-bench/redline/internal/service"
	"github.com/redline-bench/redline/internal/simple"
	"github.com/redline-bench/redline/internal/tensor"
)

// parse reads a command line.
func parse(line string) (*simple.Options, error) {
	o := simple.Defaults()
	return o, o.Parse(strings.Fields(line), nil)
}

// planned is the plan of a command line.
func planned(t *testing.T, line string) simple.Plan {
	t.Helper()
	o, err := parse(line)
	if err != nil {
		t.Fatalf("%s: %v", line, err)
	}
	p, err := o.Plan()
	if err != nil {
		t.Fatalf("%s: %v", line, err)
	}
	return p
}

// wanted is the plan with the defaults of simple_perf_client.py, changed.
func wanted(protocol plan.Protocol, change func(*plan.Plan)) *plan.Plan {
	p := plan.Default()
	p.Target.Over(protocol)
	p.Target.Call = plan.Sync
	p.Input.BatchSet, p.Input.Source, p.Input.StringData = true, plan.Zero, "0"
	p.Measure.Window, p.Measure.RequestCount, p.Measure.MinRequests, p.Measure.WarmupCount, p.Measure.StopOnFailure = plan.CountWindows, 1000, 1000, 500, true
	change(&p)
	return &p
}

func TestDefaultsAreTheOriginals(t *testing.T) {
	f := func(line string, want *plan.Plan) {
		t.Helper()
		if got := planned(t, line); got.Elements != 1 || cmp.Diff(want, got.Plan) != "" {
			t.Errorf("%s: %d elements\n%s", line, got.Elements, cmp.Diff(want, got.Plan))
		}
	}
	f("-m x", wanted(plan.HTTP, func(p *plan.Plan) { p.Target.Model = "x" }))
	f("-m x -w -1 -i grpc", wanted(plan.GRPC, func(p *plan.Plan) { p.Target.Model, p.Measure.WarmupCount = "x", 0 }))
}

func TestEveryOptionOfTheOriginal(t *testing.T) {
	want := wanted(plan.GRPC, func(p *plan.Plan) {
		p.Verbose, p.Output.CSV = 1, "f"
		p.Target.Model, p.Target.Version, p.Target.URL, p.Input.Batch = "m", "3", "h:1", 4
		p.Measure.RequestCount, p.Measure.MinRequests, p.Measure.WarmupCount = 6, 6, 0
	})
	for _, line := range []string{
		"-v -m m -x 3 -b 4 -s 5 -u h:1 -i gRPC -c 6 -w 0 --csv f",
		"--verbose --model-name m --model-version=3 --batch-size 4 --shape 5 --url h:1 --protocol GRPC --iteration_count 6 --warmup_count 0 --csv=f",
		"--verb --model-n m --model-v=3 --batch 4 --sh 5 --ur h:1 --prot grpc --iteration-count 6 --warmup-count=0 --cs=f",
	} {
		got := planned(t, line)
		if diff := cmp.Diff(want, got.Plan); got.Elements != 5 || diff != "" {
			t.Errorf("%s: %d elements\n%s", line, got.Elements, diff)
		}
	}
}

// The result has the whole plan: with the server, the files and the outcome.
func TestThePlanIsWhole(t *testing.T) {
	got := planned(t, "-m x --embedded --json f.json --label monday --concurrency 3")
	want := wanted(plan.HTTP, func(p *plan.Plan) {
		p.Target.Model, p.Target.Embedded, p.Output.ResultJSON, p.Outcome.Label, p.Load.Concurrency.Start = "x", true, "f.json", "monday", 3
	})
	if diff := cmp.Diff(want, got.Plan); diff != "" {
		t.Error(diff)
	}
	want.Input.Shapes = map[string][]int64{"INPUT0": {1}}
	if diff := cmp.Diff(want, got.For("INPUT0")); diff != "" {
		t.Error(diff)
	}
}

func TestParseRefuses(t *testing.T) {
	f := func(line, want string) {
		t.Helper()
		if _, err := parse(line); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", line, err, want)
		}
	}
	f("-m x -c many", `--iteration_count is a whole number, not "many"`)
	f("-m x --concurrency 0", "--concurrency is a whole number of at least 1")
	f("-m x -s 1.5", "--shape is a whole number")
	f("-m x -i ftp", `--protocol is HTTP or gRPC, not "ftp"`)
	f("-m x y", `unexpected argument "y"`)
	f("-m x -q", "unknown option '-q'")
	if _, err := parse("-h"); !errors.Is(err, option.ErrHelp) {
		t.Errorf("-h: %v", err)
	}
}

func TestValuesThatNoRunCanBeMadeOf(t *testing.T) {
	f := func(line, want string) {
		t.Helper()
		o, err := parse(line)
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		if _, err := o.Plan(); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%q: %q, want %q", line, got, want)
		}
	}
	f("-m x -w -5 -s 0", "")
	f("-m x -u https://h:1", "")
	f("-m x -c 0", "-c 0: at least one request must be measured")
	f("-m x -b 0", "-b 0: a request has at least one inference")
	f("-m x -b -1", "negative dimensions are not allowed")
	f("-m x -s -1", "negative dimensions are not allowed")
}

// batchOf is a plan of requests with this batch size.
func batchOf(n int) simple.Plan { return simple.Plan{Plan: &plan.Plan{Input: plan.Input{Batch: n}}} }

func spec(dims ...int64) service.TensorSpec {
	return service.TensorSpec{Name: "T", Type: tensor.FP32, Shape: dims}
}

func TestCheckInTheWordsOfTheOriginal(t *testing.T) {
	f := func(want string, size, batch int, in, out []service.TensorSpec) {
		t.Helper()
		got := ""
		if err := simple.Check(&service.Model{Name: "m", MaxBatch: batch, Inputs: in, Outputs: out}, batchOf(size)); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	const one = 1
	free, fixed, matrix := []service.TensorSpec{spec(-1)}, []service.TensorSpec{spec(16)}, []service.TensorSpec{spec(-1, -1)}
	f("", one, 8, free, free)
	f("", one, 0, free, free)
	f("", 3, 8, free, free)
	f("expecting 1 input, got 2", one, 8, append(free, spec(-1)), free)
	f("expecting 1 output, got 0", one, 8, free, nil)
	f("expecting input to have 2 dimensions, model 'm' input has 3", one, 8, matrix, free)
	f("expecting output to have 1 dimensions, model 'm' output has 2", one, 0, free, matrix)
	f("expecting input to have variable shape [-1], model 'm' input has [-1, 16]", one, 8, fixed, free)
	f("expecting output to have variable shape [-1], model 'm' output has [16]", one, 0, free, fixed)
	f("model 'm' does not support batching: omit -b 2", 2, 0, free, free)
}

func TestTheReportReadsAsTheOriginals(t *testing.T) {
	f := simple.Figures{
		Concurrency: 1, Throughput: 489.1483945806504, Avg: 2.0428649584452314,
		P50: 1.7317533493041992, P90: 3.108382225036623, P95: 4.142487049102784, P99: 6.536839008331298,
	}
	wantText := "Throughput: 489.1483945806504 infer/sec\nLatencies:\n\tAvg: 2.0428649584452314 ms\n\tp50: 1.7317533493041992 ms\n" +
		"\tp90: 3.108382225036623 ms\n\tp95: 4.142487049102784 ms\n\tp99: 6.536839008331298 ms\n"
	if diff := cmp.Diff(wantText, f.Text()); diff != "" {
		t.Error(diff)
	}
	wantCSV := "Concurrency,Inferences/Second,p50 latency,p90 latency,p95 latency,p99 latency\n" +
		"1,489.1483945806504,1731.7533493041992,3108.382225036623,4142.487049102784,6536.839008331298"
	if diff := cmp.Diff(wantCSV, f.CSV()); diff != "" {
		t.Error(diff)
	}
}

func TestFailuresInOneLine(t *testing.T) {
	f := func(want string, early bool, proto plan.Protocol, err error) {
		t.Helper()
		got, out := simple.Explain(err, proto)
		if got != want || out != early {
			t.Errorf("got %q, %t, want %q, %t", got, out, want, early)
		}
	}
	refused := &net.OpError{
		Op: "dial", Addr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 19999}, Err: os.NewSyscallError("connect", syscall.ECONNREFUSED),
	}
	f("failed to retrieve the metadata: [404] Request for unknown model: 'x' is not found", true, plan.HTTP,
		&service.Error{Op: "model metadata", Class: record.Server, Code: 404, Text: "Request for unknown model: 'x' is not found"})
	f("failed to retrieve the config: [StatusCode.NOT_FOUND] gone", true, plan.GRPC,
		&service.Error{Op: "model config", Class: record.Server, Code: 5, Text: "gone"})
	f("failed to retrieve the metadata: [StatusCode.UNAVAILABLE] failed to connect to all addresses; last error: UNKNOWN: "+
		"ipv4:127.0.0.1:19999: Failed to connect to remote host: connect: Connection refused (111)", true, plan.GRPC,
		&service.Error{Op: "model metadata", Class: record.Connect, Code: 14, Addr: "localhost:19999", Err: refused})
	f("failed to retrieve the metadata: [Errno 111] Connection refused (is the server at h:1?)", false, plan.HTTP,
		&service.Error{Op: "model metadata", Class: record.Connect, Addr: "h:1", Err: refused})
	f("inference failed: [400] too big by far", false, plan.HTTP,
		fmt.Errorf("run: %w", &service.Error{Op: "infer", Class: record.Server, Code: 400, Text: "too big\n by far"}))
	f("something else", false, plan.HTTP, errors.New("something\nelse"))
}

// A run of a written plan is the same run, with the options of the second command line.
func TestAWrittenPlanIsRunAgain(t *testing.T) {
	f := func(line, more, same string) {
		t.Helper()
		p := planned(t, line)
		own, err := json.Marshal(p)
		if err != nil {
			t.Fatal(err)
		}
		text, err := json.Marshal(p.For("INPUT0").With(func(c *plan.Plan) { c.Own = own }).Public())
		if err != nil {
			t.Fatal(err)
		}
		var written plan.Plan
		if err := json.Unmarshal(text, &written); err != nil {
			t.Fatal(err)
		}
		o, err := simple.Again(&written)
		if err != nil {
			t.Fatal(err)
		}
		if err := o.Parse(strings.Fields(more), nil); err != nil {
			t.Fatal(err)
		}
		got, err := o.Plan()
		if err != nil {
			t.Fatalf("%s, %s: %v", line, more, err)
		}
		want := planned(t, same)
		if d := cmp.Diff(want.Plan, got.Plan); d != "" || want.Elements != got.Elements {
			t.Errorf("%s, %s: %d elements, %s", line, more, got.Elements, d)
		}
	}
	f("-m x -s 16 -c 7 -w 3 -b 2 -v", "", "-m x -s 16 -c 7 -w 3 -b 2 -v")
	f("-m x -i grpc -u h:1 --csv a.csv --json a.json --label n --assert p99<1s", "-c 9 --csv b.csv", "-m x -i grpc -u h:1 -c 9 --csv b.csv --label n --assert p99<1s")
	f("-m x --embedded", "-u h:1", "-m x -u h:1")
	f("-m x", "-i grpc", "-m x -i grpc")
	f("-m x -u http://me:hush@h:1", "-u http://me:hush@h:1", "-m x -u http://me:hush@h:1")
	f("-m x --input-data .", "--shape 4", "-m x --input-data . --shape 4")
}

// A written plan lacks its secrets, and says so.
func TestAWrittenPlanLacksSecrets(t *testing.T) {
	written := planned(t, "-m x -u http://me:hush@h:1").Public()
	written.Own = []byte(`{"elements":1}`)
	o, err := simple.Again(written)
	if err != nil {
		t.Fatal(err)
	}
	if err := o.Parse(nil, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := o.Plan(); err == nil || err.Error() != "the result keeps no secrets: give -u again" {
		t.Error(err)
	}
}
