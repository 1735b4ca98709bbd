package main

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/redline-bench/redline/e2e/binary"
	"github.com/redline-bench/redline/internal/convert"
)

func (w work) scheme() string {
	if w.tls {
		return "https"
	}
	return "http"
}

// sample is one run of one tool.
type sample struct {
	requests int
	cpu      time.Duration
	wall     time.Duration
}

func (s sample) micros() float64 { return float64(s.cpu.Nanoseconds()) / 1e3 / float64(s.requests) }

func (s sample) perSecond() float64 { return float64(s.requests) / s.wall.Seconds() }

// micros are the CPU times per request, rates the requests per second.
func micros(list []sample) []float64 { return convert.All(list, sample.micros) }
func rates(list []sample) []float64  { return convert.All(list, sample.perSecond) }

// tool is a load generator: how to call it, and where its output says how many requests got a response.
type tool struct {
	name      string
	protocols string
	argv      func(w work, s *binary.Server, p payload) []string
	answered  *regexp.Regexp
}

func (t tool) does(protocol string) bool { return strings.Contains(t.protocols, protocol) }

var requestCount = regexp.MustCompile(`Request count: (\d+)`)

// tools lists the load generators that are here, ours first.
func (e *env) tools() []tool {
	tools := []tool{{
		name: "redline", protocols: "http grpc stream", answered: requestCount,
		argv: func(w work, s *binary.Server, _ payload) []string {
			return append([]string{e.bin, "profile"}, profileArgs(w, s)...)
		},
	}}
	if e.wrk != "" {
		tools = append(tools, tool{
			name: "wrk", protocols: "http", answered: regexp.MustCompile(`answered (\d+) failed 0`),
			argv: func(w work, s *binary.Server, p payload) []string {
				return []string{
					e.wrk, "-t" + strconv.Itoa(w.cores.threads()), "-c" + strconv.Itoa(w.inFlight), "-d1s", "-s", p.lua,
					w.scheme() + "://" + s.HTTP + "/v2/models/" + model + "/infer",
				}
			},
		})
	}
	if e.h2load != "" {
		tools = append(tools, tool{
			name: "h2load", protocols: "grpc", answered: regexp.MustCompile(`requests: .* (\d+) succeeded, 0 failed`),
			argv: func(w work, s *binary.Server, p payload) []string {
				return []string{
					e.h2load, "-t1", "-c1", "-m" + strconv.Itoa(w.inFlight), "-n" + strconv.Itoa(w.requests), "-d", p.grpc,
					"-H", "content-type: application/grpc", "-H", "te: trailers", "http://" + s.GRPC + "/inference.GRPCInferenceService/ModelInfer",
				}
			},
		})
	}
	if e.peers != nil {
		tools = append(tools, tool{
			name: "perf_analyzer", protocols: "http grpc stream", answered: requestCount,
			argv: func(w work, s *binary.Server, _ payload) []string {
				w.requests /= 20 // it is slow, and keeps kilobytes of each request
				return append([]string{e.peers.PerfAnalyzer(), "-x", "1"}, profileArgs(w, s)...)
			},
		})
	}
	return tools
}

func profileArgs(w work, s *binary.Server) []string {
	args := []string{
		"-m", model, "--shape", input + ":" + strconv.Itoa(w.elements), "--async",
		"--concurrency-range", strconv.Itoa(w.inFlight),
	}
	if w.requests > 0 {
		args = append(args, "--request-count", strconv.Itoa(w.requests))
	} else {
		args = append(args, "--measurement-interval", "1000", "--stability-percentage", "100")
	}
	switch {
	case w.protocol == "stream":
		return append(args, "--streaming", "-i", "grpc", "-u", s.GRPC)
	case w.tls:
		return append(args, "-u", "https://"+s.HTTP, "--ssl-https-verify-peer", "0", "--ssl-https-verify-host", "0")
	default:
		return append(args, "-i", w.protocol, "-u", s.Address(w.protocol))
	}
}

// run starts the tool on the client's cores.
func (t tool) run(ctx context.Context, w work, s *binary.Server, p payload) (sample, error) {
	u, err := measure(ctx, pinned(w.cores.client(), t.argv(w, s, p)...)...)
	if err != nil {
		return sample{}, err
	}
	m := t.answered.FindStringSubmatch(u.output)
	if m == nil {
		return sample{}, fmt.Errorf("its output does not say that all requests were answered: %s", lastLine(u.output))
	}
	n, err := strconv.Atoi(m[1])
	if err != nil || n == 0 {
		return sample{}, errors.New("no request was answered")
	}
	return sample{requests: n, cpu: u.cpu, wall: u.wall}, nil
}
