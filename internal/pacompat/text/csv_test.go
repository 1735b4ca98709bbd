package text_test

import (
	"bytes"
	"errors"
	"testing"

	"github.com/redline-bench/redline/internal/pacompat/text"
	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/result"
	"github.com/redline-bench/redline/internal/service"
)

const plainHeader = "Concurrency,Inferences/Second,Client Send,Network+Server Send/Recv,Server Queue,Server Compute Input,Server Compute Infer,Server Compute Output,Client Recv,p50 latency,p90 latency,p95 latency,p99 latency"

func csvOf(t *testing.T, p *plan.Plan, m *service.Model, levels ...result.Level) (string, []string) {
	t.Helper()
	var b bytes.Buffer
	remarks, err := text.WriteCSV(&b, p, m, levels)
	if err != nil {
		t.Fatal(err)
	}
	return b.String(), remarks
}

func TestCSV(t *testing.T) {
	slow, fast, lost := simpleLevel(), simpleLevel(), simpleLevel()
	slow.Concurrency, slow.Client.InferPerSec = 2, 1000
	lost.Concurrency, lost.Accepted = 3, false
	got, remarks := csvOf(t, simplePlan(), simpleModel(), fast, lost, slow)
	// 476.999 - 67.5 - 0.3 of wait, of which the server accounts for 50 + 238.
	same(t, "rows by throughput", got, plainHeader+"\n"+
		"2,1000,67,121,50,20,149,69,0,427,638,674,918\n1,2051.62,67,121,50,20,149,69,0,427,638,674,918\n")
	same(t, "remarks", remarks, []string(nil))
	got, _ = csvOf(t, simplePlan(), simpleModel(), lost)
	same(t, "no level, no file", got, "")
}

func TestCSVColumns(t *testing.T) {
	f := func(name string, change func(*plan.Plan, *service.Model, *result.Level), want string) {
		t.Helper()
		p, m, l := simplePlan(), simpleModel(), simpleLevel()
		change(p, m, &l)
		got, _ := csvOf(t, p, m, l)
		same(t, name, got, want)
	}
	f("no server statistics", func(_ *plan.Plan, m *service.Model, _ *result.Level) { m.Statistics = false },
		"Concurrency,Inferences/Second,Client Send,Client Recv,p50 latency,p90 latency,p95 latency,p99 latency\n1,2051.62,67,0,427,638,674,918\n")
	f("rate", func(p *plan.Plan, m *service.Model, l *result.Level) {
		p.Load.Mode, l.Mode, l.Rate, m.Statistics = plan.RequestRate, plan.RequestRate, 12.5, false
	}, "Request Rate,Inferences/Second,Client Send,Client Recv,p50 latency,p90 latency,p95 latency,p99 latency\n12.5,2051.62,67,0,427,638,674,918\n")
	f("decoupled with a percentile", func(p *plan.Plan, m *service.Model, l *result.Level) {
		m.Statistics, m.Decoupled, p.Measure.Percentile, p.Output.VerboseCSV = false, true, 99, true
		l.Client.ResponsePerSec, l.Client.RecvNs = 8000.25, 300_000
	}, "Concurrency,Inferences/Second,Response Throughput,Client Send,Client Recv,p50 latency,p90 latency,p95 latency,p99 latency,request/response,response wait\n"+
		"1,2051.62,8000.25,0,0,427,638,674,918,0,0\n")
	f("verbose, metrics", func(p *plan.Plan, m *service.Model, l *result.Level) {
		m.Statistics, p.Output.VerboseCSV, p.Target.Metrics.Collect = false, true, true
		l.GPU = &result.GPU{
			Utilization: map[string]float64{"z": 100, "a": 1}, PowerWatts: map[string]float64{"a": 2.2, "z": 222.2},
			MemoryUsed: map[string]uint64{"a": 3, "z": 45}, MemoryTotal: map[string]uint64{"a": 4, "z": 89},
		}
	}, "Concurrency,Inferences/Second,Client Send,Client Recv,p50 latency,p90 latency,p95 latency,p99 latency,Avg latency,request/response,response wait,Avg GPU Utilization,Avg GPU Power Usage,Max GPU Memory Usage,Total GPU Memory\n"+
		"1,2051.62,67,0,427,638,674,918,476,67,405,a:1;z:100;,a:2.2;z:222.2;,a:3;z:45;,a:4;z:89;\n")
	f("no metrics came", func(p *plan.Plan, m *service.Model, _ *result.Level) {
		m.Statistics, p.Output.VerboseCSV, p.Target.Metrics.Collect, p.Measure.Percentile = false, true, true, 50
	}, "Concurrency,Inferences/Second,Client Send,Client Recv,p50 latency,p90 latency,p95 latency,p99 latency,request/response,response wait,Avg GPU Utilization,Avg GPU Power Usage,Max GPU Memory Usage,Total GPU Memory\n"+
		"1,2051.62,67,0,427,638,674,918,67,405,,,,\n")
	f("redline profile, verbose: health and verdict", func(p *plan.Plan, m *service.Model, l *result.Level) {
		m.Statistics, p.Output.VerboseCSV, p.Policies.BareReport = false, true, false
		l.Stable, l.ClientLimited = true, true
		l.Health = result.Health{
			LagP50Ns: 1_000, LagP99Ns: 2_000, LagMaxNs: 3_000, AskedRate: 100, AchievedRate: 99.5, AskedInFlight: 8, AchievedInFlight: 7.5,
			CPUCores: 0.25, CPUPerRequestNs: 12_500, MachineShare: 0.5, GCPauseMaxNs: 40_000, SchedDelayMaxNs: 50_000, Dropped: 6, Error: &result.MeasurementError{P50Ns: 17_000, P99Ns: 91_000},
		}
	}, "Concurrency,Inferences/Second,Client Send,Client Recv,p50 latency,p90 latency,p95 latency,p99 latency,Avg latency,request/response,response wait,"+
		"Send lag p50,Send lag p99,Send lag max,Asked rate,Achieved rate,Asked in flight,Achieved in flight,"+
		"CPU cores,CPU per request,Machine busy,Longest GC pause,Longest scheduler pause,Dropped,Measurement error p50,Measurement error p99,Verdict\n"+
		"1,2051.62,67,0,427,638,674,918,476,67,405,1,2,3,100,99.5,8,7.5,0.25,12.5,0.5,40,50,6,17,91,client-limited\n")
	f("cache", func(_ *plan.Plan, m *service.Model, l *result.Level) {
		m.Cache = true
		s := cached()
		l.Server = &s
	}, "Concurrency,Inferences/Second,Client Send,Network+Server Send/Recv,Server Queue,Server Compute Input,Server Compute Infer,Server Compute Output,Server Cache Hit,Server Cache Miss,Client Recv,p50 latency,p90 latency,p95 latency,p99 latency\n"+
		"1,2051.62,67,182,7,40,100,60,8,12,0,427,638,674,918\n") // 409 - 7 - 200 - 8 - 12
}

func TestCSVServerSlowerThanClient(t *testing.T) {
	l := simpleLevel()
	l.Client.Latency.Avg = 100_000
	got, remarks := csvOf(t, simplePlan(), simpleModel(), l)
	same(t, "never negative", got, plainHeader+"\n1,2051.62,67,0,50,20,149,69,0,427,638,674,918\n")
	same(t, "remarks", remarks, []string{text.AccountedTime})
	l.Client.Latency.Avg = 50_000 // less than the send alone
	got, _ = csvOf(t, simplePlan(), simpleModel(), l)
	same(t, "never wraps", got, plainHeader+"\n1,2051.62,67,0,50,20,149,69,0,427,638,674,918\n")
}

func TestComposingFiles(t *testing.T) {
	p, m := simplePlan(), simpleModel()
	p.Output.CSV = "dir/out.csv"
	first, second := simpleLevel(), simpleLevel()
	second.Concurrency, second.Client.InferPerSec = 2, 3000
	chain := part("chain", 1000, 492, 0, 0, 0, 0)
	chain.Composing = []result.Server{part("b", 2000, 300, 28, 20, 119, 108), part("a", 1000, 189, 20, 21, 133, 35)}
	first.Server, second.Server = &chain, &chain
	files, remarks := text.ComposingFiles(p, m, []result.Level{second, first})
	const header = "Concurrency,Inferences/Second,Client Send,Network+Server Send/Recv,Server Queue,Server Compute Input,Server Compute Infer,Server Compute Output,Client Recv\n"
	same(t, "files", files, []text.File{
		{Name: "dir/a_v1.out.csv", Content: []byte(header + "1,2051.62,0,0,20,21,133,35,0\n2,3000,0,0,20,21,133,35,0\n")},
		{Name: "dir/b_v1.out.csv", Content: []byte(header + "1,4103.25,0,25,28,20,119,108,0\n2,6000,0,25,28,20,119,108,0\n")},
	})
	same(t, "remarks", remarks, []string{text.AccountedTime, text.AccountedTime})

	plain := simpleLevel()
	files, _ = text.ComposingFiles(p, m, []result.Level{plain})
	same(t, "no ensemble", files, []text.File(nil))
}

type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, errors.New("disk full") }

func TestCSVReportsWriteErrors(t *testing.T) {
	if _, err := text.WriteCSV(brokenWriter{}, simplePlan(), simpleModel(), []result.Level{simpleLevel()}); err == nil {
		t.Error("no error from a broken writer")
	}
}
