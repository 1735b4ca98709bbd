package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"os/exec"
	"sync"
	"time"
)

// startRows measure the time from the start of the program to the first request that the server gets, at the server:
// a relay before it notes when the first bytes of an infer call pass.
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
		target := srv.Address(protocol)
		flags := []string{
			"-m", model, "--shape", input + ":16", "--async", "-i", protocol,
			"--concurrency-range", "1", "--request-count", "20",
		}
		tools := []named{
			{"redline", append([]string{e.bin, "profile"}, flags...)},
			{"perf_analyzer", append([]string{e.peers.PerfAnalyzer()}, flags...)},
		}
		best := map[string]time.Duration{}
		for range max(3, e.rounds) {
			for _, t := range tools {
				d, err := firstRequest(ctx, target, t.argv)
				if err != nil {
					return err
				}
				if best[t.name] == 0 || d < best[t.name] {
					best[t.name] = d
				}
			}
		}
		for _, t := range tools {
			line := row{Work: "Start to first request, " + protocol, InFlight: 1, Tool: t.name, Figure: float64(best[t.name].Microseconds()) / 1e3, Unit: "ms"}
			if t.name == "redline" {
				line.judge(atMost(1, "× perf_analyzer"), best[t.name].Seconds()/best["perf_analyzer"].Seconds())
			}
			e.report.add(line)
		}
	}
	return nil
}

// firstRequest runs a tool against a relay to the server.
func firstRequest(ctx context.Context, target string, argv []string) (time.Duration, error) {
	r, err := newRelay(target)
	if err != nil {
		return 0, err
	}
	defer r.close()
	cmd := exec.CommandContext(ctx, argv[0], append(argv[1:], "-u", r.l.Addr().String())...)
	start := time.Now()
	if out, err := cmd.CombinedOutput(); err != nil {
		return 0, errors.New(lastLine(string(out)))
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.first.IsZero() {
		return 0, errors.New("no infer request passed the relay")
	}
	return r.first.Sub(start), nil
}

// relay passes connections on and notes when the first infer request comes.
type relay struct {
	l      net.Listener
	target string
	wg     sync.WaitGroup

	mu    sync.Mutex
	first time.Time
}

func newRelay(target string) (*relay, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	r := &relay{l: l, target: target}
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

// look recognizes an infer request by what only such a one holds on the wire: the path over HTTP, and over gRPC,
// where the path may be packed, the tensor's name and type as they stand in the message.
func (r *relay) look(b []byte) {
	infer := bytes.Contains(b, []byte("/infer HTTP/1.1")) ||
		bytes.Contains(b, []byte("\x0a\x06"+input+"\x12\x04FP32"))
	if !infer {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.first.IsZero() {
		r.first = time.Now()
	}
}
