package secrets

import (
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/redline-bench/redline/e2e/binary"
	"github.com/redline-bench/redline/internal/testkit"
)

// program is a command with every output on.
type program struct {
	name    string
	args    []string
	ways    [][]string // every spelling of its secrets
	secrets []string   // many secrets at once; SERVER is where they go
	good    string     // a server that answers it
	output  []string
}

func programs(s *servers) []program {
	profile := []string{"-m", "simple", "--request-count", "20"}
	csv := []string{"-f", "r.csv", "--profile-export-file", "export.json"}
	perf := program{"perf_analyzer", slices.Concat([]string{"perf_analyzer"}, profile), profileWays(), profileSecrets(), s.kserve, csv}
	return []program{
		{"llm", []string{"redline", "llm", "-m", "m", "--request-count", "2", "--concurrency", "1"}, llmWays(), llmSecrets(), s.openai, llmOutput()},
		{"profile", slices.Concat([]string{"redline", "profile"}, profile), profileWays(), profileSecrets(), s.kserve, slices.Concat(runOutput(), csv)},
		perf,
		{"simple", []string{"redline", "simple", "-m", "custom_identity_fp32", "-c", "5", "-w", "1"}, urlWays("-u ", "--url=", "--ur "), nil, s.kserve, append(runOutput(), "--csv", "r.csv")},
		{
			"stress",
			[]string{"redline", "stress", "sequence", "custom_sequence_int32", "--protocol", "http", "-i", "1", "-t", "1"},
			urlWays("-u ", "-u", "--url="), nil, s.kserve, runOutput(),
		},
		{"inspect", []string{"redline", "inspect", "-m", "simple"}, inspectWays(), inspectWays()[0], s.kserve, []string{"--json", "--write-input", "input.json"}},
	}
}

// Each spelling goes to a server that answers, and to one that refuses the request and repeats what it was sent.
func TestSpellings(t *testing.T) {
	s := start(t)
	t.Run("all", func(t *testing.T) {
		for _, p := range programs(s) {
			t.Run(p.name, func(t *testing.T) {
				t.Parallel()
				for _, way := range p.ways {
					for _, server := range []string{p.good, s.refuses} {
						args := slices.Concat(p.args, s.fill(way, server))
						if !strings.Contains(strings.Join(way, " "), "ADDRESS") && !slices.Contains(way, "GRPC") {
							args = append(args, "-u", server)
						}
						dir := t.TempDir()
						prompts(t, dir)
						c := command{args: append(args, p.output...), code: anyCode}
						c.do(t, dir)
					}
				}
			})
		}
	})
	// The secrets must have been in use: the server has seen those that a request carries.
	for _, n := range []int{1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 12, 13, 14, 15, 16, 17, envKey} {
		if !strings.Contains(s.seen.String(), secret(n)) {
			t.Errorf("no request carried secret %d", n)
		}
	}
	if !strings.Contains(s.seen.String(), basic(10)) {
		t.Error("no request carried the secret of Basic authentication")
	}
}

// The runs of TestEveryOutput succeed, and the commands that read runs show them.
func TestEveryOutput(t *testing.T) {
	t.Parallel()
	s, dir := start(t), t.TempDir()
	for _, p := range programs(s) {
		args := slices.Concat(p.args, s.fill(p.secrets, p.good), []string{"-u", p.good}, p.output)
		c := command{args: args}
		c.do(t, dir)
		if p.name != "perf_analyzer" {
			// Export and CSV of the next command would be in the way.
			_ = os.Remove(dir + "/export.json")
		}
	}
	names := strings.Join(searchFiles(t, dir), " ")
	for _, want := range []string{
		"r.json", "r.html", "records.csv", "h.hlog", "j.xml", "s.md", "r.csv", "export.json", "profile_export_aiperf.json", "profile_export_raw.jsonl", "inputs.json",
		"outputs.json", "requests.parquet", "vllm_bench.json", "server_metrics_export.json", "server_metrics_export.jsonl", "gpu_telemetry_export.jsonl", "index.jsonl",
	} {
		if !strings.Contains(names, want) {
			t.Errorf("%s was not written: %s", want, names)
		}
	}
	for name, want := range map[string]string{
		"profile_export_aiperf.json": "--header 'Authorization: ***'", "server_metrics_export.json": "http://***:***@", "outputs.json": "Authorization: Bearer ***",
	} {
		if text, err := os.ReadFile(filepath.Join(dir, "files", name)); err != nil || !strings.Contains(string(text), want) {
			t.Errorf("%s does not have %q: %v", name, want, err)
		}
	}
	for _, args := range [][]string{
		{"redline", "history"},
		{"redline", "history", "--json"},
		{"redline", "report", "last", "-o", "page.html"},
		{"redline", "compare", "last", "last", "--format", "html", "-o", "compare.html"},
		{"redline", "compare", "files", "files", "--format", "json"},
	} {
		c := command{args: args, code: anyCode}
		c.do(t, dir)
	}
	c := command{args: []string{"redline", "dash", "--listen", "127.0.0.1:0"}, during: func(t *testing.T, p *os.Process, stdout, _ *binary.Buffer) {
		waitFor(t, "the page", func() bool { return strings.HasPrefix(stdout.String(), "http") })
		search(t, "the page of dash", get(t, strings.TrimSpace(stdout.String())))
		p.Signal(syscall.SIGTERM)
	}}
	c.do(t, dir)
	c = command{args: []string{"redline", "serve", "--bearer-token", secret(1), "--request-log", "log.jsonl", "--http-port", "0", "--grpc-port", "0", "--metrics-port", "0"}}
	c.during = func(t *testing.T, p *os.Process, stdout, _ *binary.Buffer) {
		waitFor(t, "the server", func() bool { return strings.HasPrefix(stdout.String(), "ready") })
		port := regexp.MustCompile(`"http":(\d+)`).FindStringSubmatch(stdout.String())[1]
		client := command{args: []string{"redline", "simple", "-m", "custom_identity_fp32", "-c", "1", "-w", "0", "-u", "someone:" + secret(1) + "@127.0.0.1:" + port}, code: anyFailure}
		client.do(t, t.TempDir())
		p.Signal(syscall.SIGTERM)
	}
	c.do(t, dir)
}

func get(t *testing.T, url string) []byte {
	t.Helper()
	_, body := testkit.Ask(t, http.MethodGet, url, nil)
	return []byte(body)
}

// TestFailures lets every command fail in every way with many secrets on its command line.
func TestFailures(t *testing.T) {
	t.Parallel()
	s := start(t)
	list := programs(s)
	llm, profile := list[0], list[1]
	list = append(list,
		program{"calibrate llm", slices.Concat([]string{"redline", "calibrate"}, llm.args[1:]), nil, llm.secrets[:8], s.openai, nil},
		program{"calibrate profile", slices.Concat([]string{"redline", "calibrate"}, profile.args[1:]), nil, profile.secrets, s.kserve, nil})
	for _, p := range list {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			for what, extra := range failures(s, p.name) {
				dir := t.TempDir()
				prompts(t, dir)
				c := command{args: slices.Concat(p.args, s.fill(p.secrets, p.good), p.output, extra), code: anyFailure}
				if strings.HasPrefix(p.name, "calibrate") {
					c.code = anyCode // it measures without the server
				}
				if what == "interrupted" {
					c.during = interrupt(s)
				}
				text := c.do(t, dir)
				if text == "" && what != "interrupted" {
					t.Errorf("%s, %s: no message", p.name, what)
				}
			}
		})
	}
}

// failures are the arguments that make a program fail, by what happens.
func failures(s *servers, program string) map[string][]string {
	out := map[string][]string{}
	for what, host := range map[string]string{
		"refused": "127.0.0.1:1", "unknown host": "no-such-host.invalid:80", "unauthorized": s.refuses, "wrong model": s.unknown, "broken JSON": s.nonsense,
	} {
		out[what] = []string{"-u", "someone:" + secret(20) + "@" + host}
		out[what+", with a scheme"] = []string{"-u", "http://" + secret(20) + "@" + host + "/?token=" + secret(21)}
		out[what+", plain"] = []string{"-u", host}
	}
	out["TLS"] = []string{"-u", "https://someone:" + secret(20) + "@" + s.kserve}
	out["bad option"] = []string{"-u", s.refuses, "--no-such-option"}
	out["unreadable"] = []string{"-u", s.refuses, "--json", "missing/" + "r.json"}
	if program == "perf_analyzer" {
		out["unreadable"] = []string{"-u", s.refuses, "--input-data", "missing.json"}
	}
	switch program {
	case "calibrate llm", "calibrate profile": // they measure, whatever the server says
		return map[string][]string{"refused": out["refused"], "bad option": out["bad option"]}
	case "llm":
		out["timeout"] = []string{"-u", "http://someone:" + secret(20) + "@" + s.hangs, "--request-timeout-seconds", "0.2"}
		out["key"] = []string{"-u", "https://" + s.kserve, "--cert-file", givenFile, "--key-file", givenFile}
		out["interrupted"] = []string{"-u", "http://someone:" + secret(20) + "@" + s.hangs, "--dash", "--dash-listen", "127.0.0.1:0", "--metrics-listen", "127.0.0.1:0"}
	default:
		out["interrupted"] = []string{"-u", s.hangs}
	}
	if program == "profile" {
		out["timeout"] = []string{"-u", s.hangs, "--request-timeout", "200ms"}
		out["key"] = []string{"-u", "https://" + s.kserve, "--ssl-https-client-certificate-file", givenFile, "--ssl-https-private-key-file", givenFile}
	}
	return out
}

// interrupt waits for a request that hangs, looks at the pages that are there, and ends the program.
func interrupt(s *servers) func(*testing.T, *os.Process, *binary.Buffer, *binary.Buffer) {
	before := s.hanging()
	return func(t *testing.T, p *os.Process, _, stderr *binary.Buffer) {
		waitFor(t, "a request", func() bool { return s.hanging() > before })
		for _, page := range regexp.MustCompile(`(?m)^(?:live page|metrics): (http://\S+)$`).FindAllStringSubmatch(stderr.String(), -1) {
			search(t, page[1], get(t, page[1]))
			if strings.HasSuffix(page[1], "/live") {
				search(t, "the data of the live page", get(t, strings.Replace(page[1], "/live", "/api/live", 1)))
			}
		}
		for range 2 {
			p.Signal(syscall.SIGTERM)
		}
	}
}
