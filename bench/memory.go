package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
)

// memoryRows check whether memory grows with the number of requests, without and with a file of all requests.
func memoryRows(ctx context.Context, e *env) error {
	srv, err := e.null()
	if err != nil {
		return err
	}
	defer srv.Stop()
	run := func(requests int, more ...string) (usage, error) {
		argv := append([]string{
			e.bin, "profile", "-m", model, "--shape", input + ":1", "--async", "-i", "grpc", "-u", srv.GRPC,
			"--concurrency-range", "64", "--request-count", strconv.Itoa(requests),
		}, more...)
		u, err := measure(ctx, argv...)
		if m := requestCount.FindStringSubmatch(u.output); err == nil && (m == nil || m[1] != strconv.Itoa(requests)) {
			err = errors.New("not every request was answered")
		}
		return u, err
	}
	const few, many = 100_000, 10_000_000
	for _, work := range []struct {
		name string
		args []string
	}{
		{"Memory after 10 million requests", nil},
		{"Memory after 10 million requests, with --profile-export-file", []string{"--profile-export-file", e.file("export.json")}},
	} {
		before, err := run(few, work.args...)
		if err != nil {
			return fmt.Errorf("%s: %w", work.name, err)
		}
		_ = os.Remove(e.file("export.json")) // the program does not overwrite it
		n := e.requests(many)
		after, err := run(n, work.args...)
		_ = os.Remove(e.file("export.json"))
		if err != nil {
			return fmt.Errorf("%s: %w", work.name, err)
		}
		line := row{Work: work.name, InFlight: 64, Tool: "redline", Figure: mib(after.peak), Unit: "MiB", PerSecond: float64(n) / after.wall.Seconds()}
		if n >= many {
			line.judge(atMost(32, "MiB more than after 100 thousand"), mib(after.peak-before.peak))
		} else {
			line.unmeasured(atMost(32, "MiB more than after 100 thousand"))
		}
		e.report.add(line)
		e.progress("%s: %.1f MiB, %.1f after 100 thousand, in %.0f s", work.name, mib(after.peak), mib(before.peak), after.wall.Seconds())
	}
	return nil
}

func mib(n int64) float64 { return float64(n) / (1 << 20) }
