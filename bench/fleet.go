package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"runtime"
	"strconv"
	"sync"

	"github.com/redline-bench/redline/e2e/binary"
)

// What a fleet may cost and must bring: the CPU time per request of a worker as a multiple of a local run, and the throughput of two workers
// as a multiple of one.
const (
	workerBar = 1.03
	fleetBar  = 1.9
)

// fleetRows compares workers, each on a core of its own, with a local run and with each other.
func fleetRows(ctx context.Context, e *env) error {
	cores := coreSets(1)
	many := e.manyCores("two workers")
	if many {
		cores = coreSets(runtime.NumCPU() / 2)
	}
	srv, err := e.nullOn(cores.server(), false)
	if err != nil {
		return err
	}
	defer srv.Stop()
	w := work{name: "HTTP infer through NATS", protocol: "http", elements: small, inFlight: 64}
	if err := e.workerCost(ctx, w, srv, cores); err != nil {
		return err
	}
	if many {
		err = e.twoWorkers(ctx, w, srv, cores)
	}
	e.progress("fleet")
	return err
}

// workerCost adds the CPU time per request of one worker as a multiple of a local run.
func (e *env) workerCost(ctx context.Context, w work, srv *binary.Server, cores coreSets) error {
	w.requests = e.requests(300_000)
	b := atMost(workerBar, "× a local run")
	through, alone, err := turns(b, func() (through, alone float64, err error) {
		plain, err := e.tools()[0].run(ctx, w, srv, payload{})
		if err != nil {
			return 0, 0, err
		}
		worker, _, err := e.fleet(ctx, w, srv, cores, 1)
		return worker.micros(), plain.micros(), err
	})
	if err != nil {
		return err
	}
	cost := row{Work: w.name + ", one worker", InFlight: w.inFlight, Tool: "redline worker", Unit: "µs CPU"}
	cost.compare(b, through, alone)
	e.report.add(cost, row{Work: w.name + ", one worker", InFlight: w.inFlight, Tool: "redline profile", Figure: median(alone), Unit: "µs CPU"})
	return nil
}

// twoWorkers adds the throughput of two workers as a multiple of that of one, in windows of time. With a fixed
// number of requests the slower core would decide.
func (e *env) twoWorkers(ctx context.Context, w work, srv *binary.Server, cores coreSets) error {
	b := atLeast(fleetBar, "× one worker")
	two, one, err := turns(b, func() (two, one float64, err error) {
		if _, one, err = e.fleet(ctx, w, srv, cores, 1); err == nil {
			_, two, err = e.fleet(ctx, w, srv, cores, 2)
		}
		return two, one, err
	})
	if err != nil {
		return err
	}
	both := row{Work: w.name + ", two workers: throughput", InFlight: 2 * w.inFlight, Tool: "redline worker", Unit: "requests/s"}
	both.compare(b, two, one)
	e.report.add(both)
	return nil
}

// fleet runs w with workers that each have its number of requests in flight, on the first of a client's cores. The coordinator and its NATS
// server have the others; if there are none, those of the server under test. The sample has the CPU time of the workers alone; the
// second value is the throughput that the coordinator reports.
func (e *env) fleet(ctx context.Context, w work, srv *binary.Server, cores coreSets, workers int) (sample, float64, error) {
	address, err := freeAddress()
	if err != nil {
		return sample{}, 0, err
	}
	w.inFlight, w.requests = workers*w.inFlight, workers*w.requests
	used, failed := make([]usage, workers), make([]error, workers)
	var wait sync.WaitGroup
	for i := range workers {
		wait.Go(func() {
			used[i], failed[i] = measure(ctx, pinned(strconv.Itoa(i), e.bin, "worker", "--once", "--name", strconv.Itoa(i), "--nats", "nats://"+address)...)
		})
	}
	rest := cores.server()
	if last := cores.threads() - 1; last >= workers {
		rest = fmt.Sprintf("%d-%d", workers, last)
	}
	args := append(pinned(rest, e.bin, "profile"), profileArgs(w, srv)...)
	u, err := measure(ctx, append(args, "--workers", strconv.Itoa(workers), "--nats", "embedded://"+address)...)
	wait.Wait()
	if err := errors.Join(append(failed, err)...); err != nil {
		return sample{}, 0, err
	}
	count, rate := requestCount.FindStringSubmatch(u.output), throughput.FindStringSubmatch(u.output)
	if count == nil || rate == nil {
		return sample{}, 0, fmt.Errorf("the coordinator's output has no result: %s", lastLine(u.output))
	}
	s := sample{wall: u.wall}
	s.requests, _ = strconv.Atoi(count[1])
	for _, worker := range used {
		s.cpu += worker.cpu
	}
	perSecond, err := strconv.ParseFloat(rate[1], 64)
	return s, perSecond, err
}

// freeAddress is a port that no program listens on now.
func freeAddress() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	return l.Addr().String(), nil
}
