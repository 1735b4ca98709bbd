package conformance

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"math"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redline-bench/redline/e2e/binary"
	"github.com/redline-bench/redline/e2e/conformance/wiretap"
	"github.com/redline-bench/redline/e2e/peers"
)

// A run that takes longer than this hangs; the cases ask for a few seconds.
const limit = 60 * time.Second

// TestRealPeers compares Redline with perf_analyzer, case by case, on one real Triton; then the numbers of both on
// a model that always takes the same time.
func TestRealPeers(t *testing.T) {
	if testing.Short() {
		t.Skip("short")
	}
	cases := readCases(t, "conformance.txt")
	p, err := peers.Install(t.Context())
	if err != nil {
		t.Skipf("**** NOT TESTED: %d cases against the real Triton and perf_analyzer: %v ****", len(cases), err)
	}
	r := newRunner(t, p)
	for i := range cases {
		t.Run(cases[i].Name, func(t *testing.T) { r.check(t, &cases[i]) })
		if err := r.triton.Err(); err != nil {
			t.Fatal(err)
		}
	}
	t.Run("requests", r.requests)
	t.Run("interrupts", r.interrupts)
	for _, target := range []string{"-i http -u {http}", "-i grpc -u {grpc}"} {
		t.Run("same numbers "+target[3:7], func(t *testing.T) { r.sameNumbers(t, target) })
	}
}

func newRunner(t *testing.T, p *peers.Peers) *runner {
	t.Helper()
	bin, err := binary.Build(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	triton, err := p.StartTriton(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(triton.Stop)
	dead, err := peers.FreePorts(1)
	if err != nil {
		t.Fatal(err)
	}
	cache, err := peers.CacheDir()
	if err != nil {
		t.Fatal(err)
	}
	root := filepath.Join(binary.Root(), "e2e")
	return &runner{
		triton: triton, real: p.PerfAnalyzer(), ours: filepath.Join(bin, "perf_analyzer"),
		fill:  fill(triton.HTTP, triton.GRPC, triton.Metrics, net.JoinHostPort("127.0.0.1", strconv.Itoa(dead[0]))),
		store: Store{Dir: filepath.Join(cache, "outcomes"), Seed: peers.Versions + digest(t, filepath.Join(root, "models"), filepath.Join(root, "testdata", "data"))},
	}
}

type runner struct {
	triton     *peers.Triton
	real, ours string
	fill       *strings.Replacer
	store      Store
	log        *wiretap.Log // nil where requests are not watched
}

// check runs a case. A difference is looked at again, with fresh runs of the original: on a busy machine the original
// does not always do the same thing either.
func (r *runner) check(t *testing.T, c *Case) {
	var diffs []string
	var stderr string
	for try := range 3 {
		got, err := Run(t.Context(), r.ours, c, r.fill, limit)
		if err != nil {
			t.Fatal(err)
		}
		if c.Deviation != "" {
			diffs = deviation(c, got)
		} else {
			diffs = Compare(r.want(t, c, try > 0), got)
		}
		if len(diffs) == 0 {
			return
		}
		stderr = got.Stderr
	}
	t.Errorf("perf_analyzer %s\n%s\nour stderr:\n%s", strings.Join(c.Args, " "), strings.Join(diffs, "\n"), stderr)
}

func (r *runner) want(t *testing.T, c *Case, fresh bool) *Outcome {
	t.Helper()
	if kept := r.store.Load(c); kept != nil && !fresh {
		return kept
	}
	o := r.observe(t, r.real, c)
	if err := r.triton.Err(); err != nil {
		t.Fatal(err)
	}
	if err := r.store.Save(c, o); err != nil {
		t.Logf("outcome not kept: %v", err)
	}
	return o
}

var (
	throughput = regexp.MustCompile(`Throughput: (\S+) infer/sec`)
	p50        = regexp.MustCompile(`p50 latency: (\d+) usec`)
)

// sameNumbers measures a model that takes 20 ms an execution with both programs: throughput within 5 %, p50 within 1 ms.
func (r *runner) sameNumbers(t *testing.T, target string) {
	args, err := fields(target + " -m slow --shape INPUT0:8 -p 700 -r 5 -s 50")
	if err != nil {
		t.Fatal(err)
	}
	measure := func(bin string) (rate, median float64) {
		var o *Outcome
		for range 10 {
			if o, err = Run(t.Context(), bin, &Case{Args: args}, r.fill, limit); err != nil || o.Code != 2 {
				break // 2: the windows differed, as they do while other work comes and goes
			}
		}
		if err != nil || o.Code != 0 {
			t.Fatalf("%v %+v", err, o)
		}
		rate, _ = strconv.ParseFloat(throughput.FindStringSubmatch(o.Stdout)[1], 64)
		median, _ = strconv.ParseFloat(p50.FindStringSubmatch(o.Stdout)[1], 64)
		return rate, median
	}
	for try := range 5 { // other work, or a stall of the server, may hit one of the two
		theirRate, theirMedian := measure(r.real)
		rate, median := measure(r.ours)
		if math.Abs(rate/theirRate-1) <= 0.05 && math.Abs(median-theirMedian) <= 1000 {
			return
		}
		t.Logf("try %d: %.2f infer/sec, p50 %.0f usec; the original %.2f, %.0f", try+1, rate, median, theirRate, theirMedian)
	}
	t.Error("the numbers differ")
}

func deviation(c *Case, got *Outcome) []string {
	var diffs []string
	if got.Code != c.OurCode {
		diffs = append(diffs, fmt.Sprintf("exit code %d instead of %d\n%s", got.Code, c.OurCode, got.Stderr))
	}
	if !strings.Contains(got.Stdout+got.Stderr, c.OurText) {
		diffs = append(diffs, fmt.Sprintf("the output lacks %q:\n%s%s", c.OurText, got.Stdout, got.Stderr))
	}
	return diffs
}

func readCases(t *testing.T, name string) []Case {
	t.Helper()
	f, err := os.Open(filepath.Join(binary.Root(), "e2e", "testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	cases, err := Parse(f)
	if err != nil {
		t.Fatal(err)
	}
	return cases
}

// digest covers the names and contents of all files below the folders.
func digest(t *testing.T, dirs ...string) string {
	t.Helper()
	h := sha256.New()
	for _, dir := range dirs {
		err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			text, err := os.ReadFile(name)
			fmt.Fprintf(h, "%s %d\n%s", filepath.Base(name), len(text), text)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return fmt.Sprintf("%x", h.Sum(nil))
}
