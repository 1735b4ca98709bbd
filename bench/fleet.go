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

// fleetRows compares workers, each on a core of its own, with a local run and with each other. The runs take turns.
func fleetRows(ctx context.Context, e *env) error {
	sizes, cores := []int{1}, coreSets(1)
	if e.manyCores("two workers") {
		sizes, cores = []int{1, 2}, coreSets(runtime.NumCPU()/2)
	}
	srv, err := e.nullOn(cores.server(), false)
	if err != nil {
		return err
	}
	defer srv.Stop()
	w := work{name: "HTTP infer through NATS", protocol: "http", elements: small, inFlight: 64, requests: e.requests(300_000)}
	local := e.tools()[0]
	var alone []sample
	fleets, rates := map[int][]sample{}, map[int]float64{}
	for range e.rounds + 6 { // a ratio of nearly 1 needs more turns than others
		s, err := local.run(ctx, w, srv, payload{})
		if err != nil {
			return err
		}
		alone = append(alone, s)
		for _, workers := range sizes {
			s, perSecond, err := e.fleet(ctx, w, srv, cores, workers)
			if err != nil {
				return err
			}
			fleets[workers] = append(fleets[workers], s)
			rates[workers] = max(rates[workers], perSecond)
		}
	}
	e.progress("fleet")
	plain, one := cheapest(alone), cheapest(fleets[1])
	cost := row{Work: w.name + ", one worker", InFlight: w.inFlight, Tool: "redline worker", Figure: one.micros(), Unit: "µs CPU", PerSecond: rates[1]}
	cost.judge(atMost(workerBar, "× a local run"), one.micros()/plain.micros())
	e.report.add(cost, row{Work: w.name + ", one worker", InFlight: w.inFlight, Tool: "redline profile", Figure: plain.micros(), Unit: "µs CPU", PerSecond: plain.perSecond()})
	if rates[2] > 0 {
		both := row{Work: w.name + ", two workers: throughput", InFlight: 2 * w.inFlight, Tool: "redline worker", Figure: rates[2], Unit: "requests/s"}
		both.judge(atLeast(fleetBar, "× one worker"), rates[2]/rates[1])
		e.report.add(both)
	}
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
