package flags_test

import (
	"flag"
	"os"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/redline-bench/redline/internal/pacompat/flags"
	"github.com/redline-bench/redline/internal/plan"
)

var update = flag.Bool("update", false, "write docs/flags.md instead of comparing it")

// TestReference holds docs/flags.md to the option table.
func TestReference(t *testing.T) {
	const path = "../../../docs/flags.md"
	want := flags.Markdown()
	if *update {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, string(got)); d != "" {
		t.Errorf("docs/flags.md is stale, run make generate: %s", d)
	}
}

func TestHelp(t *testing.T) {
	for _, face := range []plan.Program{plan.PerfAnalyzer, plan.Redline} {
		for _, width := range []int{0, 80, 100, 500} {
			text := flags.Help(face, width)
			limit := min(max(width, 72), 120)
			for line := range strings.Lines(text) {
				line = strings.TrimRight(line, "\n")
				if line != strings.TrimRight(line, " ") {
					t.Errorf("%s: trailing space: %q", face, line)
				}
				// Forms and examples are not folded; what is explained is.
				if utf8.RuneCountInString(line) > limit && (width == 100 || strings.HasPrefix(line, strings.Repeat(" ", 30))) {
					t.Errorf("%s at %d: too wide: %q", face, width, line)
				}
			}
			for _, row := range flags.Rows(face) {
				if !strings.Contains(text, row.Name()) {
					t.Errorf("%s: help lacks %s", face, row.Name())
				}
			}
		}
	}
	if !strings.HasPrefix(flags.Help(plan.PerfAnalyzer, 100), "Usage: perf_analyzer [options]\n") {
		t.Error("the drop-in's help starts with another line than the original's")
	}
	if strings.Contains(flags.Help(plan.PerfAnalyzer, 100), "--embedded") {
		t.Error("the drop-in's help names an option of redline's")
	}
}

// TestRows holds the table to its own rules.
func TestRows(t *testing.T) {
	seen := map[string]bool{}
	sections := map[flags.Section]bool{}
	for _, s := range flags.Sections() {
		sections[s] = true
	}
	for _, r := range flags.Rows(plan.Redline) {
		for _, n := range []string{r.Long, string(r.Short)} {
			if n == "" || n == "\x00" {
				continue
			}
			if seen[n] {
				t.Errorf("%s stands in two rows", n)
			}
			seen[n] = true
		}
		if !strings.HasSuffix(r.Help, ".") {
			t.Errorf("%s: help is no sentence: %q", r.Name(), r.Help)
		}
		if !sections[r.Section] {
			t.Errorf("%s: section %q", r.Name(), r.Section)
		}
		if r.Arg == "" && (r.Default != "" || r.Unit != "" || len(r.Hint.Values) > 0) {
			t.Errorf("%s takes no value, yet has a default, a unit or a hint", r.Name())
		}
	}
	// The original's options, all of them.
	const original = `version m x bls-composing-models model-signature-name service-kind endpoint v async a sync
		measurement-interval p concurrency-range periodic-concurrency-range session-concurrency request-period
		request-rate-range request-distribution request-intervals serial-sequences binary-search num-of-sequences
		latency-threshold l max-threads stability-percentage s max-trials r percentile request-count
		warmup-request-count fixed-schedule t c d b input-data shared-memory output-shared-memory-size shape
		sequence-length sequence-length-variation sequence-id-range string-length string-data input-tensor-format
		output-tensor-format z data-directory u i ssl-grpc-use-ssl ssl-grpc-root-certifications-file
		ssl-grpc-private-key-file ssl-grpc-certificate-chain-file ssl-https-verify-peer ssl-https-verify-host
		ssl-https-ca-certificates-file ssl-https-client-certificate-file ssl-https-client-certificate-type
		ssl-https-private-key-file ssl-https-private-key-type f profile-export-file H streaming
		grpc-compression-algorithm grpc-method trace-level trace-rate trace-count log-frequency collect-metrics
		metrics-url metrics-interval measurement-mode measurement-request-count verbose-csv request-parameter
		enable-mpi triton-server-directory model-repository`
	for n := range strings.FieldsSeq(original) {
		if !seen[n] {
			t.Errorf("the original's %s has no row", n)
		}
	}
	own := 0
	for _, r := range flags.Rows(plan.PerfAnalyzer) {
		if r.Face != flags.Both {
			t.Errorf("%s is in the drop-in", r.Name())
		}
		own++
	}
	if n := len(flags.Rows(plan.Redline)); n <= own {
		t.Errorf("redline has %d options, the drop-in %d", n, own)
	}
}

func TestVersionLine(t *testing.T) {
	f := func(face plan.Program, want string) {
		t.Helper()
		if got := flags.VersionLine(face, "v1.2.3"); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	f(plan.PerfAnalyzer, "Perf Analyzer Version 2.60.0 (commit unknown)\nredline v1.2.3")
	f(plan.Redline, "redline v1.2.3")
}
