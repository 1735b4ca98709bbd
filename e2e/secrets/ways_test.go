package secrets

import (
	"os"
	"slices"
	"strings"
	"testing"
)

// envKey is the secret in the environment, givenFile a file with a secret that the user made.
const (
	envKey    = 30
	givenFile = "given.pem"
)

// llmWays are the options of llm that carry a secret, in all their spellings. ADDRESS stands for the server, PAGE for
// its metrics.
func llmWays() [][]string {
	ways := [][]string{
		{"-H", "Authorization: Bearer " + secret(1)},
		{"-HAuthorization: Bearer " + secret(2)},
		{"--header", "Authorization:Bearer " + secret(3)},
		{"--header=Authorization: Bearer " + secret(4)},
		{"--head", "Authorization: Bearer " + secret(5)},
		{"--header", "A:1", "Authorization: Bearer " + secret(6)},
		{"-H", "A:1", "B:2", "X-Api-Key: " + secret(7)},
		{"-H", "A:1", "-H", "X-Anything: " + secret(8)},
		{"-H", "Cookie: a=1; session=" + secret(9)},
		{"-H", "Authorization: Basic " + basic(10)},
		{"--api-key", secret(11)},
		{"--api-key=" + secret(12)},
		{"--api-key-env", "SECRET_KEY"},
		{"--api-key-e=SECRET_KEY"},
		{"--endpoint", "v1/chat/completions?api_key=" + secret(13)},
		{"--custom-endpoint=v1/chat/completions?x=" + secret(14)},
		{"--extra-inputs", "api_key:" + secret(15)},
		{"--extra-inputs", "a:1", "token:" + secret(16)},
		{"--extra-body", `{"deep":{"password":"` + secret(17) + `"}}`},
		{"--server-metrics", "http://someone:" + secret(18) + "@PAGE/metrics"},
		{"--server-metrics", "PAGE", "http://PAGE/metrics?token=" + secret(19), "--server-metrics-formats", "json,csv,jsonl"},
		{"--gpu-tel=http://someone:" + secret(20) + "@PAGE/metrics"},
		{"-H", "Authorization:", "Bearer", secret(21)}, // the quotes were forgotten
		{"--header=A:1", "Authorization: Bearer " + secret(22)},
	}
	return append(ways, urlWays("--url=", "--url ", "-u ", "-u", "--ur ")...)
}

// profileWays are those of profile and perf_analyzer.
func profileWays() [][]string {
	ways := [][]string{
		{"-H", "Authorization: Bearer " + secret(1)},
		{"-HAuthorization: Bearer " + secret(2)},
		{"-H=Authorization: Bearer " + secret(3)},
		{"-H", "A:1", "-H", "X-Anything: " + secret(4)},
		{"-vHX-Api-Key: " + secret(5)},
		{"-H", "Authorization:", "Bearer", secret(6)},
		{"-H", secret(7)},
		{"--header=Authorization: Bearer " + secret(8)}, // there is no such option
		{"--api-key=" + secret(9)},
		{"--target=http://someone:" + secret(15) + "@ADDRESS/?token=" + secret(16)}, // nor such one
		{"http://someone:" + secret(17) + "@ADDRESS"},                               // -u was forgotten
		{"--streaming=http://" + secret(18) + "@ADDRESS"},
		{"--collect-metrics", "--metrics-url", "http://someone:" + secret(10) + "@PAGE/metrics"},
		{"--collect-metrics", "--metrics-u=PAGE/metrics?token=" + secret(11)},
		{"-i", "grpc", "-u", "GRPC", "-H", "authorization:Bearer " + secret(12), "--request-parameter", "api_key:" + secret(13) + ":string"},
		{"--service-kind", "openai", "--endpoint", "v1/chat/completions?api_key=" + secret(14), "--input-data", "prompts.json"},
	}
	ways = append(ways,
		[]string{"--server-metrics", "http://someone:" + secret(15) + "@PAGE/metrics"},
		[]string{"--otlp", "http://PAGE", "--otlp-header", "api-key: " + secret(16), "--trace-requests", "100%"},
		[]string{"--otlp", "https://someone:" + secret(17) + "@PAGE"},
		[]string{"--prometheus-remote-write", "http://someone:" + secret(18) + "@PAGE/api/v1/write"},
	)
	return append(ways, urlWays("-u ", "-u", "-u=")...)
}

// inspectWays are those of inspect and doctor.
func inspectWays() [][]string {
	ways := [][]string{
		{"-H", "Authorization: Bearer " + secret(1)},
		{"-H", "A:1", "X-Api-Key: " + secret(2)},
		{"--header=X-Anything: " + secret(3)},
		{"-H", secret(4)},
		{"--api-key-env", "SECRET_KEY"},
	}
	return append(ways, urlWays("-u ", "--url=")...)
}

// urlWays are addresses with credentials behind each of some spellings of the option; a space stands for a new argument.
func urlWays(spellings ...string) [][]string {
	var ways [][]string
	for i, option := range spellings {
		for _, address := range []string{"http://someone:" + secret(23+i) + "@ADDRESS", secret(23+i) + "@ADDRESS", "http://ADDRESS/?token=" + secret(23+i)} {
			name, attached, _ := strings.Cut(option, " ")
			if strings.HasSuffix(option, " ") {
				ways = append(ways, []string{name, address})
			} else {
				ways = append(ways, []string{name + attached + address})
			}
		}
	}
	return ways
}

// llmSecrets and profileSecrets are all ways that can stand on one command line.
func llmSecrets() []string {
	return []string{
		"-H", "Authorization: Bearer " + secret(1), "-HX-Api-Key:" + secret(2), "--head", "X-Anything: " + secret(3), "--header=Cookie: a=" + secret(4),
		"--endpoint", "v1/chat/completions?api_key=" + secret(5), "--extra-inputs", "token:" + secret(6), "--server-metrics", "http://someone:" + secret(7) + "@PAGE/metrics?k=" + secret(8),
		"--server-metrics-formats", "json,csv,jsonl", "--gpu-telemetry", "http://someone:" + secret(9) + "@PAGE/metrics",
	}
}

func profileSecrets() []string {
	return []string{"-H", "Authorization: Bearer " + secret(1), "-HX-Api-Key:" + secret(2), "-H=X-Anything: " + secret(3), "-H", "Cookie: a=" + secret(4)}
}

// runOutput requests every output that all commands have, llmOutput for those of llm.
func runOutput() []string {
	return []string{
		"--json", "r.json", "--report", "r.html", "--records", "records.csv", "--histogram-log", "h.hlog", "--junit", "j.xml", "--summary", "s.md",
		"--progress", "json",
	}
}

func llmOutput() []string {
	return slices.Concat(runOutput(), []string{"--artifact-dir", "files", "--exports", "all", "--verbose"})
}

// fill puts addresses into arguments.
func (s *servers) fill(args []string, address string) []string {
	out := make([]string, len(args))
	for i, a := range args {
		out[i] = strings.NewReplacer("ADDRESS", address, "PAGE", s.metrics, "GRPC", s.grpc).Replace(a)
	}
	return out
}

// prompts writes the input data of the service kind openai, and a file that is not a private key.
func prompts(t *testing.T, dir string) {
	t.Helper()
	for name, text := range map[string]string{
		"prompts.json": `{"data":[{"payload":[{"model":"m","messages":[{"role":"user","content":"hi"}]}]}]}`,
		givenFile:      "-----BEGIN PRIVATE KEY-----\n" + secret(31) + "\n-----END PRIVATE KEY-----\n",
	} {
		if err := os.WriteFile(dir+"/"+name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}
