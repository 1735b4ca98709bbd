package qa

import (
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redline-bench/redline/e2e/native"
	"github.com/redline-bench/redline/e2e/pool"
	"github.com/redline-bench/redline/internal/testkit/disturbance"
	"github.com/redline-bench/redline/internal/testkit/outcome"
)

// noModel is table H: least latency and most throughput, small and 16 MB inputs, and the columns that the reports are
// made of. In the heavy tests windows must be steady, and so one run is made at a time.
func (b *bench) noModel(t *testing.T) {
	bin := b.perfAnalyzer()
	tasks := b.sizes("grpc", bin, "-i grpc -u {grpc} -m identity_fp32")
	tasks = append(tasks, b.sizes("http", bin, "-i http -u {http} -m identity_fp32")...)
	workers := atOnce
	if outcome.Heavy() {
		workers = 1
	}
	pool.Run(t, workers, tasks)
	t.Run("in process", func(t *testing.T) {
		const model = "same_float32"
		launcher, home := native.Launcher(t, b.peers, b.bin)
		models := t.TempDir()
		copyModel(t, model, models)
		pool.Run(t, workers, b.sizes("api", launcher, "--service-kind triton_c_api --triton-server-directory "+home+" --model-repository "+models+" -m "+model))
	})
}

// sizes makes subtests with each kind of shared memory, few and many requests in flight, small and large inputs.
func (b *bench) sizes(name, bin, target string) []pool.Task {
	load := "--request-count 16"
	if outcome.Heavy() {
		load = "-p 2000"
	}
	var list []pool.Task
	for _, shared := range b.shared {
		for _, inFlight := range []string{"1", "16"} {
			for _, elements := range []string{"1", "4194304"} {
				line := target + " " + load + " --percentile=95 --shared-memory " + shared +
					" --output-shared-memory-size 16777216 -b1 -t" + inFlight + " --shape INPUT0:" + elements + " -f h.csv"
				list = append(list, pool.Task{
					Name: strings.Join([]string{name, shared, inFlight, elements}, "_"), Needs: needs(line),
					Run: func(t *testing.T) { b.columns(t, bin, line) },
				})
			}
		}
	}
	return list
}

// columns makes one run of table H and looks at its report.
func (b *bench) columns(t *testing.T, bin, line string) {
	if b.disturbed > patience {
		outcome.Inconclusive(t, fmt.Sprintf("windows did not become steady: other work disturbed the rows before this one for %v", b.disturbed))
	}
	var dir string
	disturbance.Try(t, func() error {
		dir = t.TempDir()
		return b.steadily(t, bin, dir, line)
	})
	rows := readCSV(t, filepath.Join(dir, "h.csv"))
	row := map[string]string{}
	for i, name := range rows[0] {
		row[name] = rows[1][i]
	}
	for _, name := range []string{
		"Inferences/Second", "Client Send", "Network+Server Send/Recv", "Server Queue", "Server Compute Input",
		"Server Compute Output", "Server Compute Infer", "Client Recv", "p50 latency", "p90 latency", "p95 latency", "p99 latency",
	} {
		v, err := strconv.ParseFloat(row[name], 64)
		if always := name == "Inferences/Second" || name[0] == 'p'; err != nil || v < 0 || always && v == 0 {
			t.Errorf("H2: column %s: %q", name, row[name])
		}
	}
}

// patience is how much time the rows of table H may lose to other work before the rest is not tried.
const patience = 5 * time.Minute

// steadily requests windows within 15 % of each other in 50 trials, as the table does. A run whose first ten windows were
// disturbed ends there: it would hardly become steady.
func (b *bench) steadily(t *testing.T, bin, dir, line string) (err error) {
	t.Helper()
	c := &check{pass: "zero", within: 15 * time.Minute}
	if !outcome.Heavy() {
		_, err = b.run(t, c, bin, dir, line)
		return err
	}
	for _, trials := range []string{"10", "50"} {
		watch := disturbance.Start()
		_, err = b.run(t, c, bin, dir, line+" -s 15 --max-trials "+trials)
		report := watch.Stop()
		if !errors.Is(err, errUnstable) {
			break
		}
		if report.Disturbed() {
			b.disturbed += report.Wall
			break
		}
	}
	return err
}
