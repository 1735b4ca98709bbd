package qa

import (
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
	var list []pool.Task
	for _, shared := range b.shared {
		for _, inFlight := range []string{"1", "16"} {
			for _, elements := range []string{"1", "4194304"} {
				line := target + " -p{10000|500} --percentile=95 --shared-memory " + shared +
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
	var dir string
	disturbance.Try(t, func() error {
		dir = t.TempDir()
		code, output := b.steadily(t, bin, dir, line)
		return judge(t, &check{pass: "zero"}, line, code, output)
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

// steadily asks for windows within 15 % of each other in 50 trials, as the table does. A run whose first ten windows were
// disturbed ends there: it would hardly become steady.
func (b *bench) steadily(t *testing.T, bin, dir, line string) (code int, output string) {
	t.Helper()
	if !outcome.Heavy() {
		return b.run(t, bin, dir, line, limit)
	}
	for _, trials := range []string{"10", "50"} {
		watch := disturbance.Start()
		code, output = b.run(t, bin, dir, line+" -s 15 --max-trials "+trials, 15*time.Minute)
		if report := watch.Stop(); code != unstable || report.Disturbed() {
			break
		}
	}
	return code, output
}
