package fleet_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redline-bench/redline/internal/clock"
	"github.com/redline-bench/redline/internal/engine"
	"github.com/redline-bench/redline/internal/fleet"
	"github.com/redline-bench/redline/internal/fleet/hub"
	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/profile"
	"github.com/redline-bench/redline/internal/record"
	"github.com/redline-bench/redline/internal/result"
	"github.com/redline-bench/redline/internal/run"
	"github.com/redline-bench/redline/internal/segment"
	"github.com/redline-bench/redline/internal/service"
	"github.com/redline-bench/redline/internal/stats"
	"github.com/redline-bench/redline/internal/testkit"
	"github.com/redline-bench/redline/internal/testkit/outcome"
)

// startHub starts a NATS server in this process.
func startHub(t *testing.T, address string, edit func(*plan.NATS)) *hub.Hub {
	t.Helper()
	n := plan.NATS{URL: address}
	if edit != nil {
		edit(&n)
	}
	h, err := hub.Start(t.Context(), n, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(h.Stop)
	return h
}

const anyPort = "embedded://127.0.0.1:0"

func dial(t *testing.T, n plan.NATS) *fleet.Bus {
	t.Helper()
	bus, err := fleet.Dial(t.Context(), &n, "test", nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(bus.Close)
	return bus
}

// crew is workers in this process with a service without a network, and the lines that they print.
type crew struct {
	mu     sync.Mutex
	said   []string
	ended  []record.Record // of all services, by the clock of this process
	plans  []*plan.Plan
	answer func(n int64) (time.Duration, error)
}

func (c *crew) say(format string, args ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.said = append(c.said, fmt.Sprintf(format, args...))
}

func (c *crew) text() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return strings.Join(c.said, "\n")
}

type source struct{}

func (source) Next(*service.Call) {}

func (c *crew) prepare(hard context.Context, job *fleet.Job, collect run.Collect) (run.Load, error) {
	pl, err := job.Plan.Restore(job.Secrets, func(name string) string { return map[string]string{"TOKEN": "of-the-worker"}[name] })
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	c.plans = append(c.plans, pl)
	c.mu.Unlock()
	svc := &testkit.Service{Answer: c.answer, Ended: func(r record.Record) {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.ended = append(c.ended, r)
	}}
	r := &profile.Runner{
		Plan: pl.With(func(p *plan.Plan) { p.Segment = segment.Segment{Index: job.Index, Of: job.Of} }), Service: svc, Model: &service.Model{Name: "fake"}, Async: true,
		Source: func(int, int) engine.Source { return source{} },
	}
	return r.Open(hard, collect)
}

// start starts a worker and returns what stops it.
func (c *crew) start(t *testing.T, n plan.NATS, name string, edit func(*fleet.Worker)) (stop func()) {
	t.Helper()
	bus, err := fleet.Dial(t.Context(), &n, name, nil)
	if err != nil {
		t.Fatal(err)
	}
	w := &fleet.Worker{
		Bus: bus, Prepare: c.prepare, Folder: t.TempDir(), Free: func(string) (int64, error) { return 1 << 30, nil }, Say: c.say,
		Hello: fleet.Hello{ID: name + "id", Name: name, Version: "test", Protocol: fleet.Protocol, MaxProcs: 2},
	}
	if edit != nil {
		edit(w)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := w.Run(ctx); err != nil {
			t.Error(err)
		}
	}()
	stop = sync.OnceFunc(func() {
		cancel()
		<-done
		bus.Close()
	})
	t.Cleanup(stop)
	return stop
}

func testPlan(edit func(*plan.Plan)) *plan.Plan {
	p := plan.Default()
	p.Target.Model = "fake"
	p.Measure.Interval, p.Measure.Stability, p.Measure.MaxTrials = 300*time.Millisecond, 99, 3
	if edit != nil {
		edit(&p)
	}
	return &p
}

func config(c *crew, name, workers string, p *plan.Plan) fleet.Config {
	f := plan.DefaultFleet()
	f.Workers, f.Run, f.Wait = workers, name, testkit.Limit
	return fleet.Config{Fleet: f, Command: "profile", Version: "test", Plan: p, Say: c.say, Warn: c.say}
}

type observer struct{ profile.Observer }

func (observer) LevelBegins(*result.Level, bool) {}
func (observer) Pass(int, *result.Window)        {}
func (observer) LevelEnds(*result.Level)         {}
func (observer) Progress(profile.Progress)       {}
func (observer) Warn(profile.Warning)            {}

// measure runs a plan on a fleet; each sees every record.
func measure(t *testing.T, run *fleet.Run, p *plan.Plan, each func(*record.Record)) (*result.Result, error) {
	t.Helper()
	r := &profile.Runner{
		Plan: p, Service: &testkit.Service{}, Model: &service.Model{Name: "fake"}, Async: true, Observer: observer{}, Fleet: run.Open, Ended: run.Ended, Timeline: true,
		Tap: func(_ *result.Level, _ int, rec *record.Record) error {
			if each != nil {
				each(rec)
			}
			return nil
		},
	}
	res, err := r.Run(t.Context(), t.Context())
	res.Fleet = run.Result()
	return res, err
}

// Three workers send exactly the requests of the plan, and the merged percentiles are those of all raw records.
func TestAFleetSendsThePlanAndMergesExactly(t *testing.T) {
	t.Parallel()
	h := startHub(t, anyPort, nil)
	c := &crew{answer: func(n int64) (time.Duration, error) { return time.Duration(1+n%7) * time.Millisecond, nil }}
	for _, name := range []string{"a", "b", "c"} {
		c.start(t, h.NATS(), name, nil)
	}
	p := testPlan(func(p *plan.Plan) {
		p.Load.Concurrency = plan.IntRange{Start: 7, End: 7, Step: 1}
		p.Measure.RequestCount, p.Measure.WarmupCount = 500, 20
	})
	run, err := fleet.Gather(t.Context(), dial(t, h.NATS()), config(c, "exact", "3", p))
	if err != nil {
		t.Fatal(err)
	}
	var sample stats.Sample[int64]
	slots := map[uint32]bool{}
	res, err := measure(t, run, p, func(r *record.Record) {
		sample.Add(r.End - r.Sent)
		slots[r.Slot] = true
	})
	if err != nil {
		t.Fatal(err)
	}
	lv := res.Levels[0]
	if n := len(c.ended); n != 520 || lv.Client.Requests != 500 || sample.Count() != 500 || len(slots) != 7 {
		t.Errorf("the services saw %d requests, the result has %d and %d records on %d slots; want 520, 500, 500 on 7", n, lv.Client.Requests, sample.Count(), len(slots))
	}
	for _, q := range lv.Client.Latency.Quantiles {
		if want := float64(sample.Quantiles(q.P)[0]); q.V != want {
			t.Errorf("p%g is %g, of all raw records %g", q.P, q.V, want)
		}
	}
	var sum uint64
	for _, w := range lv.Workers {
		sum += w.Requests
	}
	if len(lv.Workers) != 3 || sum != 500 || len(res.Fleet.Members) != 3 || res.Fleet.ClockErrorNs <= 0 {
		t.Errorf("parts %+v of fleet %+v", lv.Workers, res.Fleet)
	}
	run.End(t.Context())
	if !strings.Contains(c.text(), "left: the run is over") {
		t.Error(c.text())
	}
}

// Rate, warm-up, windows and several levels go the same way.
func TestAFleetKeepsARate(t *testing.T) {
	t.Parallel()
	h := startHub(t, anyPort, nil)
	c := &crew{}
	for _, name := range []string{"a", "b"} {
		c.start(t, h.NATS(), name, nil)
	}
	p := testPlan(func(p *plan.Plan) {
		p.Load.Mode, p.Load.Rate = plan.RequestRate, plan.FloatRange{Start: 200, End: 300, Step: 100}
	})
	run, err := fleet.Gather(t.Context(), dial(t, h.NATS()), config(c, "rate", "all", p))
	if err != nil {
		t.Fatal(err)
	}
	defer run.End(t.Context())
	res, err := measure(t, run, p, nil)
	if err != nil && !errors.Is(err, profile.ErrUnstable) {
		t.Fatal(err)
	}
	if len(res.Levels) != 2 {
		t.Fatalf("%d levels", len(res.Levels))
	}
	for _, lv := range res.Levels {
		if d := lv.Health.AskedRate - lv.Rate; max(d, -d) > 0.02*lv.Rate {
			t.Errorf("asked for %g, the health says %g", lv.Rate, lv.Health.AskedRate)
		}
	}
}

// The first window has no time before the first request.
func TestBeginReturnsWhenTheLoadHasBegun(t *testing.T) {
	t.Parallel()
	h := startHub(t, anyPort, nil)
	c := &crew{}
	c.start(t, h.NATS(), "a", nil)
	load, err := fleet.Gather(t.Context(), dial(t, h.NATS()), config(c, "begin", "1", testPlan(nil)))
	if err != nil {
		t.Fatal(err)
	}
	defer load.End(t.Context())
	if err := load.Begin(t.Context(), run.Order{Level: &result.Level{Mode: plan.Concurrency, Concurrency: 1}}); err != nil {
		t.Fatal(err)
	}
	if early := run.Read(load, run.Glance).Scheduled - clock.Now(); early > 0 {
		t.Errorf("it returned %v before the load", time.Duration(early))
	}
}

// A worker that is gone is noticed and named; the others go on, or the run stops.
func TestALostWorkerIsNamed(t *testing.T) {
	t.Parallel()
	f := func(onLoss string) (*result.Result, string, error) {
		t.Helper()
		h := startHub(t, anyPort, nil)
		c := &crew{}
		c.start(t, h.NATS(), "a", nil)
		lost := c.start(t, h.NATS(), "b", nil)
		p := testPlan(func(p *plan.Plan) {
			p.Load.Concurrency = plan.IntRange{Start: 4, End: 4, Step: 1}
			p.Measure.Interval, p.Measure.OneWindow = 6*time.Second, true
		})
		conf := config(c, "lost", "2", p)
		conf.Fleet.OnLoss = onLoss
		run, err := fleet.Gather(t.Context(), dial(t, h.NATS()), conf)
		if err != nil {
			t.Fatal(err)
		}
		defer run.End(t.Context())
		once := sync.OnceFunc(func() { go lost() }) // in the middle of the load
		var n int
		res, err := measure(t, run, p, func(*record.Record) {
			if n++; n > 100 {
				once()
			}
		})
		return res, c.text(), err
	}
	_, _, err := f(plan.StopOnLoss)
	if err == nil || !strings.Contains(err.Error(), "worker b was lost") || !strings.Contains(err.Error(), "--on-worker-loss stop ends the run") {
		t.Errorf("stop: %v", err)
	}
	outcome.HeavyOnly(t, "a run that goes on without a lost worker, in one process; e2e/fleet has it with processes")
	res, said, err := f(plan.ContinueOnLoss)
	if err != nil || res.Verdict.State != result.ClientLimited || !strings.Contains(fmt.Sprint(res.Verdict.Reasons), "worker b: was lost: it sent nothing for") || !strings.Contains(said, "worker b was lost") {
		t.Errorf("%v: %+v\n%s", err, res.Verdict, said)
	}
	if res.Fleet.Members[1].Lost == "" || res.Fleet.Members[0].Lost != "" {
		t.Errorf("%+v", res.Fleet.Members)
	}
}

// slow is a share of a worker that takes long to pass its records on.
type slow struct {
	run.Load
	began time.Time
}

func (s slow) Sync(d run.Detail, fn func(*run.State)) {
	s.Load.Sync(d, func(state *run.State) {
		state.Stalled = time.Since(s.began)
		fn(state)
	})
}

// One worker that limits the load makes the verdict client-limited, and is named.
func TestAClientLimitedWorkerIsNamed(t *testing.T) {
	t.Parallel()
	h := startHub(t, anyPort, nil)
	c := &crew{}
	c.start(t, h.NATS(), "a", nil)
	c.start(t, h.NATS(), "b", func(w *fleet.Worker) {
		w.Prepare = func(hard context.Context, job *fleet.Job, collect run.Collect) (run.Load, error) {
			m, err := c.prepare(hard, job, collect)
			if err != nil {
				return nil, err
			}
			return slow{m, time.Now()}, nil
		}
	})
	p := testPlan(func(p *plan.Plan) {
		p.Load.Concurrency = plan.IntRange{Start: 2, End: 2, Step: 1}
		p.Measure.RequestCount = 100
	})
	run, err := fleet.Gather(t.Context(), dial(t, h.NATS()), config(c, "slow", "2", p))
	if err != nil {
		t.Fatal(err)
	}
	defer run.End(t.Context())
	res, err := measure(t, run, p, nil)
	if err != nil {
		t.Fatal(err)
	}
	if why := fmt.Sprint(res.Verdict.Reasons); res.Verdict.State != result.ClientLimited || !strings.Contains(why, "worker b: requests waited") || !res.Levels[0].Workers[1].ClientLimited {
		t.Errorf("verdict %+v, workers %+v", res.Verdict, res.Levels[0].Workers)
	}
}

// One line for each mistake.
func TestRefusals(t *testing.T) {
	t.Parallel()
	h := startHub(t, anyPort, nil)
	c := &crew{}
	gather := func(name string, edit func(*fleet.Config)) error {
		t.Helper()
		conf := config(c, name, "1", testPlan(nil))
		if edit != nil {
			edit(&conf)
		}
		run, err := fleet.Gather(t.Context(), dial(t, h.NATS()), conf)
		if run != nil {
			t.Cleanup(func() { run.End(context.Background()) })
		}
		return err
	}
	want := func(err error, text string) {
		t.Helper()
		if err == nil || !strings.Contains(err.Error(), text) || strings.Contains(err.Error(), "\n") {
			t.Errorf("got %v\nwant %s", err, text)
		}
	}
	want(gather("none", func(conf *fleet.Config) { conf.Fleet.Wait = 100 * time.Millisecond }), "1 worker needed, 0 joined within 100ms; start more with 'redline worker --nats nats://127.0.0.1:")

	stop := c.start(t, h.NATS(), "old", func(w *fleet.Worker) { w.Hello.Version, w.Hello.Protocol = "0.1.0", fleet.Protocol-1 })
	want(tooFew(t, h.NATS(), config(c, "old", "1", testPlan(nil))), "worker old is redline 0.1.0, this is redline test")
	stop()

	data := filepath.Join(t.TempDir(), "in.json")
	if err := os.WriteFile(data, []byte(`{"data":[]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	stop = c.start(t, h.NATS(), "full", func(w *fleet.Worker) {
		w.Free = func(string) (int64, error) { return 3, nil }
	})
	want(gather("full", func(conf *fleet.Config) { conf.Plan.Input.Paths = []string{data} }), "worker full: no room for the input data: it takes 11 bytes, and")
	want(gather("secret", func(conf *fleet.Config) {
		conf.Plan.Target.Headers = []plan.Header{{Name: "Authorization", Value: "hush"}}
	}),
		"-H Authorization: a secret is not sent to the workers without TLS")
	stop()

	stop = c.start(t, h.NATS(), "late", func(w *fleet.Worker) {
		w.Clock = func() (int64, int64) { now, wall := clock.Both(); return now, wall - int64(time.Minute) }
	})
	if err := gather("late", nil); err != nil || !strings.Contains(c.text(), "worker late: its clock is 1m0s behind this machine's") {
		t.Errorf("%v\n%s", err, c.text())
	}
	want(gather("late", nil), "run late is in progress: a coordinator on ")
	stop()
}

// Ctrl-C while a worker prepares: the worker stops preparing and is free, and so is the name of the run.
func TestAnInterruptWhileAWorkerPrepares(t *testing.T) {
	t.Parallel()
	h := startHub(t, anyPort, nil)
	c := &crew{}
	ctx, interrupt := context.WithCancel(t.Context())
	var first sync.Once
	c.start(t, h.NATS(), "a", func(w *fleet.Worker) {
		w.Prepare = func(hard context.Context, job *fleet.Job, collect run.Collect) (run.Load, error) {
			waited := false
			first.Do(func() {
				waited = true
				interrupt()
				<-hard.Done()
			})
			if waited {
				return nil, hard.Err()
			}
			return c.prepare(hard, job, collect)
		}
	})
	bus := dial(t, h.NATS())
	load, err := fleet.Gather(ctx, bus, config(c, "night", "1", testPlan(nil)))
	if !errors.Is(err, run.ErrInterrupted) {
		t.Fatal(err)
	}
	load.End(t.Context())
	load, err = fleet.Gather(t.Context(), bus, config(c, "night", "1", testPlan(nil)))
	if err != nil {
		t.Fatal(err)
	}
	load.End(t.Context())
}

// A name that a dead coordinator left can be taken up; the levels that were over are there, and so are the records of the last one.
func TestTakingUp(t *testing.T) {
	t.Parallel()
	h := startHub(t, anyPort, nil)
	c := &crew{}
	c.start(t, h.NATS(), "a", nil)
	p := testPlan(func(p *plan.Plan) { p.Measure.RequestCount = 50 })
	bus := dial(t, h.NATS())
	run, err := fleet.Gather(t.Context(), bus, config(c, "night", "1", p))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := measure(t, run, p, nil); err != nil {
		t.Fatal(err)
	}
	bus.Close() // as after the death of its process
	run.Abandon(t.Context())
	bus = dial(t, h.NATS())
	if _, err := fleet.Gather(t.Context(), bus, config(c, "night", "1", p)); err == nil || !strings.Contains(err.Error(), "take it up with 'redline attach night'") {
		t.Errorf("the name was given away: %v", err)
	}
	if _, err := fleet.Attach(t.Context(), bus, config(c, "day", "1", nil)); err == nil || !strings.Contains(err.Error(), "there is no run day") {
		t.Errorf("a run that is not there: %v", err)
	}
	newer := config(c, "night", "1", nil)
	newer.Version = "newer"
	if _, err := fleet.Attach(t.Context(), bus, newer); err == nil || err.Error() != "run night was begun by redline test, this is redline newer: take it up with the same version" {
		t.Errorf("a run of an older version: %v", err)
	}
	run, err = fleet.Attach(t.Context(), bus, config(c, "night", "1", nil))
	if err != nil {
		t.Fatal(err)
	}
	known := run.Known()
	if len(known) != 1 || known[0].Level.Client.Requests != 50 || run.Plan().Measure.RequestCount != 50 {
		t.Errorf("known %+v", known)
	}
	if err := run.Resume(t.Context(), plan.DefaultFleet(), run.Plan(), nil); err != nil {
		t.Fatal(err)
	}
	run.End(t.Context())
	if _, err := fleet.Attach(t.Context(), bus, config(c, "night", "1", nil)); err == nil {
		t.Error("the run is over and was taken up")
	}
}

// Secrets go over TLS, and references are resolved by the worker; the files of NATS have neither.
func TestSecretsStayOutOfJetStream(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cert, key, ca := certificates(t, dir)
	store := t.TempDir()
	hubNATS := plan.NATS{URL: "embedded://u:pass@127.0.0.1:0", Cert: cert, Key: key}
	h, err := hub.Start(t.Context(), hubNATS, store)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(h.Stop)
	n := h.NATS()
	n.Cert, n.Key, n.CA = "", "", ca
	bad := n
	bad.URL = strings.Replace(bad.URL, "u:pass@", "u:wrong@", 1)
	if _, err := fleet.Dial(t.Context(), &bad, "test", func(string) {}); err == nil || !strings.Contains(err.Error(), "refuses these credentials") || strings.Contains(err.Error(), "wrong") {
		t.Errorf("wrong credentials: %v", err)
	}
	c := &crew{}
	c.start(t, n, "a", nil)
	p := testPlan(func(p *plan.Plan) {
		p.Measure.RequestCount = 20
		p.Target.Headers = []plan.Header{{Name: "Authorization", Value: "Bearer hush-hush"}, {Name: "X-Key", Value: "${env:TOKEN}"}}
	})
	own := h.NATS()
	bus, err := fleet.DialLocal(t.Context(), h, &own, "test") // its certificate need not be for this connection
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(bus.Close)
	run, err := fleet.Gather(t.Context(), bus, config(c, "tls", "1", p))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := measure(t, run, p, nil); err != nil {
		t.Fatal(err)
	}
	if got := c.plans[0].Target.Headers; got[0].Value != "Bearer hush-hush" || got[1].Value != "of-the-worker" {
		t.Errorf("the worker has %+v", got)
	}
	withoutText(t, store, "hush-hush", "of-the-worker")
	run.End(t.Context())
}

// A server may repeat a secret in its errors. The worker removes its own secrets before an error leaves it.
func TestSecretsInErrorsStayOnTheWorker(t *testing.T) {
	t.Parallel()
	store := t.TempDir()
	h, err := hub.Start(t.Context(), plan.NATS{URL: anyPort}, store)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(h.Stop)
	c := &crew{answer: func(int64) (time.Duration, error) {
		return time.Millisecond, &service.Error{Class: record.Server, Text: "no rights for of-the-worker"}
	}}
	c.start(t, h.NATS(), "a", func(w *fleet.Worker) {
		w.Redact = func(text string) string { return strings.ReplaceAll(text, "of-the-worker", "***") }
	})
	p := testPlan(func(p *plan.Plan) { p.Measure.RequestCount = 20 })
	bus := dial(t, h.NATS())
	run, err := fleet.Gather(t.Context(), bus, config(c, "echo", "1", p))
	if err != nil {
		t.Fatal(err)
	}
	res, _ := measure(t, run, p, nil)
	if text := fmt.Sprint(res.Levels[0].Failures); !strings.Contains(text, "no rights for ***") {
		t.Errorf("failures %s", text)
	}
	withoutText(t, store, "of-the-worker")
	run.End(t.Context())
}

// withoutText checks that no file of a folder has a text.
func withoutText(t *testing.T, folder string, texts ...string) {
	t.Helper()
	err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		for _, text := range texts {
			if strings.Contains(string(b), text) {
				t.Errorf("%s has %q", path, text)
			}
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// certificates writes a certificate for 127.0.0.1 that is its own authority.
func certificates(t *testing.T, dir string) (cert, key, ca string) {
	t.Helper()
	pair, _ := testkit.Certificate(t, "127.0.0.1")
	private, ok := pair.PrivateKey.(*ecdsa.PrivateKey)
	if !ok {
		t.Fatalf("a key of type %T", pair.PrivateKey)
	}
	der, err := x509.MarshalECPrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	cert, key = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	for path, block := range map[string]*pem.Block{cert: {Type: "CERTIFICATE", Bytes: pair.Certificate[0]}, key: {Type: "EC PRIVATE KEY", Bytes: der}} {
		if err := os.WriteFile(path, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return cert, key, cert
}

// Nothing listens for other machines without authentication.
func TestTheEmbeddedServerWantsAuthentication(t *testing.T) {
	t.Parallel()
	for _, address := range []string{"embedded://0.0.0.0:0", "embedded://[::]:0", "embedded://192.0.2.1:4222"} {
		if h, err := hub.Start(t.Context(), plan.NATS{URL: address}, t.TempDir()); err == nil || !strings.Contains(err.Error(), "workers must authenticate") {
			t.Errorf("%s: %v", address, err)
			if h != nil {
				h.Stop()
			}
		}
	}
	h := startHub(t, "embedded://u:p@0.0.0.0:0", nil)
	n := h.NATS()
	if !strings.HasPrefix(n.URL, "nats://u:p@127.0.0.1:") {
		t.Errorf("address %s", n.URL)
	}
	_, port, _ := strings.Cut(n.URL, "127.0.0.1:")
	if _, err := hub.Start(t.Context(), plan.NATS{URL: "embedded://u:p@0.0.0.0:" + port}, t.TempDir()); err == nil || !strings.Contains(err.Error(), "cannot listen on 0.0.0.0:"+port) {
		t.Errorf("a port in use: %v", err)
	}
	n.URL = strings.Replace(n.URL, "u:p@", "", 1)
	if _, err := fleet.Dial(t.Context(), &n, "test", nil); err == nil || !strings.Contains(err.Error(), "refuses these credentials") {
		t.Errorf("without credentials: %v", err)
	}
}

// The input files of a plan are on each worker's disk while it works, and gone afterwards.
func TestInputFilesTravel(t *testing.T) {
	t.Parallel()
	h := startHub(t, anyPort, nil)
	folder := t.TempDir()
	for _, name := range []string{"IN", "AGAIN"} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte("twelve bytes"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	c := &crew{}
	seen := make(chan string, 2)
	for _, name := range []string{"a", "b"} {
		c.start(t, h.NATS(), name, func(w *fleet.Worker) {
			w.Prepare = func(hard context.Context, job *fleet.Job, collect run.Collect) (run.Load, error) {
				b, err := os.ReadFile(filepath.Join(job.Plan.Input.Paths[0], "IN"))
				if err != nil {
					return nil, err
				}
				if again, err := os.ReadFile(filepath.Join(job.Plan.Input.Paths[1], "AGAIN")); string(again) != string(b) {
					return nil, fmt.Errorf("the second file has %q: %w", again, err)
				}
				seen <- string(b) + " " + job.Plan.Input.Paths[0]
				return c.prepare(hard, job, collect)
			}
		})
	}
	p := testPlan(func(p *plan.Plan) { p.Input.Source, p.Input.Paths = plan.Directory, []string{folder, folder} })
	run, err := fleet.Gather(t.Context(), dial(t, h.NATS()), config(c, "files", "2", p))
	if err != nil {
		t.Fatal(err)
	}
	var places []string
	for range 2 {
		text, place, _ := strings.Cut(<-seen, " bytes ")
		if text != "twelve" || place == folder {
			t.Errorf("a worker read %q in %s", text, place)
		}
		places = append(places, place)
	}
	run.End(t.Context())
	slices.Sort(places)
	if len(slices.Compact(places)) != 2 {
		t.Errorf("two workers share %v", places)
	}
}
