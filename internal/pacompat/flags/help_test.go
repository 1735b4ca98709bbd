package flags_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/redline-bench/redline/internal/pacompat/flags"
)

func TestHelp(t *testing.T) {
	for _, face := range []flags.Program{flags.PerfAnalyzer, flags.Redline} {
		for _, width := range []int{0, 80, 100, 500} {
			c := flags.Command(face, "")
			text := c.Help(width)
			limit := min(max(width, 72), 118)
			for line := range strings.Lines(text) {
				line = strings.TrimRight(line, "\n")
				if line != strings.TrimRight(line, " ") {
					t.Errorf("%d: trailing space: %q", face, line)
				}
				// Forms and examples are not folded; what is explained is.
				if utf8.RuneCountInString(line) > limit && (width == 100 || strings.HasPrefix(line, strings.Repeat(" ", 30))) {
					t.Errorf("%d at %d: too wide: %q", face, width, line)
				}
			}
			for _, row := range flags.Rows(face) {
				if row.Instead == "" && !strings.Contains(text, row.Name()) {
					t.Errorf("%d: help lacks %s", face, row.Name())
				}
			}
		}
	}
	c := flags.Command(flags.PerfAnalyzer, "")
	if !strings.HasPrefix(c.Help(100), "Usage: perf_analyzer [options]\n") {
		t.Error("the help of perf_analyzer mode starts with another line than perf_analyzer's")
	}
	if strings.Contains(c.Help(100), "--embedded") {
		t.Error("the help of perf_analyzer mode names an option of redline's")
	}
}

// TestRows holds that the table has all options of perf_analyzer.
func TestRows(t *testing.T) {
	seen := map[string]bool{}
	for _, r := range flags.Rows(flags.Redline) {
		for _, n := range r.Names() {
			seen[strings.TrimLeft(n, "-")] = true
		}
	}
	// perf_analyzer's options, all of them.
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
			t.Errorf("perf_analyzer's %s has no row", n)
		}
	}
	own := 0
	for _, r := range flags.Rows(flags.PerfAnalyzer) {
		if r.RedlineOnly {
			t.Errorf("%s is in perf_analyzer mode", r.Name())
		}
		own++
	}
	if n := len(flags.Rows(flags.Redline)); n <= own {
		t.Errorf("redline has %d options, perf_analyzer mode %d", n, own)
	}
}

func TestVersionLine(t *testing.T) {
	f := func(face flags.Program, want string) {
		t.Helper()
		if got := flags.VersionLine(face, "v1.2.3"); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	f(flags.PerfAnalyzer, "Perf Analyzer Version 2.60.0 (commit unknown)\nredline v1.2.3")
	f(flags.Redline, "redline v1.2.3")
}
