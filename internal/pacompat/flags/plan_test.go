package flags_test

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/redline-bench/redline/internal/pace"
	"github.com/redline-bench/redline/internal/pacompat/flags"
	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/tensor"
)

// base is the plan of "-m x" in perf_analyzer mode.
func base() *plan.Plan {
	p := own()
	p.Outcome = plan.Outcome{}
	t, in := &p.Target, &p.Input
	t.Loose, t.LibcurlAgent, t.LazyDial, t.StrictRepository, t.OpaqueMessages = true, true, true, true, true
	t.Extensions, in.InputFormat, in.OutputFormat, in.FirstStream = plan.NeedExtensions, plan.BinaryTensors, plan.BinaryTensors, true
	p.Measure.FromSend, p.Measure.StopOnFailure = true, true
	p.Policies = plan.Policies{
		PerThread: true, OverlapSequences: true, BinarySteps: true, LenientIntervals: true, LeaveToServer: true, StopUnstable: true, AcceptUnstable: true,
		EndedOnly: true, NearestRank: true, WholeTime: true, LimitStable: true, IgnoreWarmup: true, NeedStatistics: true, BareReport: true, AllOrNothing: true,
	}
	p.Input.SequenceStartID, p.Input.SequenceIDRange = 1, math.MaxUint32
	return p
}

// own is the plan of "-m x" in redline profile.
func own() *plan.Plan {
	return &plan.Plan{
		Outcome: plan.DefaultOutcome(),
		Target: plan.Target{
			Kind: plan.Triton, Protocol: plan.HTTP, URL: "localhost:8000", Model: "x", Call: plan.Auto, Timeout: 600 * time.Second,
			TLS: plan.TLS{CertType: "PEM", KeyType: "PEM", VerifyHostLevel: 2},
		},
		Load: plan.Load{
			Mode:        plan.Concurrency,
			Concurrency: plan.IntRange{Start: 1, End: 1, Step: 1}, Rate: plan.FloatRange{Start: 1, End: 1, Step: 1},
			Distribution: plan.Constant, Search: plan.Linear, MaxThreads: 16,
		},
		Input: plan.Input{
			Batch: 1, Source: plan.Random, StringLength: 128, SharedMemory: plan.NoSharedMemory, OutputRegionSize: 102400,
			SequenceLength: 20, SequenceLengthVariation: 20, Sequences: 4,
		},
		Measure: plan.Measure{
			Window: plan.TimeWindows, Interval: 5 * time.Second, MinRequests: 50, Stability: 0.1, MaxTrials: 10, ValidErrorRate: 0.01,
		},
	}
}

// check compares the plan of a command line with base, changed by want, and that it survives JSON.
func check(t *testing.T, program flags.Program, line string, want func(p *plan.Plan)) {
	t.Helper()
	got, notes, err := flags.Parse(program, words("-m x "+line), nil)
	if err != nil {
		t.Errorf("%s: %v", line, err)
		return
	}
	if len(notes.Warnings) > 0 && !strings.Contains(notes.Warnings[0], "is an old option") && !strings.Contains(notes.Warnings[0], "is read as") {
		t.Errorf("%s: %q", line, notes.Warnings)
	}
	p := base()
	if program == flags.Redline {
		p = own()
	}
	want(p)
	if d := cmp.Diff(p, got); d != "" {
		t.Errorf("%s: %s", line, d)
	}
	roundTrip(t, got)
}

func roundTrip(t *testing.T, p *plan.Plan) {
	t.Helper()
	b, err := json.Marshal(p)
	if err != nil {
		t.Errorf("%+v: %v", p, err)
		return
	}
	var back plan.Plan
	if err := json.Unmarshal(b, &back); err != nil {
		t.Errorf("%s: %v", b, err)
	}
	again, err := plan.New(back)
	if d := cmp.Diff(p, again); d != "" {
		t.Errorf("JSON both ways: %s, %v", d, err)
	}
}

func TestTarget(t *testing.T) {
	inFolder(t)
	f := func(line string, want func(t *plan.Target)) {
		t.Helper()
		check(t, flags.PerfAnalyzer, line, func(p *plan.Plan) { want(&p.Target) })
	}
	grpc := func(t *plan.Target) { t.Protocol, t.URL, t.TLS = plan.GRPC, "localhost:8001", plan.TLS{} }
	f("", func(*plan.Target) {})
	f("-x 3", func(t *plan.Target) { t.Version = "3" })
	f("-i gRPC", grpc)
	f("-i grpc -u h:1", func(t *plan.Target) { grpc(t); t.URL = "h:1" })
	f("-u=h:1", func(t *plan.Target) { t.URL = "h:1" })
	f("-u h:1/", func(t *plan.Target) { t.URL = "h:1//" }) // one of them is the path's
	f("-i grpc --request-parameter a:x:BOOL --request-parameter b:7x:int --request-parameter c:x:int", func(t *plan.Target) {
		grpc(t)
		t.Parameters = []plan.Parameter{{Name: "a", Value: "false", Type: "bool"}, {Name: "b", Value: "7x", Type: "int"}, {Name: "c", Value: "x", Type: "int"}}
	})
	f("--bls-composing-models a:1:2,,b", func(t *plan.Target) {
		t.ComposingModels = []plan.ModelRef{{Name: "a", Version: "1:2"}, {}, {Name: "b"}}
	})
	f("--endpoint v1", func(t *plan.Target) { t.Endpoint = "v1" })
	f("-a", func(t *plan.Target) { t.Call = plan.Async })
	f("--sync", func(t *plan.Target) { t.Call = plan.Sync })
	f(`-H "A: b:c" -HX:`, func(t *plan.Target) {
		t.Headers = []plan.Header{{Name: "A", Value: " b:c"}, {Name: "X"}}
	})
	f("-i grpc --grpc-compression-algorithm gzip", func(t *plan.Target) { grpc(t); t.Compression = "gzip" })
	f("-i grpc --ssl-grpc-use-ssl true --ssl-grpc-root-certifications-file f1 --ssl-grpc-private-key-file f2 "+
		"--ssl-grpc-certificate-chain-file one.json --ssl-https-verify-peer 0", func(t *plan.Target) {
		grpc(t)
		t.TLS = plan.TLS{GRPC: true, CAFile: "f1", KeyFile: "f2", CertFile: "one.json"}
	})
	f("--ssl-grpc-use-ssl --ssl-https-ca-certificates-file f1 --ssl-https-private-key-file f2 --ssl-https-private-key-type DER "+
		"--ssl-https-client-certificate-file one.json --ssl-https-client-certificate-type DER "+
		"--ssl-https-verify-peer 0 --ssl-https-verify-host 0", func(t *plan.Target) {
		t.TLS = plan.TLS{
			CAFile: "f1", KeyFile: "f2", CertFile: "one.json", CertType: "DER", KeyType: "DER",
			SkipVerifyPeer: true, SkipVerifyHost: true,
		}
	})
	f("--ssl-https-verify-host 1", func(t *plan.Target) { t.TLS.VerifyHostLevel = 1 })
}

func TestLoad(t *testing.T) {
	inFolder(t)
	f := func(line string, want func(l *plan.Load)) {
		t.Helper()
		check(t, flags.PerfAnalyzer, line, func(p *plan.Plan) { want(&p.Load) })
	}
	f("--concurrency-range 4", func(l *plan.Load) { l.Concurrency.Start = 4 })
	f("--concurrency=2:20:3", func(l *plan.Load) {
		l.Concurrency, l.MaxThreads = plan.IntRange{Start: 2, End: 20, Step: 3}, 20
	})
	f("--concurrency-range 1:-1", func(l *plan.Load) { l.Concurrency.End, l.MaxThreads = math.MaxInt32, math.MaxInt32 })
	f("--request-rate-range 10:20.5:2", func(l *plan.Load) {
		l.Mode, l.Rate, l.MaxThreads = plan.RequestRate, plan.FloatRange{Start: 10, End: 20.5, Step: 2}, 4
	})
	f("--request-rate-range 10 --request-distribution poisson --max-threads 7", func(l *plan.Load) {
		l.Mode, l.Rate.Start, l.Distribution, l.MaxThreads, l.MaxThreadsSet = plan.RequestRate, 10, plan.Poisson, 7, true
	})
	f("--request-intervals f1 --binary-search", func(l *plan.Load) {
		l.Mode, l.Intervals, l.Search, l.MaxThreads = plan.CustomIntervals, "f1", plan.Single, 4
	})
	check(t, flags.Redline, "--stages 10:30s,10-50:1m", func(p *plan.Plan) {
		l := &p.Load
		l.Mode, l.Search, l.MaxThreads, p.Target.Call = plan.RequestRate, plan.Single, 64, plan.Async
		l.Stages = []pace.Stage{{From: 10, To: 10, Time: 30 * time.Second}, {From: 10, To: 50, Time: time.Minute}}
	})
	check(t, flags.Redline, "--duration 20s", func(p *plan.Plan) {
		p.Measure.Interval, p.Measure.OneWindow, p.Measure.MaxTrials = 20*time.Second, true, 1
	})
	f("-t 3 -c 5", func(l *plan.Load) { l.Concurrency = plan.IntRange{Start: 3, End: 5, Step: 1} })
	f("-d --request-rate-range 3", func(l *plan.Load) { l.Rate.Start = 3 })
	f("-d --request-intervals f1", func(*plan.Load) {})
	check(t, flags.PerfAnalyzer, "--concurrency-range 1:8 --binary-search -l 50", func(p *plan.Plan) {
		p.Load.Concurrency.End, p.Load.Search, p.Measure.LatencyLimit = 8, plan.Binary, 50*time.Millisecond
	})
}

func TestMeasure(t *testing.T) {
	f := func(line string, want func(m *plan.Measure)) {
		t.Helper()
		check(t, flags.PerfAnalyzer, line, func(p *plan.Plan) { want(&p.Measure) })
	}
	f("-p 1000 -p2000", func(m *plan.Measure) { m.Interval = 2 * time.Second })
	f("--measurement-interval 10abc", func(m *plan.Measure) { m.Interval = 10 * time.Millisecond })
	f("--measurement-mode count_windows --measurement-request-count 9", func(m *plan.Measure) { m.Window, m.MinRequests = plan.CountWindows, 9 })
	f("-s 50 -r 3", func(m *plan.Measure) { m.Stability, m.MaxTrials = 0.5, 3 })
	f("-s inf", func(m *plan.Measure) { m.Stability = math.MaxFloat32 / 100 })
	check(t, flags.Redline, "-p 2s -l 50ms -s 5% --request-timeout 30 --max-response-bytes 4MiB", func(p *plan.Plan) {
		p.Measure.Interval, p.Measure.LatencyLimit, p.Measure.Stability = 2*time.Second, 50*time.Millisecond, 0.05
		p.Target.Timeout, p.Target.MaxResponse = 30*time.Second, 4<<20
	})
	f("--percentile 95", func(m *plan.Measure) { m.Percentile = 95 })
	f("--percentile -1", func(*plan.Measure) {})
	f("--request-count 7 --request-count 9 --measurement-request-count 3 --warmup-request-count 2", func(m *plan.Measure) {
		m.RequestCount, m.MinRequests, m.WarmupCount, m.Window = 7, 7, 2, plan.CountWindows
	})
}

func TestInputAndOutput(t *testing.T) {
	inFolder(t)
	f := func(line string, want func(p *plan.Plan)) {
		t.Helper()
		check(t, flags.PerfAnalyzer, line, want)
	}
	f("-b 8", func(p *plan.Plan) { p.Input.Batch, p.Input.BatchSet = 8, true })
	f("--input-data zero", func(p *plan.Plan) { p.Input.Source = plan.Zero })
	f("-z", func(p *plan.Plan) { p.Input.Source = plan.Zero })
	f("--input-data random", func(*plan.Plan) {})
	f("--input-data one.json --input-data f1", func(p *plan.Plan) {
		p.Input.Source, p.Input.Paths = plan.JSONFiles, []string{"one.json", "f1"}
	})
	f("--input-data d1 --input-data f1", func(p *plan.Plan) { p.Input.Source, p.Input.Paths = plan.Directory, []string{"d1"} })
	f("--data-directory nowhere", func(p *plan.Plan) { p.Input.Source, p.Input.Paths = plan.JSONFiles, []string{"nowhere"} })
	f("--shape a:b:3,4 --shape c:1 --shape c:2", func(p *plan.Plan) {
		p.Input.Shapes = map[string][]int64{"a:b": {3, 4}, "c": {2}}
	})
	f(`--string-length 5 --string-data "a b"`, func(p *plan.Plan) { p.Input.StringLength, p.Input.StringData = 5, "a b" })
	f("--input-tensor-format JSON", func(p *plan.Plan) { p.Input.InputFormat, p.Input.OutputFormat = plan.JSONTensors, plan.JSONTensors })
	f("--output-tensor-format json --output-tensor-format binary", func(*plan.Plan) {})
	f("--input-tensor-format json --output-tensor-format binary", func(p *plan.Plan) { p.Input.InputFormat = plan.JSONTensors })
	f("--output-tensor-format json", func(p *plan.Plan) { p.Input.OutputFormat = plan.JSONTensors })
	f("-f a.csv --verbose-csv --profile-export-file b.json", func(p *plan.Plan) {
		p.Output = plan.Output{CSV: "a.csv", VerboseCSV: true, Export: "b.json"}
	})
	f("-v", func(p *plan.Plan) { p.Verbose = 1 })
	f("-vvv", func(p *plan.Plan) { p.Verbose = 2 })
}

func TestRedline(t *testing.T) {
	inFolder(t)
	f := func(line string, want func(p *plan.Plan)) {
		t.Helper()
		check(t, flags.Redline, line, want)
	}
	f("", func(*plan.Plan) {})
	f("--latency-from send", func(p *plan.Plan) { p.Measure.FromSend = true })
	f("--latency-from scheduled", func(*plan.Plan) {})
	f("--max-error-rate 5%", func(p *plan.Plan) { p.Measure.MaxErrorRate, p.Measure.ValidErrorRate = 0.05, 0.05 })
	f("--request-timeout 1500ms --connections 4", func(p *plan.Plan) {
		p.Target.Timeout, p.Target.Connections = 1500*time.Millisecond, 4
	})
	f("--think-time 100ms±20ms --concurrency-range 4", func(p *plan.Plan) {
		p.Load.ThinkTime = pace.ThinkTime{Mean: 100 * time.Millisecond, Spread: 20 * time.Millisecond}
		p.Load.Concurrency.Start = 4
	})
	f("--seed 7 --json r.json", func(p *plan.Plan) { p.Load.Seed, p.Input.Seed, p.Output.ResultJSON = 7, 7, "r.json" })
	f("--sequence-id-range 1", func(p *plan.Plan) { p.Input.SequenceStartID, p.Input.SequenceIDRange = 1, math.MaxUint32 })
	f("--input-tensor-format json", func(p *plan.Plan) { p.Input.InputFormat = plan.JSONTensors })
	f("--shape a:b:3,4 --shape c:fp32:-1,2 --shape d:-1", func(p *plan.Plan) {
		p.Input.Shapes = map[string][]int64{"a:b": {3, 4}, "c": {-1, 2}, "d": {-1}}
		p.Input.Datatypes = map[string]tensor.Datatype{"c": tensor.FP32}
	})
	f("--embedded -i grpc", func(p *plan.Plan) {
		p.Target.Embedded, p.Target.URL, p.Target.Protocol, p.Target.TLS = true, "", plan.GRPC, plan.TLS{}
	})

	f("--embedded --embedded-arg --a=1 --embedded-arg b", func(p *plan.Plan) {
		p.Target.Embedded, p.Target.URL, p.Target.EmbeddedArgs = true, "", []string{"--a=1", "b"}
	})
	f("--think-time 1s", func(p *plan.Plan) { p.Load.ThinkTime = pace.ThinkTime{Mean: time.Second} })
	f(`--service-kind openai --endpoint v1/x -a --input-data one.json --session-concurrency 3 --http-version 2`, func(p *plan.Plan) {
		p.Target.Kind, p.Target.Endpoint, p.Target.Call, p.Target.HTTPVersion = plan.OpenAI, "v1/x", plan.Async, "2"
		p.Input.Source, p.Input.Paths = plan.JSONFiles, []string{"one.json"}
		p.Load.Mode, p.Load.Sessions, p.Load.MaxThreads = plan.SessionConcurrency, 3, 4
	})
	f("--collect-metrics --metrics-interval 50 --source-addresses 127.0.0.1 --max-response-bytes 9 --calibrate --assert p99<1s --label a", func(p *plan.Plan) {
		p.Target.Metrics = plan.Metrics{Collect: true, URL: "localhost:8002/metrics", Interval: 50 * time.Millisecond}
		p.Target.Sources, p.Target.MaxResponse, p.Measure.Calibrate = []string{"127.0.0.1"}, 9, true
		p.Outcome.Asserts, p.Outcome.Label = []string{"p99<1s"}, "a"
	})
	_, notes, err := flags.Parse(flags.Redline, words("-m x"), nil)
	want := flags.Notes{CommandLine: "redline profile -m x", Options: []string{"-m=x"}}
	if d := cmp.Diff(want, notes); d != "" || err != nil {
		t.Error(d, err)
	}
	for _, line := range []string{"--embedded", "--json x", "--seed 1", "--think-time 1s", "--latency-from send"} {
		if got := said(flags.PerfAnalyzer, line); !strings.HasPrefix(got, "unknown option") {
			t.Errorf("perf_analyzer mode accepts %s: %s", line, got)
		}
	}
}

// FuzzParse: any command line gives a plan that survives JSON, or an error of a known kind.
func FuzzParse(f *testing.F) {
	for _, s := range []string{
		"-m x", "-m x --concurrency-range 1:4:2 -l 5 --binary-search", "-vap5 --shape a:1,2 -H a:b", "--request-rate-range 1e3:inf -t 3",
		"-m x --sequence-id-range 1:2 --request-parameter a:b:c -i grpc", "-m x --percentile 4294967297 --fixed-schedule",
		"-m x --embedded --seed 9 --max-error-rate 3 --request-timeout 5s", "-m x --bls-composing-models a:1,b --collect-metrics -u https://[::1]:80/x",
	} {
		f.Add(s, false)
		f.Add(s, true)
	}
	f.Fuzz(func(t *testing.T, line string, own bool) {
		if !utf8.ValidString(line) {
			t.Skip("JSON holds valid text only")
		}
		program := flags.PerfAnalyzer
		if own {
			program = flags.Redline
		}
		p, _, err := flags.Parse(program, words(line), nil)
		switch {
		case err == nil:
			roundTrip(t, p)
		case err.Error() == "":
			t.Errorf("%q: an error without a text", line)
		}
	})
}
