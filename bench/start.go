package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os/exec"
	"slices"
	"sync"
	"time"
)

// startRuns is how often each tool is started. A start takes some milliseconds and varies by as many, so medians of many starts are
// compared.
const startRuns = 40

// startBar is the limit of our start as a multiple of perf_analyzer's. It allows for libraries that initialize themselves at each
// start: a run takes seconds, and these libraries save thousands of lines of our own.
const startBar = 1.15

// startRows measure the time from the start of the program to the first request at the server: a relay in front of the server
// records when the first bytes of an infer call pass. The tools run in turns; each is started once before, so that both are in
// memory.
func startRows(ctx context.Context, e *env) error {
	if e.peers == nil {
		return errors.New("there is no perf_analyzer to compare with")
	}
	srv, err := e.null()
	if err != nil {
		return err
	}
	defer srv.Stop()
	for _, protocol := range []string{"http", "grpc"} {
		flags := []string{
			"-m", model, "--shape", input + ":16", "--async", "-i", protocol,
			"--concurrency-range", "1", "--request-count", "20",
		}
		tools := []named{
			{"redline", append([]string{e.bin, "profile"}, flags...)},
			{"perf_analyzer", append([]string{e.peers.PerfAnalyzer()}, flags...)},
		}
		times, err := starts(ctx, srv.Address(protocol), tools)
		if err != nil {
			return err
		}
		for _, t := range tools {
			line := row{Work: "Start to first request, " + protocol, InFlight: 1, Tool: t.name, Figure: float64(median(times[t.name]).Microseconds()) / 1e3, Unit: "ms"}
			if t.name == "redline" {
				line.judge(atMost(startBar, "× perf_analyzer"), median(times["redline"]).Seconds()/median(times["perf_analyzer"]).Seconds())
			}
			e.report.add(line)
			e.progress("%s, start to first request over %s: median %s, best %s", t.name, protocol, median(times[t.name]), slices.Min(times[t.name]))
		}
	}
	return nil
}

// starts runs the tools in turns.
func starts(ctx context.Context, target string, tools []named) (map[string][]time.Duration, error) {
	times := map[string][]time.Duration{}
	for n := range 1 + startRuns {
		for _, t := range tools {
			d, err := firstRequest(ctx, target, t.argv)
			if err != nil {
				return nil, err
			}
			if n > 0 {
				times[t.name] = append(times[t.name], d)
			}
		}
	}
	return times, nil
}

// median sorts the values.
func median[T cmp.Ordered](values []T) T {
	slices.Sort(values)
	return values[len(values)/2]
}

// firstRequest runs a tool against a relay to the server, until its first request has passed.
func firstRequest(ctx context.Context, target string, argv []string) (time.Duration, error) {
	r, err := newRelay(target)
	if err != nil {
		return 0, err
	}
	defer r.close()
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var out bytes.Buffer
	cmd := exec.CommandContext(ctx, argv[0], append(argv[1:], "-u", r.l.Addr().String())...)
	cmd.Stdout, cmd.Stderr = &out, &out
	start := time.Now()
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	select {
	case at := <-r.first:
		stop()
		<-ended
		return at.Sub(start), nil
	case <-ended:
	}
	select {
	case at := <-r.first:
		return at.Sub(start), nil
	default:
		return 0, fmt.Errorf("%s sent no request: %s", argv[0], lastLine(out.String()))
	}
}

// relay forwards connections and records when the first infer request passes.
type relay struct {
	l      net.Listener
	target string
	wg     sync.WaitGroup
	first  chan time.Time
	once   sync.Once
}

func newRelay(target string) (*relay, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	r := &relay{l: l, target: target, first: make(chan time.Time, 1)}
	r.wg.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			r.wg.Go(func() { r.pass(c) })
		}
	})
	return r, nil
}

func (r *relay) close() {
	r.l.Close()
	r.wg.Wait()
}

func (r *relay) pass(c net.Conn) {
	defer c.Close()
	s, err := net.Dial("tcp", r.target)
	if err != nil {
		return
	}
	defer s.Close()
	var back sync.WaitGroup
	back.Go(func() {
		_, _ = io.Copy(c, s)
		c.Close()
	})
	buf := make([]byte, 64<<10)
	for {
		n, err := c.Read(buf)
		if n > 0 {
			r.look(buf[:n])
			_, _ = s.Write(buf[:n])
		}
		if err != nil {
			break
		}
	}
	s.Close()
	back.Wait()
}

// look recognizes an infer request by its bytes: over HTTP by the path, over gRPC, where the path may be compressed, by the tensor's
// name and type in the message.
func (r *relay) look(b []byte) {
	infer := bytes.Contains(b, []byte("/infer HTTP/1.1")) ||
		bytes.Contains(b, []byte("\x0a\x06"+input+"\x12\x04FP32"))
	if infer {
		r.once.Do(func() { r.first <- time.Now() })
	}
}
