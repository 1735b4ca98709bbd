package find_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redline-bench/redline/e2e/binary"
	"github.com/redline-bench/redline/internal/gate"
	"github.com/redline-bench/redline/internal/stats"
	"github.com/redline-bench/redline/internal/testkit/disturbance"
	"github.com/redline-bench/redline/internal/testkit/outcome"
	"github.com/redline-bench/redline/internal/testkit/queueing"
)

// Times of a search here. A sweep by the same resolution up to the first load that fails needs the full time for each load.
const (
	settle, probe, resolution = time.Second, 30 * time.Second, 0.02
	sweep                     = time.Duration(1+1/resolution) * (settle + probe)
)

// law is a queue of the reference server whose capacity is computed.
type law struct {
	name       string
	rule       string
	truth      float64 // requests/s
	parameters string  // of the model
	workers    int
	batch      int // largest
}

func laws() []law {
	parameters := func(pairs ...string) string {
		list := `{ key: "gapless" value: { string_value: "true" } }`
		for i := 0; i < len(pairs); i += 2 {
			list += fmt.Sprintf(`, { key: %q value: { string_value: %q } }`, pairs[i], pairs[i+1])
		}
		return list
	}
	batches := queueing.Batches{Most: 8, Fixed: 4e-3, Each: 0.5e-3}
	return []law{
		{
			name: "M/D/1", rule: "avg<5ms", workers: 1, parameters: parameters("execute_delay_ms", "1"),
			truth: queueing.Solve(1, 999, 5e-3, func(rate float64) float64 { return queueing.MeanMG1(rate, 1e-3, 1e-6) }),
		},
		{
			name: "M/M/2", rule: "avg<8ms", workers: 2,
			parameters: parameters("execute_delay_ms", "2", "delay_distribution", "exponential"),
			truth:      queueing.Solve(1, 999, 8e-3, func(rate float64) float64 { return queueing.MeanMMC(rate, 500, 2) }),
		},
		{
			name: "batches", rule: "avg<16ms", workers: 1, batch: 8,
			parameters: parameters("execute_delay_ms", "4", "per_item_ms", "0.5"),
			truth:      queueing.Solve(1, 999, 16e-3, batches.Mean),
		},
		{
			// One in ten takes 4.6 ms, the others 0.6 ms: a mean of 1 ms and a deviation of 1.2 ms.
			name: "bimodal", rule: "avg<7ms", workers: 1,
			parameters: parameters("execute_delay_ms", "1", "delay_distribution", "bimodal", "delay_stddev_ms", "1.2"),
			truth:      queueing.Solve(1, 999, 7e-3, func(rate float64) float64 { return queueing.MeanMG1(rate, 1e-3, 2.44e-6) }),
		},
		{
			name: "slow drift", rule: "p90<20ms", workers: 1,
			parameters: parameters("execute_delay_ms", "1", "delay_distribution", "exponential", "drift_share", "0.06", "drift_ms", "20000"),
			truth:      queueing.RateMM1(1000, 90, 20e-3),
		},
	}
}

// repository writes a model repository with the queue.
func (l *law) repository(t *testing.T, seed uint64) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "queue", "1"), 0o755); err != nil {
		t.Fatal(err)
	}
	config := fmt.Sprintf(`name: "queue"
backend: "delay"
max_batch_size: %d
input [ { name: "INPUT0" data_type: TYPE_FP32 dims: [ 4 ] } ]
output [ { name: "OUTPUT0" data_type: TYPE_FP32 dims: [ 4 ] } ]
instance_group [ { count: %d kind: KIND_CPU } ]
parameters [ { key: "delay_seed" value: { string_value: "%d" } }, %s ]
`, l.batch, l.workers, seed, l.parameters)
	if l.batch > 0 {
		config += "dynamic_batching { }\n"
	}
	if err := os.WriteFile(filepath.Join(dir, "queue", "config.pbtxt"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

// score is how well a search did.
type score struct {
	near, overrated, slow bool
	text                  string
}

// search runs one search from a wrong first guess.
func (l *law) search(t *testing.T, seed uint64) (score, error) {
	s, err := binary.StartServer(t.TempDir(), bin, "--model-repository", l.repository(t, seed))
	if err != nil {
		return score{}, err
	}
	defer s.Stop()
	rng := rand.New(rand.NewPCG(seed, 21))
	traffic := []string{"-m", "queue", "-u", s.Address("grpc"), "-i", "grpc", "--seed", strconv.FormatUint(1000*seed+1, 10)}
	began := time.Now()
	found, err := capacity(t, append(traffic, "--slo", l.rule, "--first", fmt.Sprintf("%.1f", l.truth*math.Exp(2*rng.Float64()-1.2)),
		"--settle", settle.String(), "--probe-max", probe.String(), "--resolution", "2%")...)
	if err != nil {
		return score{}, err
	}
	took := time.Since(began)
	sc := score{near: math.Abs(found.Value/l.truth-1) <= 0.05, slow: 3*took > sweep}
	sc.text = fmt.Sprintf("%s, seed %d: %.1f of %.1f requests/s in %v", l.name, seed, found.Value, l.truth, took.Round(time.Second))
	if found.Value < 0.98*l.truth { // needs no check
		return sc, nil
	}
	long, err := run(t, append([]string{
		"profile", "--async", "--request-distribution", "poisson", "--request-rate-range",
		fmt.Sprint(found.Value), "-p", strconv.Itoa(int(10 * probe.Milliseconds() / 3)), "-r", "3", "--stability-percentage", "1000",
	}, traffic...)...)
	if err != nil {
		return score{}, err
	}
	rule, err := gate.Parse(l.rule)
	if err != nil {
		return score{}, err
	}
	_, holds, err := rule.Check(&long.Levels[0])
	sc.overrated = !holds
	sc.text += fmt.Sprintf(", holds for ten times a probe: %v", holds)
	return sc, err
}

// On the reference server with queues of known law the search is within 5 % of the capacity in 19 of 20 searches, in at most a third of
// the time of a sweep; at most one in 20 answers fails a check of ten times the length of a probe.
func TestFindsTheCapacityOfQueues(t *testing.T) {
	outcome.HeavyOnly(t, "redline find on queues of known law, in real time")
	list, abreast := laws(), 2*runtime.NumCPU()
	if runtime.NumCPU() < 8 {
		list = list[:2]
	}
	seeds := abreast / len(list)
	disturbance.Try(t, func() error {
		var (
			all    sync.WaitGroup
			mu     sync.Mutex
			scores = map[string][]score{}
			total  []score
			failed []string
			places = make(chan struct{}, abreast)
		)
		for seed := range seeds {
			for _, l := range list {
				all.Go(func() {
					places <- struct{}{}
					defer func() { <-places }()
					sc, err := l.search(t, uint64(seed))
					mu.Lock()
					defer mu.Unlock()
					if err != nil {
						failed = append(failed, fmt.Sprintf("%s, seed %d: %v", l.name, seed, err))
						return
					}
					scores[l.name] = append(scores[l.name], sc)
				})
			}
		}
		all.Wait()
		for _, l := range list {
			report(t, l.name, scores[l.name])
			total = append(total, scores[l.name]...)
		}
		failed = append(failed, report(t, "all laws", total)...)
		if len(failed) > 0 {
			return fmt.Errorf("%s", strings.Join(failed, "\n"))
		}
		return nil
	})
}

// report logs how well searches did and returns what is wrong with them; of a few searches, more than one in 20 may be by chance.
func report(t *testing.T, law string, list []score) (wrong []string) {
	t.Helper()
	var far, overrated, slow int
	for _, sc := range list {
		t.Log(sc.text)
		far += count(!sc.near)
		overrated += count(sc.overrated)
		slow += count(sc.slow)
	}
	t.Logf("%s: %d searches, %d far from the truth, %d answers that failed the long check, %d took more than a third of a sweep", law, len(list), far, overrated, slow)
	f := func(n int, what string) {
		if stats.BinomialTail(float64(n), float64(len(list)), 0.05) < 0.01 {
			wrong = append(wrong, fmt.Sprintf("%s: %d of %d searches %s", law, n, len(list), what))
		}
	}
	f(far, "are more than 5 % from the truth")
	f(overrated, "name a load that fails a longer check")
	f(slow, "took more than a third of a sweep's time")
	return wrong
}

func count(b bool) int {
	if b {
		return 1
	}
	return 0
}
