package conformance

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redline-bench/redline/e2e/binary"
	"github.com/redline-bench/redline/e2e/peers"
)

// A run that takes longer than this hangs; the cases ask for a few seconds.
const limit = 60 * time.Second

// TestRealPeers compares Redline with perf_analyzer, case by case, on one real Triton.
func TestRealPeers(t *testing.T) {
	if testing.Short() {
		t.Skip("short")
	}
	ctx := t.Context()
	cases := readCases(t)
	p, err := peers.Install(ctx)
	if err != nil {
		t.Skipf("**** NOT TESTED: %d cases against the real Triton and perf_analyzer: %v ****", len(cases), err)
	}
	bin, err := binary.Build(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	triton, err := p.StartTriton(ctx, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(triton.Stop)

	dead, err := peers.FreePorts(1)
	if err != nil {
		t.Fatal(err)
	}
	root := filepath.Join(binary.Root(), "e2e")
	data := filepath.Join(root, "testdata", "data")
	fill := strings.NewReplacer("{http}", triton.HTTP, "{grpc}", triton.GRPC, "{metrics}", triton.Metrics, "{data}", data,
		"{dead}", net.JoinHostPort("127.0.0.1", strconv.Itoa(dead[0])))
	cache, err := peers.CacheDir()
	if err != nil {
		t.Fatal(err)
	}
	store := Store{Dir: filepath.Join(cache, "outcomes"), Seed: peers.Versions + digest(t, filepath.Join(root, "models"), data)}
	r := runner{triton: triton, real: p.PerfAnalyzer(), ours: filepath.Join(bin, "perf_analyzer"), fill: fill, store: store}
	for i := range cases {
		t.Run(cases[i].Name, func(t *testing.T) { r.check(t, &cases[i]) })
		if err := triton.Err(); err != nil {
			t.Fatal(err)
		}
	}
}

type runner struct {
	triton     *peers.Triton
	real, ours string
	fill       *strings.Replacer
	store      Store
}

// check runs a case. A difference is looked at twice, the second time with a fresh run of the original: on a busy
// machine the original does not always do the same thing either.
func (r runner) check(t *testing.T, c *Case) {
	var diffs []string
	for try := range 2 {
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
	}
	t.Errorf("perf_analyzer %s\n%s", strings.Join(c.Args, " "), strings.Join(diffs, "\n"))
}

func (r runner) want(t *testing.T, c *Case, fresh bool) *Outcome {
	t.Helper()
	if kept := r.store.Load(c); kept != nil && !fresh {
		return kept
	}
	o, err := Run(t.Context(), r.real, c, r.fill, limit)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.triton.Err(); err != nil {
		t.Fatal(err)
	}
	if err := r.store.Save(c, o); err != nil {
		t.Logf("outcome not kept: %v", err)
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

func readCases(t *testing.T) []Case {
	t.Helper()
	f, err := os.Open(filepath.Join(binary.Root(), "e2e", "testdata", "conformance.txt"))
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
