package conformance

import (
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestMask(t *testing.T) {
	f := func(in, want string) {
		t.Helper()
		if got := Mask(in); got != want {
			t.Errorf("Mask(%q) = %q, want %q", in, got, want)
		}
	}
	f("Throughput: 14.6543 infer/sec", "Throughput: # infer/sec")
	f("p50 latency: 12 usec", "p50 latency: # usec")
	f("INPUT0 at 127.0.0.1:8000", "INPUT0 at #.#:#")
	f("value 1e+06, -3", "value #, #")
}

func TestCompareSeesDifferences(t *testing.T) {
	base := Outcome{Stdout: "a 1\nb 2\n", Stderr: "Error: bad\n\n", Files: map[string]string{
		"a.csv": "Concurrency,Inferences/Second,p50 latency\n1,40.5,20\n", "b.json": `{"a":[1,2],"b":"x"}`,
	}}
	f := func(name, want string, change func(*Outcome)) {
		t.Helper()
		o := base
		o.Files = maps.Clone(base.Files)
		change(&o)
		got := strings.Join(Compare(&base, &o), "\n")
		if want == "" && got != "" || !strings.Contains(got, want) {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
	f("nothing", "", func(*Outcome) {})
	f("numbers and more on stderr", "", func(o *Outcome) {
		o.Stdout, o.Stderr = "a 9.5\nb 7\n", "Error: bad\nhint\n"
		o.Files["a.csv"] = "Concurrency,Inferences/Second,p50 latency\n1,7,33\n"
		o.Files["b.json"] = `{"b":"y","a":[3]}`
	})
	f("code", "exit code 2 instead of 0", func(o *Outcome) { o.Code = 2 })
	f("line", "stdout", func(o *Outcome) { o.Stdout = "a 1\n" })
	f("stderr", "stderr lacks", func(o *Outcome) { o.Stderr = "" })
	f("header", "header", func(o *Outcome) { o.Files["a.csv"] = "Concurrency,x,p50 latency\n1,2,3\n" })
	f("rows", "rows", func(o *Outcome) { o.Files["a.csv"] += "2,3,4\n" })
	f("form", "not written like", func(o *Outcome) {
		o.Files["a.csv"] = "Concurrency,Inferences/Second,p50 latency\n1,40.5,20.5\n"
	})
	f("type", "shape", func(o *Outcome) { o.Files["b.json"] = `{"a":[1.5],"b":"x"}` })
	f("key", "shape", func(o *Outcome) { o.Files["b.json"] = `{"a":[1]}` })
	f("missing", "was not written", func(o *Outcome) { delete(o.Files, "b.json") })
	f("extra", "was written", func(o *Outcome) { o.Files["c.csv"] = "" })
}

func TestARefusalIsOneClearLine(t *testing.T) {
	f := func(stderr string, ok bool) {
		t.Helper()
		diffs := Compare(&Outcome{Code: refused, Stdout: "x", Stderr: "Error: theirs"}, &Outcome{Code: refused, Stderr: stderr})
		if (len(diffs) == 0) != ok {
			t.Errorf("%q: %q", stderr, diffs)
		}
	}
	f("perf_analyzer: -i is http or grpc, not \"x\"\n", true)
	f("Failed.\nThread [0] had error: no\n\nThread [1] had error: no\n", true)
	f("", false)
	f("perf_analyzer: \n", false)
	f("perf_analyzer: one\nperf_analyzer: two\n", false)
	f("Thread [0] had error: \n", false)
}

func TestParse(t *testing.T) {
	got, err := Parse(strings.NewReader("# a\ncase one\n  run: -m simple -H 'a: b' {load}\n  run: -f x.csv\n  files: x.csv\n\ncase two\n run: -m x\n deviates: why: so\n code: 99\n says: hello\n"), "--request-count 3")
	if err != nil {
		t.Fatal(err)
	}
	want := []Case{
		{Name: "one", Args: []string{"-m", "simple", "-H", "a: b", "--request-count", "3", "-f", "x.csv"}, Files: []string{"x.csv"}, line: 2},
		{Name: "two", Args: []string{"-m", "x"}, Deviation: "why: so", OurCode: 99, OurText: "hello", line: 7},
	}
	if d := cmp.Diff(got, want, cmp.AllowUnexported(Case{})); d != "" {
		t.Error(d)
	}
	for _, bad := range []string{"run: x", "case a\n nonsense", "case a\n what: x", "case a\n code: x", "case a\n run: 'x", "case a\ncase a"} {
		if _, err := Parse(strings.NewReader(bad), ""); err == nil {
			t.Errorf("no error for %q", bad)
		}
	}
}

func TestNeeds(t *testing.T) {
	f := func(line string, want ...string) {
		t.Helper()
		args, err := fields(line)
		if err != nil {
			t.Fatal(err)
		}
		c := Case{Args: args}
		if d := cmp.Diff(want, c.Needs()); d != "" {
			t.Errorf("%s: %s", line, d)
		}
	}
	f("-vm simple -u {http}")
	f("-m simple --shared-memory=system", "shared memory")
	f("-v -m accumulate_slow --shared-memory system", "accumulate_slow", "shared memory")
	f("-m chain_cached", needsCache)
}
