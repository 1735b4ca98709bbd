package find_test

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redline-bench/redline/e2e/binary"
	"github.com/redline-bench/redline/internal/stats"
	"github.com/redline-bench/redline/internal/testkit/disturbance"
	"github.com/redline-bench/redline/internal/testkit/outcome"
	"github.com/redline-bench/redline/internal/testkit/queueing"
)

// Times of a search here. A sweep by the same resolution up to the first load that fails needs the full time for each load.
const (
	settle, probe, resolution = time.Second, 30 * time.Second, 0.02
	sweepTime                 = time.Duration(1+1/resolution) * (settle + probe)
	budget                    = sweepTime * 2 / 5
)

// law is a queue of the reference server whose capacity is computed.
type law struct {
	name       string
	metric     string        // of the objective
	limit      time.Duration // of the objective
	truth      float64       // requests/s
	parameters string        // of the model
	drift      string        // parameters of a drift that fades
	workers    int
	batch      int // largest
}

func (l *law) rule() string { return fmt.Sprintf("%s<%v", l.metric, l.limit) }

// laws are queues with service times of about 1 ms.
func laws() []law {
	parameters := func(pairs ...string) string {
		list := ""
		for i := 0; i < len(pairs); i += 2 {
			list += fmt.Sprintf(`, { key: %q value: { string_value: %q } }`, pairs[i], pairs[i+1])
		}
		return list
	}
	solve := func(limit float64, latency func(rate float64) float64) float64 {
		return queueing.Solve(1, 999, limit, latency)
	}
	batches := queueing.Batches{Most: 8, Fixed: 4e-3, Each: 0.5e-3}
	return []law{
		{
			name: "M/D/1", metric: "avg", limit: 5 * time.Millisecond, workers: 1, parameters: parameters("execute_delay_ms", "1"),
			truth: solve(5e-3, func(rate float64) float64 { return queueing.MeanMG1(rate, 1e-3, 1e-6) }),
		},
		{
			name: "M/M/2", metric: "avg", limit: 8 * time.Millisecond, workers: 2,
			parameters: parameters("execute_delay_ms", "2", "delay_distribution", "exponential"),
			truth:      solve(8e-3, func(rate float64) float64 { return queueing.MeanMMC(rate, 500, 2) }),
		},
		{
			name: "batches", metric: "avg", limit: 16 * time.Millisecond, workers: 1, batch: 8,
			parameters: parameters("execute_delay_ms", "4", "per_item_ms", "0.5"),
			truth:      solve(16e-3, batches.Mean),
		},
		{
			// One in ten takes 4.6 ms, the others 0.6 ms: a mean of 1 ms and a deviation of 1.2 ms.
			name: "bimodal", metric: "avg", limit: 7 * time.Millisecond, workers: 1,
			parameters: parameters("execute_delay_ms", "1", "delay_distribution", "bimodal", "delay_stddev_ms", "1.2"),
			truth:      solve(7e-3, func(rate float64) float64 { return queueing.MeanMG1(rate, 1e-3, 2.44e-6) }),
		},
		{
			name: "slow drift", metric: "p90", limit: 20 * time.Millisecond, workers: 1,
			parameters: parameters("execute_delay_ms", "1", "delay_distribution", "exponential"),
			drift:      parameters("drift_share", "0.06", "drift_ms", "20000"),
			truth:      queueing.RateMM1(1000, 90, 20e-3),
		},
	}
}

// serve starts a server with the queue. more are parameters of the model.
func (l *law) serve(t *testing.T, seed uint64, more string) (*binary.Server, error) {
	t.Helper()
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "queue", "1"), 0o755); err != nil {
		return nil, err
	}
	config := fmt.Sprintf(`name: "queue"
backend: "delay"
max_batch_size: %d
input [ { name: "INPUT0" data_type: TYPE_FP32 dims: [ 4 ] } ]
output [ { name: "OUTPUT0" data_type: TYPE_FP32 dims: [ 4 ] } ]
instance_group [ { count: %d kind: KIND_CPU } ]
parameters [ { key: "gapless" value: { string_value: "true" } }, { key: "delay_seed" value: { string_value: "%d" } }%s%s ]
`, l.batch, l.workers, seed, l.parameters, more)
	if l.batch > 0 {
		config += "dynamic_batching { }\n"
	}
	if err := os.WriteFile(filepath.Join(dir, "queue", "config.pbtxt"), []byte(config), 0o600); err != nil {
		return nil, err
	}
	return binary.StartServer(t.TempDir(), bin, "--model-repository", dir)
}

// score is how well a search did.
type score struct {
	found                 float64 // requests/s; 0 without an answer
	near, overrated, slow bool
	text                  string
}

// traffic are options for requests to the queue of a server. Each seed has its own arrivals.
func traffic(s *binary.Server, seed uint64) []string {
	return []string{"-m", "queue", "-u", s.Address("grpc"), "-i", "grpc", "--seed", strconv.FormatUint(seed, 10)}
}

// search runs one search from a wrong first guess. A search without an answer is far from the truth.
func (l *law) search(t *testing.T, seed uint64) (score, error) {
	s, err := l.serve(t, seed, l.drift)
	if err != nil {
		return score{}, err
	}
	defer s.Stop()
	rng := rand.New(rand.NewPCG(seed, 21))
	began := time.Now()
	found, err := capacity(t, append(traffic(s, 1000*seed+1), "--slo", l.rule(), "--first", fmt.Sprintf("%.1f", l.truth*math.Exp(2*rng.Float64()-1.2)),
		"--settle", settle.String(), "--probe-max", probe.String(), "--budget", budget.String(), "--resolution", fmt.Sprintf("%g%%", 100*resolution))...)
	took := time.Since(began)
	sc := score{slow: took > budget+5*time.Second}
	sc.text = fmt.Sprintf("%s, seed %d: %%s of %.1f requests/s in %v", l.name, seed, l.truth, took.Round(time.Second))
	if err != nil {
		sc.text = fmt.Sprintf(sc.text, fmt.Sprintf("no capacity (%v)", err))
		return sc, nil
	}
	sc.found, sc.near = found.Value, math.Abs(found.Value/l.truth-1) <= 0.05
	sc.text = fmt.Sprintf(sc.text, fmt.Sprintf("%.1f (%+.1f %%)", found.Value, 100*(found.Value/l.truth-1)))
	return sc, nil
}

// checks is the number of servers that share the check of an answer: together they run it for ten times the time of a probe.
const checks = 4

// check runs a part of the check of an answer, on a server of its own whose drift is over. It returns the objective's metric in ms.
func (l *law) check(t *testing.T, seed uint64, load float64) (float64, error) {
	s, err := l.serve(t, seed, "")
	if err != nil {
		return 0, err
	}
	defer s.Stop()
	part := settle + 10*probe/checks
	long, err := run(t, append([]string{
		"profile", "--async", "--request-distribution", "poisson", "--request-rate-range", fmt.Sprint(load),
		"-p", strconv.FormatInt(part.Milliseconds()/3, 10), "-r", "3", "--stability-percentage", "1000",
	}, traffic(s, seed)...)...)
	if err != nil {
		return 0, err
	}
	value, ok := long.Levels[0].Read(l.metric)
	if !ok {
		return 0, fmt.Errorf("the check has no %s", l.metric)
	}
	return value.Value, nil
}

// round is a set of searches beside each other.
type round struct {
	t      *testing.T
	all    sync.WaitGroup
	places chan struct{} // one for each server that may be measured at a time: with more processes than cores, clients send late
	mu     sync.Mutex
	scores map[string][]score // by the name of the law
	failed []string
}

// measure waits for a place.
func (r *round) measure(work func() error) error {
	r.places <- struct{}{}
	defer func() { <-r.places }()
	return work()
}

// add runs a search and checks its answer.
func (r *round) add(l *law, seed uint64) {
	var sc score
	err := r.measure(func() (err error) {
		sc, err = l.search(r.t, seed)
		return err
	})
	if err == nil && sc.found >= 0.98*l.truth { // others need no check
		err = r.check(l, seed, &sc)
	}
	r.t.Log(sc.text)
	r.mu.Lock()
	defer r.mu.Unlock()
	if err != nil {
		r.failed = append(r.failed, fmt.Sprintf("%s, seed %d: %v", l.name, seed, err))
		return
	}
	r.scores[l.name] = append(r.scores[l.name], sc)
}

// check runs the parts of the check of an answer. All send the same load for the same time, so the mean of their values is that of the
// whole; for a percentile it is so very nearly.
func (r *round) check(l *law, seed uint64, sc *score) error {
	var parts sync.WaitGroup
	values, errs := make([]float64, checks), make([]error, checks)
	for i := range checks {
		parts.Go(func() {
			errs[i] = r.measure(func() (err error) {
				values[i], err = l.check(r.t, 1000*(seed+1)+uint64(i)+2, sc.found)
				return err
			})
		})
	}
	parts.Wait()
	mean := 0.0
	for _, v := range values {
		mean += v / checks
	}
	sc.overrated = mean >= float64(l.limit)/float64(time.Millisecond)
	sc.text += fmt.Sprintf(", %s over ten times a probe: %.2f ms", l.rule(), mean)
	return errors.Join(errs...)
}

// On the reference server with queues of known law the search is within 5 % of the capacity in 19 of 20 searches, within the
// budget, which is two fifths of the time of a sweep; at most one in 20 answers fails a check of ten times the length of a probe. REDLINE_SEEDS is the number of
// searches for each queue.
func TestTimedFindsTheCapacityOfQueues(t *testing.T) {
	outcome.HeavyOnly(t, "redline find on queues of known law, in real time")
	t.Parallel()
	seeds, err := strconv.Atoi(cmp.Or(os.Getenv("REDLINE_SEEDS"), "1"))
	if err != nil {
		t.Fatal(err)
	}
	list := laws()
	disturbance.Try(t, func() error {
		r := round{t: t, places: make(chan struct{}, min(runtime.NumCPU(), 12)), scores: map[string][]score{}}
		for seed := range seeds {
			for _, l := range list {
				r.all.Go(func() { r.add(&l, uint64(seed)) })
			}
		}
		r.all.Wait()
		var total []score
		for _, l := range list {
			report(t, l.name, r.scores[l.name])
			total = append(total, r.scores[l.name]...)
		}
		wrong := slices.Concat(r.failed, report(t, "all laws", total))
		if len(wrong) > 0 {
			return fmt.Errorf("%s", strings.Join(wrong, "\n"))
		}
		return nil
	})
}

// report logs how well searches did and returns what is wrong with them; of a few searches, more than one in 20 may be by chance.
func report(t *testing.T, law string, list []score) (wrong []string) {
	t.Helper()
	var far, overrated, slow int
	for _, sc := range list {
		far += count(!sc.near)
		overrated += count(sc.overrated)
		slow += count(sc.slow)
	}
	t.Logf("%s: %d searches, %d far from the truth, %d answers that failed the long check, %d ended more than 5 s after their budget", law, len(list), far, overrated, slow)
	f := func(n int, what string) {
		if stats.BinomialTail(float64(n), float64(len(list)), 0.05) < 0.01 {
			wrong = append(wrong, fmt.Sprintf("%s: %d of %d searches %s", law, n, len(list), what))
		}
	}
	f(far, "are more than 5 % from the truth")
	f(overrated, "name a load that fails a longer check")
	f(slow, "ended more than 5 s after the budget")
	return wrong
}

func count(b bool) int {
	if b {
		return 1
	}
	return 0
}
