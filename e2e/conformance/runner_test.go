package conformance

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redline-bench/redline/e2e/binary"
	"github.com/redline-bench/redline/e2e/conformance/wiretap"
	"github.com/redline-bench/redline/e2e/peers"
	"github.com/redline-bench/redline/internal/testkit"
	"github.com/redline-bench/redline/internal/testkit/disturbance"
	"github.com/redline-bench/redline/internal/testkit/outcome"
)

const (
	// A run that takes longer than this hangs; the cases request a few seconds. perf_analyzer hangs sometimes.
	limit     = 3 * time.Minute
	peerLimit = time.Minute
	// atOnce is how many cases run at a time. They wait for windows and for each other's processes.
	atOnce = 6
	// peerRuns is how many outcomes of perf_analyzer ours is compared with: its threads race, and so it does not always
	// print the same lines.
	peerRuns = 3
	// peerCrashes is how often a peer may crash in one case.
	peerCrashes = 5
)

// runner runs cases with both programs on one real Triton.
type runner struct {
	keeper     *peers.Keeper
	real, ours string
	dead       string
	store      Store
	// compare returns how our outcome differs from perf_analyzer's.
	compare func(want, got *Outcome) []string
	tapped  bool // requests are written down
}

func newRunner(t *testing.T, p *peers.Peers) *runner {
	t.Helper()
	bin := binary.Built(t)
	keeper := peers.Keep(t, func() (*peers.Triton, error) { return p.StartTriton(t.Context(), t.TempDir()) })
	cache, err := peers.CacheDir()
	if err != nil {
		t.Fatal(err)
	}
	root := filepath.Join(binary.Root(), "e2e")
	return &runner{
		keeper: keeper, real: p.PerfAnalyzer(), ours: filepath.Join(bin, "perf_analyzer"), dead: testkit.Port(t), compare: Compare,
		store: Store{Dir: filepath.Join(cache, "outcomes"), Seed: peers.Versions + digest(t, filepath.Join(root, "models"), filepath.Join(root, "testdata", "data"))},
	}
}

// check runs a case with our program and compares the outcome.
func (r *runner) check(t *testing.T, c *Case) {
	if slices.Contains(c.Needs(), needsCache) {
		r.observe(t, r.ours, c) // fills the server's cache, so that both programs find the same
	}
	judge(t, c, func() (got *Outcome, diffs []string) {
		for range peerCrashes {
			triton := r.keeper.Triton()
			if got, diffs = r.bothPrograms(t, c); len(diffs) == 0 || !r.keeper.Crashed(t, triton) {
				return got, diffs
			}
		}
		outcome.Inconclusive(t, fmt.Sprintf("Triton crashed %d times", peerCrashes))
		return got, diffs
	})
}

// bothPrograms runs a case with our program and compares its outcome with those of perf_analyzer.
func (r *runner) bothPrograms(t *testing.T, c *Case) (got *Outcome, diffs []string) {
	t.Helper()
	got = r.observe(t, r.ours, c)
	if c.Deviation != "" {
		return got, deviation(c, got)
	}
	for try := range peerRuns {
		want := r.store.Load(c)
		if want == nil || try > 0 {
			want = r.observe(t, r.real, c)
		}
		if diffs = r.compare(want, got); len(diffs) > 0 {
			continue
		}
		if err := r.store.Save(c, want); err != nil {
			t.Logf("outcome not kept: %v", err)
		}
		break
	}
	return got, diffs
}

// judge fails the test where our outcome differs. Other work on the machine can change the outcome of a run that measured
// windows, or sent at a rate: what ends in a window, and what is in flight when a request is due.
func judge(t *testing.T, c *Case, run func() (got *Outcome, diffs []string)) {
	t.Helper()
	disturbance.Try(t, func() error {
		t.Helper()
		got, diffs := run()
		if len(diffs) == 0 {
			return nil
		}
		text := fmt.Sprintf("perf_analyzer %s\n%s\nour stderr:\n%s", strings.Join(c.Args, " "), strings.Join(diffs, "\n"), got.Stderr)
		if !strings.Contains(got.Stdout, "Measurement window:") && !slices.ContainsFunc(c.Args, sendsAtARate) {
			t.Fatal(text)
		}
		return errors.New(text)
	})
}

// sendsAtARate reports whether an option requests requests at times of their own, and not at the end of others.
func sendsAtARate(option string) bool {
	return option == "--request-rate-range" || option == "--request-intervals"
}

// observe runs a case with a program, and again where a peer failed.
func (r *runner) observe(t *testing.T, bin string, c *Case) *Outcome {
	t.Helper()
	return retryPeer(t, c, bin == r.real, func() *Outcome { return r.once(t, r.keeper.Triton(), bin, c) })
}

// retryPeer runs a case until no peer fails in it. isPeer tells whether the program that runs is a peer.
func retryPeer(t *testing.T, c *Case, isPeer bool, run func() *Outcome) *Outcome {
	t.Helper()
	for range peerCrashes {
		o := run()
		why := peerFault(o, isPeer)
		if why == "" {
			return o
		}
		t.Logf("PEER CRASHED: %s", why)
	}
	outcome.Inconclusive(t, fmt.Sprintf("a peer crashed %d times with %s", peerCrashes, strings.Join(c.Args, " ")))
	return nil
}

// peerFault tells what went wrong in a peer, not in our program; "" is nothing.
func peerFault(o *Outcome, isPeer bool) string {
	switch {
	case peers.StubDied(o.Stdout + o.Stderr):
		return "Triton lost a process of its Python backend"
	case isPeer && o.Code == hung:
		return fmt.Sprintf("perf_analyzer did not end within %v", peerLimit)
	case isPeer && o.Code > 128:
		return fmt.Sprintf("perf_analyzer was ended by signal %d\n%s", o.Code-128, o.Stderr)
	}
	return ""
}

// once runs a case on a server, through proxies that write requests down where they are compared.
func (r *runner) once(t *testing.T, triton *peers.Triton, bin string, c *Case) *Outcome {
	t.Helper()
	if !r.tapped {
		return run(t, bin, c, fill(triton.HTTP, triton.GRPC, triton.Metrics, r.dead), r.limit(bin))
	}
	tap := newTap(t, triton)
	defer tap.close()
	o := run(t, bin, c, tap.fill, r.limit(bin))
	o.Requests = wiretap.Normalize(tap.log.Take(), chosen(c.Args))
	return o
}

// limit is how long a program may take.
func (r *runner) limit(bin string) time.Duration {
	if bin == r.real {
		return peerLimit
	}
	return limit
}

func run(t *testing.T, bin string, c *Case, fill *strings.Replacer, limit time.Duration) *Outcome {
	t.Helper()
	o, err := Run(t.Context(), bin, c, fill, limit)
	if err != nil {
		t.Fatal(err)
	}
	return o
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

// load is what {load} in a case stands for.
func load() string {
	if outcome.Heavy() {
		return windowedLoad
	}
	return countedLoad
}

func readCases(t *testing.T, name string) []Case {
	t.Helper()
	f, err := os.Open(filepath.Join(binary.Root(), "e2e", "testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	cases, err := Parse(f, load())
	if err != nil {
		t.Fatal(err)
	}
	return cases
}

// fill puts addresses into command lines.
func fill(http, grpc, metrics, dead string) *strings.Replacer {
	return strings.NewReplacer("{http}", http, "{grpc}", grpc, "{metrics}", metrics, "{dead}", dead,
		"{data}", filepath.Join(binary.Root(), "e2e", "testdata", "data"))
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
