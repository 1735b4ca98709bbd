package faults

import (
	"crypto/tls"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// wire is a protocol of a command: what it uses, to which port of the reference server, and the options for it.
type wire struct {
	name    string
	port    string           // of the reference server: http, grpc or openai
	version int              // of HTTP
	cert    *tls.Certificate // nil: no TLS
	args    []string         // ADDRESS stands for the server
}

func (w wire) http2() bool     { return w.version == 2 }
func (w wire) backend() string { return reference.Ports[w.port] }

// grpc reports whether the wire uses gRPC, events whether responses come as a stream of events.
func (w wire) grpc() bool   { return w.port == "grpc" }
func (w wire) events() bool { return strings.Contains(w.name, "SSE") }

// command is a program that loads a server.
type command struct {
	name  string
	args  []string // with the name of the program
	wires []wire
	// timeout is the option for a limit on the time of a request; perf_analyzer has none.
	timeout []string
}

// report reports whether the command writes a result with its failures. perf_analyzer ends at the first one.
func (c command) report() bool { return c.name != "perf_analyzer" }

// requests is how many a run sends unless it is told otherwise.
const requests = 24

// closedLoop are the options for n requests, one at a time.
func (c command) closedLoop(n int) []string {
	args := []string{"--request-count", strconv.Itoa(n)}
	if c.name == "llm" {
		return append(args, "--concurrency", "1")
	}
	return args
}

// openLoop are the options for n requests at a rate per second.
func (c command) openLoop(n, rate int) []string {
	args := []string{"--request-count", strconv.Itoa(n)}
	if c.name == "llm" {
		return append(args, "--request-rate", strconv.Itoa(rate), "--arrival-pattern", "constant")
	}
	return append(args, "--request-rate-range", strconv.Itoa(rate))
}

// commands are all commands with the wires that they speak.
func commands(t *testing.T) []command {
	t.Helper()
	cert, ca := authority(t)
	chat := filepath.Join(t.TempDir(), "chat.json")
	text := `{"data":[{"payload":[{"model":"m","stream":%t,"max_tokens":4,"messages":[{"role":"user","content":"hello"}]}]}]}`
	if err := os.WriteFile(chat, fmt.Appendf(nil, text, true), 0o600); err != nil {
		t.Fatal(err)
	}
	kserve := []wire{
		{"HTTP/1.1", "http", 1, nil, []string{"-m", "simple", "-u", "ADDRESS"}},
		{"HTTP/1.1 with TLS", "http", 1, &cert, []string{"-m", "simple", "-u", "https://ADDRESS", "--ssl-https-ca-certificates-file", ca}},
		{"gRPC", "grpc", 2, nil, []string{"-m", "simple", "-i", "grpc", "-u", "ADDRESS"}},
		{"gRPC with TLS", "grpc", 2, &cert, []string{"-m", "simple", "-i", "grpc", "-u", "ADDRESS", "--ssl-grpc-use-ssl", "--ssl-grpc-root-certifications-file", ca}},
		{"gRPC stream", "grpc", 2, nil, []string{"-m", "simple", "-i", "grpc", "-u", "ADDRESS", "--streaming", "--async"}},
		{"SSE over HTTP/1.1", "openai", 1, nil, []string{"-m", "m", "--service-kind", "openai", "--endpoint", "v1/chat/completions", "--async", "--input-data", chat, "-u", "ADDRESS"}},
	}
	h2 := append([]string{"--http-version", "2"}, kserve[5].args...)
	llm := func(name string, version int, cert *tls.Certificate, args ...string) wire {
		return wire{name, "openai", version, cert, append([]string{"-m", "m"}, args...)}
	}
	return []command{
		{"profile", []string{"redline", "profile", "--json", "r.json"}, append(kserve, wire{"SSE over HTTP/2", "openai", 2, nil, h2}), []string{"--request-timeout", "3s"}},
		{"perf_analyzer", []string{"perf_analyzer"}, kserve, nil},
		{"llm", []string{"redline", "llm", "--json", "r.json", "--artifact-dir", "files", "--output-tokens-mean", "4"}, []wire{
			llm("HTTP/1.1", 1, nil, "-u", "ADDRESS"),
			llm("HTTP/2", 2, nil, "-u", "ADDRESS", "--http-version", "2"),
			llm("SSE over HTTP/1.1", 1, nil, "-u", "ADDRESS", "--streaming"),
			llm("SSE over HTTP/1.1 with TLS", 1, &cert, "-u", "https://ADDRESS", "--ca-file", ca, "--streaming"),
			llm("SSE over HTTP/2", 2, nil, "-u", "ADDRESS", "--streaming", "--http-version", "2"),
			llm("SSE over HTTP/2 with TLS", 2, &cert, "-u", "https://ADDRESS", "--ca-file", ca, "--streaming"),
			{"gRPC stream", "grpc", 2, nil, []string{"-m", "ensemble", "--endpoint-type", "kserve", "-i", "grpc", "-u", "ADDRESS"}},
		}, []string{"--request-timeout-seconds", "3"}},
	}
}

// address is how the command names the server: certificates are for localhost.
func (w wire) address(s *front) string {
	host, port, _ := strings.Cut(s.addr, ":")
	switch {
	case s.name != "":
		host = s.name
	case w.cert != nil:
		host = "localhost"
	}
	return host + ":" + port
}

// trust replaces the file of the authority that the command trusts.
func (w *wire) trust(ca string) {
	w.args = slices.Clone(w.args)
	for i, a := range w.args {
		if strings.HasPrefix(a, "--ca-") || strings.HasPrefix(a, "--ssl-") && strings.HasSuffix(a, "s-file") {
			w.args[i+1] = ca
		}
	}
}
