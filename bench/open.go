package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/redline-bench/redline/internal/pace"
)

// openRows send at high rates on a Poisson schedule, on two cores that client and server share, and compare the client with its
// schedule: how many requests it sent, and how late.
func openRows(ctx context.Context, e *env) error {
	srv, err := e.nullOn(bothCores, false)
	if err != nil {
		return err
	}
	defer srv.Stop()
	for _, w := range []struct {
		protocol string
		rate     int
	}{{"grpc", 30_000}, {"http", 20_000}} {
		var best *openRun
		for range e.rounds {
			r, err := openLoop(ctx, e, w.protocol, srv.Address(w.protocol), w.rate)
			if err != nil {
				e.report.note("open loop, %s: %v", w.protocol, err)
				continue
			}
			if best == nil || r.lag < best.lag {
				best = r
			}
		}
		if best == nil {
			continue
		}
		name := fmt.Sprintf("Open loop, Poisson, %d requests/s over %s", w.rate, w.protocol)
		sent := row{Work: name + ": rate", Tool: "redline", Figure: best.rate, Unit: "requests/s"}
		sent.judge(atLeast(99.9, "% of the schedule"), 100*best.share)
		lag := row{Work: name + ": send lag p99", Tool: "redline", Figure: best.lag, Unit: "ms"}
		lag.judge(atMost(0.5, "ms"), best.lag)
		e.report.add(sent, lag)
		e.progress("%s: %.0f requests/s, lag %.3f ms", name, best.rate, best.lag)
	}
	return nil
}

type openRun struct {
	rate  float64 // requests sent per second
	share float64 // share of the schedule's requests that were sent in its time
	lag   float64 // p99, in milliseconds
}

const (
	openSeconds = 5
	openSeed    = 1
)

func openLoop(ctx context.Context, e *env, protocol, addr string, rate int) (*openRun, error) {
	file := e.file("open.json")
	defer os.Remove(file)
	n := rate * openSeconds
	_, err := measure(ctx, pinned(bothCores,
		e.bin, "profile", "-m", model, "--shape", input+":16", "--async", "-i", protocol, "-u", addr,
		"--request-rate-range", strconv.Itoa(rate), "--request-distribution", "poisson", "--request-count", strconv.Itoa(n),
		"--seed", strconv.Itoa(openSeed), "--json", file)...)
	if err != nil {
		return nil, err
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	return readOpen(text, rate, n)
}

// readOpen reads the numbers from the result's JSON. n requests on a Poisson schedule do not take exactly n/rate seconds, so their
// time is compared with that of the schedule, which the seed determines.
func readOpen(text []byte, rate, n int) (*openRun, error) {
	var doc struct {
		Levels []struct {
			Health struct {
				Lag  float64 `json:"lag_p99_ns"`
				Rate float64 `json:"achieved_rate"`
			} `json:"health"`
		} `json:"levels"`
	}
	if err := json.Unmarshal(text, &doc); err != nil {
		return nil, err
	}
	if len(doc.Levels) == 0 || doc.Levels[0].Health.Rate == 0 {
		return nil, errors.New("the result has no rate")
	}
	h := doc.Levels[0].Health
	return &openRun{rate: h.Rate, share: h.Rate * span(rate, n).Seconds() / float64(n), lag: h.Lag / 1e6}, nil
}

// span is the time from the first to the last request of the schedule.
func span(rate, n int) time.Duration {
	s := pace.Poisson(float64(rate), openSeed)
	first, _ := s.Next()
	last := first
	for range n - 1 {
		last, _ = s.Next()
	}
	return last - first
}
