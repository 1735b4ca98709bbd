package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/redline-bench/redline/e2e/binary"
	"github.com/redline-bench/redline/e2e/peers"
)

// sample is one run of one tool.
type sample struct {
	requests int
	cpu      time.Duration
	wall     time.Duration
}

func (s sample) perRequest() time.Duration { return s.cpu / time.Duration(s.requests) }

// tool is a load generator: how to call it, and where its output says how many requests were answered.
type tool struct {
	name      string
	protocols string
	argv      func(w work, s *binary.Server, p payload) []string
	answered  *regexp.Regexp
}

func (t tool) does(protocol string) bool { return strings.Contains(t.protocols, protocol) }

// findTools lists what can run here, and says loudly what cannot.
func findTools(ctx context.Context, bin string) []tool {
	count := regexp.MustCompile(`Request count: (\d+)`)
	tools := []tool{{
		name: "redline", protocols: "http grpc stream", answered: count,
		argv: func(w work, s *binary.Server, _ payload) []string {
			return append([]string{bin, "profile"}, profileArgs(w, s)...)
		},
	}}
	if wrk := need("wrk", "wrk"); wrk != "" {
		tools = append(tools, tool{
			name: "wrk", protocols: "http", answered: regexp.MustCompile(`answered (\d+) failed 0`),
			argv: func(w work, s *binary.Server, p payload) []string {
				return []string{wrk, "-t1", "-c" + strconv.Itoa(w.inFlight), "-d3s", "-s", p.lua, "http://" + s.HTTP + "/v2/models/" + model + "/infer"}
			},
		})
	}
	if h2load := need("h2load", "nghttp2-client"); h2load != "" {
		tools = append(tools, tool{
			name: "h2load", protocols: "grpc", answered: regexp.MustCompile(`requests: .* (\d+) succeeded, 0 failed`),
			argv: func(w work, s *binary.Server, p payload) []string {
				return []string{
					h2load, "-t1", "-c1", "-m" + strconv.Itoa(w.inFlight), "-n" + strconv.Itoa(w.requests), "-d", p.grpc,
					"-H", "content-type: application/grpc", "-H", "te: trailers", "http://" + s.GRPC + "/inference.GRPCInferenceService/ModelInfer",
				}
			},
		})
	}
	p, err := peers.Install(ctx)
	if err != nil {
		fmt.Fprintf(os.Stderr, "**** perf_analyzer could not be installed: NOT MEASURED: %v ****\n", err)
		return tools
	}
	return append(tools, tool{
		name: "perf_analyzer", protocols: "http grpc stream", answered: count,
		argv: func(w work, s *binary.Server, _ payload) []string {
			w.requests /= 10 // it is slow, and keeps kilobytes of each request
			return append([]string{p.PerfAnalyzer(), "-x", "1"}, profileArgs(w, s)...)
		},
	})
}

func profileArgs(w work, s *binary.Server) []string {
	args := []string{
		"-m", model, "--shape", input + ":" + strconv.Itoa(w.elements), "--async",
		"--concurrency-range", strconv.Itoa(w.inFlight), "--request-count", strconv.Itoa(w.requests),
	}
	switch w.protocol {
	case "stream":
		return append(args, "--streaming", "-i", "grpc", "-u", s.GRPC)
	default:
		return append(args, "-i", w.protocol, "-u", s.Address(w.protocol))
	}
}

// need finds a program, installing its Debian package where that can be done.
func need(program, pkg string) string {
	if path, err := exec.LookPath(program); err == nil {
		return path
	}
	fmt.Fprintf(os.Stderr, "installing %s\n", pkg)
	exec.Command("apt-get", "-qq", "update").Run()
	out, _ := exec.Command("apt-get", "-qq", "install", "-y", "--no-install-recommends", pkg).CombinedOutput()
	path, err := exec.LookPath(program)
	if err != nil {
		fmt.Fprintf(os.Stderr, "**** %s could not be installed: NOT MEASURED ****\n%s\n", program, out)
	}
	return path
}

// run starts the tool on the client's core and reads its CPU time from the kernel when it has ended.
func (t tool) run(ctx context.Context, w work, s *binary.Server, p payload) (sample, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	argv := t.argv(w, s, p)
	argv = pinned(0, argv[0], argv[1:]...)
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	start := time.Now()
	err := cmd.Run()
	wall := time.Since(start)
	if err != nil {
		return sample{}, fmt.Errorf("%w: %s", err, lastLine(out.String()))
	}
	m := t.answered.FindStringSubmatch(out.String())
	if m == nil {
		return sample{}, fmt.Errorf("its output does not say that all requests were answered: %s", lastLine(out.String()))
	}
	n, err := strconv.Atoi(m[1])
	if err != nil || n == 0 {
		return sample{}, fmt.Errorf("no request was answered")
	}
	return sample{requests: n, cpu: cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(), wall: wall}, nil
}

func lastLine(s string) string {
	lines := strings.Split(strings.TrimSpace(s), "\n")
	return lines[len(lines)-1]
}
