package fleet_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/redline-bench/redline/internal/fleet"
	"github.com/redline-bench/redline/internal/fleet/hub"
	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/record"
	"github.com/redline-bench/redline/internal/result"
	"github.com/redline-bench/redline/internal/run"
)

// taskShare is a worker's share of a run that has no plan: a phase is a number of requests.
type taskShare struct {
	run.Load
	err *atomic.Pointer[error]
}

func (p taskShare) Begin(ctx context.Context, o run.Order) error {
	var phase struct{ Requests int }
	if err := json.Unmarshal(o.Phase, &phase); err != nil {
		return err
	}
	o.Level, o.Limit = &result.Level{Mode: plan.Concurrency, Concurrency: 4}, phase.Requests
	return p.Load.Begin(ctx, o)
}

func (p taskShare) Sync(d run.Detail, fn func(*run.State)) {
	p.Load.Sync(d, func(s *run.State) {
		if err := p.err.Load(); err != nil {
			s.Err = *err
		}
		fn(s)
	})
}

// The secrets of a command with a plan of its own go over TLS, and the files of NATS have none of them; a coordinator that takes the run up has its
// options without them.
func TestSecretsOfATaskStayOutOfJetStream(t *testing.T) {
	t.Parallel()
	cert, key, ca := certificates(t, t.TempDir())
	store := t.TempDir()
	h, err := hub.Start(t.Context(), plan.NATS{URL: "embedded://u:pass@127.0.0.1:0", Cert: cert, Key: key}, store)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(h.Stop)
	n := h.NATS()
	n.Cert, n.Key, n.CA = "", "", ca
	c := &crew{}
	given := make(chan string, 1)
	c.start(t, n, "a", func(w *fleet.Worker) {
		w.Prepare = func(hard context.Context, job *fleet.Job, collect run.Collect) (run.Load, error) {
			given <- string(job.Own) + " " + strings.Join(job.Secrets, " ")
			job.Plan = testPlan(nil)
			return c.prepare(hard, &fleet.Job{Plan: job.Plan, Of: job.Of}, collect)
		}
	})
	bus := dial(t, n)
	conf := config(c, "talk", "1", nil)
	public := []string{"--model=m", "--api-key=***"}
	conf.Command, conf.Task = "llm", &fleet.Task{Own: []byte(`{"api_key":"***"}`), Secrets: []string{"--api-key=hush-hush"}, Names: []string{"--api-key"}, Kept: public}
	run, err := fleet.Gather(t.Context(), bus, conf)
	if err != nil {
		t.Fatal(err)
	}
	if got := <-given; got != `{"api_key":"***"} --api-key=hush-hush` {
		t.Errorf("the worker has %q", got)
	}
	withoutText(t, store, "hush-hush")
	run.Abandon(t.Context())
	if run, err = fleet.Attach(t.Context(), bus, config(c, "talk", "1", nil)); err != nil {
		t.Fatal(err)
	}
	if run.Command() != "llm" || !slices.Equal(run.Options(), public) {
		t.Errorf("redline %s %q", run.Command(), run.Options())
	}
	run.End(t.Context())
}

// A command with a plan of its own has the plan, files and phases carried to the workers; what they say of each request comes back with the
// record, and an error of one worker ends the run with its line.
func TestATask(t *testing.T) {
	t.Parallel()
	h := startHub(t, anyPort, nil)
	file := filepath.Join(t.TempDir(), "prompts")
	if err := os.WriteFile(file, []byte("hello"), 0o600); err != nil {
		t.Fatal(err)
	}
	c := &crew{}
	var failure atomic.Pointer[error]
	var mu sync.Mutex
	var given []string
	for _, name := range []string{"a", "b"} {
		c.start(t, h.NATS(), name, func(w *fleet.Worker) {
			w.Prepare = func(hard context.Context, job *fleet.Job, collect run.Collect) (run.Load, error) {
				if job.Plan != nil {
					return nil, errors.New("the job has a plan")
				}
				content, err := os.ReadFile(job.Path(file))
				if err != nil {
					return nil, err
				}
				mu.Lock()
				given = append(given, string(job.Own)+" "+string(content))
				mu.Unlock()
				job.Plan = testPlan(nil)
				m, err := c.prepare(hard, job, func(r *record.Record, events []record.Event, _ []byte) { collect(r, events, []byte("of "+name)) })
				if err != nil {
					return nil, err
				}
				return taskShare{m, &failure}, nil
			}
		})
	}
	gather := func(run string, task *fleet.Task) (*fleet.Run, error) {
		conf := config(c, run, "2", nil)
		conf.Command, conf.Task = "llm", task
		r, err := fleet.Gather(t.Context(), dial(t, h.NATS()), conf)
		t.Cleanup(func() { r.End(context.Background()) })
		return r, err
	}
	secret := &fleet.Task{Own: []byte("{}"), Secrets: []string{"--api-key=hush"}, Names: []string{"--api-key"}, Advice: "use --api-key-env NAME"}
	if _, err := gather("secret", secret); err == nil || !strings.Contains(err.Error(), "--api-key: a secret is not sent to the workers without TLS: use tls:// in --nats, or use --api-key-env NAME") {
		t.Errorf("a secret without TLS: %v", err)
	}

	load, err := gather("task", &fleet.Task{Own: []byte(`{"model":"m"}`), Files: []string{file}})
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{`{"model":"m"} hello`, `{"model":"m"} hello`}; !slices.Equal(given, want) {
		t.Errorf("the workers have %q", given)
	}
	rows := map[string]int{}
	var before, started int
	load.Open(func(_ *record.Record, _ []record.Event, data []byte) {
		if rows[string(data)]++; started == 0 {
			before++
		}
	})
	for _, n := range []int{10, 20} {
		if err := load.Begin(t.Context(), run.Order{Phase: fmt.Appendf(nil, `{"requests":%d}`, n), Starts: func(int64, *run.State) { started++ }}); err != nil {
			t.Fatal(err)
		}
		if err := load.Wait(t.Context()); err != nil {
			t.Fatal(err)
		}
		load.Sync(run.Exact, func(*run.State) {})
	}
	if rows["of a"]+rows["of b"] != 30 || rows["of a"] == 0 || rows["of b"] == 0 || before > 0 || started != 2 {
		t.Errorf("records by what came with them: %v, %d before the start, %d starts", rows, before, started)
	}

	broken := errors.New("line 7 of the prompts is no JSON")
	failure.Store(&broken)
	<-load.Failed()
	if err := load.Broken(); err == nil || !strings.HasSuffix(err.Error(), ": line 7 of the prompts is no JSON") || !strings.HasPrefix(err.Error(), "worker ") {
		t.Errorf("an error of a worker: %v", err)
	}
}
