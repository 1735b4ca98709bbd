package e2e

import (
	"encoding/csv"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/redline-bench/redline/internal/calibrate"
	"github.com/redline-bench/redline/internal/result"
	"github.com/redline-bench/redline/internal/testkit/disturbance"
	"github.com/redline-bench/redline/internal/testkit/outcome"
)

// The stated measurement error is held against the log of the server that was measured, request by request. The server has
// the times of a model, which back-to-back requests to a server that does nothing do not show.
func TestStatedError(t *testing.T) {
	for _, protocol := range []string{"http", "grpc"} {
		for _, c := range []struct {
			concurrency int
			delay       time.Duration
		}{{1, 20 * time.Millisecond}, {8, 20 * time.Millisecond}, {64, 20 * time.Millisecond}, {512, 200 * time.Millisecond}} {
			t.Run(fmt.Sprintf("%s/%d", protocol, c.concurrency), func(t *testing.T) {
				if c.concurrency == 1 || c.concurrency == 64 {
					outcome.HeavyOnly(t, "the stated error of latencies, with 1 and 64 in flight")
				}
				t.Setenv("XDG_CACHE_HOME", t.TempDir())
				disturbance.Try(t, func() error { return statesTruth(t, protocol, c.concurrency, c.delay) })
			})
		}
	}
}

// statesTruth measures once. A wrong count or a statement of other traffic fails the test; an error is a statement that
// misses its tolerance.
func statesTruth(t *testing.T, protocol string, concurrency int, delay time.Duration) error {
	t.Helper()
	dir := t.TempDir()
	file := func(name string) string { return filepath.Join(dir, name) }
	// Asynchronous calls carry ids, by which the two sides of a request are found.
	if err := profile(t, dir, protocol, []string{"--delay", "simple=" + delay.String(), "--request-log", file("log")},
		"-a", "--concurrency-range", strconv.Itoa(concurrency), "-p", "400", "-r", "3", "-s", "99999", "--calibrate",
		"--json", file("result.json"), "--records", file("records.csv")); err != nil {
		return err
	}
	var res result.Result
	readJSON(t, file("result.json"), &res)
	stated := res.Levels[0].Health.Error
	if stated == nil {
		return errors.New("no measurement error is stated") // the calibration did not end in time
	}
	actual := errorsByLog(t, file("records.csv"), file("log"), concurrency)
	return calibrationHolds(t, stated, actual)
}

// errorsByLog are the latencies of the records minus the times of the log, of all windows but the first. The id of a request
// is its slot and its number on it.
func errorsByLog(t *testing.T, records, log string, concurrency int) []int64 {
	t.Helper()
	f, err := os.Open(log)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	served, named, err := calibrate.ReadLog(f)
	if err != nil || !named {
		t.Fatalf("ids in the server's log: %v, %v", named, err)
	}
	const counterBits = 48
	sent := make([]uint64, concurrency)
	var client []calibrate.Exchange
	for _, r := range sentRecords(t, records) {
		id := r.slot<<counterBits + sent[r.slot]
		sent[r.slot]++
		if r.window > 0 {
			client = append(client, calibrate.Exchange{ID: id, From: r.from, To: r.from + r.latency})
		}
	}
	actual := calibrate.Errors(client, served, true)
	if len(actual) != len(client) || len(actual) == 0 {
		t.Fatalf("%d requests were measured, %d of them are in the server's log", len(client), len(actual))
	}
	return actual
}

// sentRecord is the part of a line of --records that these tests read.
type sentRecord struct {
	from, latency int64
	slot          uint64
	window        int64
}

// sentRecords are all requests, in the order of their sends.
func sentRecords(t *testing.T, path string) []sentRecord {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	lines, err := csv.NewReader(f).ReadAll()
	if err != nil || len(lines) == 0 {
		t.Fatalf("%s: %d lines, %v", path, len(lines), err)
	}
	number := func(line []string, column string) int64 {
		n, err := strconv.ParseInt(line[slices.Index(lines[0], column)], 10, 64)
		if err != nil {
			t.Fatalf("%s: %s: %v", path, column, err)
		}
		return n
	}
	var rows []sentRecord
	for _, line := range lines[1:] {
		rows = append(rows, sentRecord{number(line, "sent_ns"), number(line, "latency_ns"), uint64(number(line, "slot")), number(line, "window")})
	}
	slices.SortFunc(rows, func(a, b sentRecord) int { return int(a.from - b.from) })
	return rows
}

// What a statement may be off by: the actual median lies within a factor of the stated one or within an amount of it, and
// the actual p99 is at most the stated one times the factor plus the amount.
const (
	statedFactor = 2
	statedAmount = 100 * time.Microsecond
)

// calibrationHolds compares a statement with the errors that a server's log shows.
func calibrationHolds(t *testing.T, stated *result.MeasurementError, actual []int64) error {
	t.Helper()
	slices.Sort(actual)
	p50, p99 := actual[len(actual)/2], actual[len(actual)*99/100]
	t.Logf("stated p50 %v, p99 %v (at least: %v) of %d requests at %.0f/s %s; actual p50 %v, p99 %v of %d", time.Duration(stated.P50Ns), time.Duration(stated.P99Ns),
		stated.AtLeast, stated.Requests, stated.PerSecond, stated.Of, time.Duration(p50), time.Duration(p99), len(actual))
	low, high := stated.P50Ns/statedFactor-int64(statedAmount), stated.P50Ns*statedFactor+int64(statedAmount)
	switch {
	case !stated.Exact:
		return fmt.Errorf("the error is not stated of this traffic and pace but of %s", stated.Of)
	case p50 < low || p50 > high:
		return fmt.Errorf("the stated p50 is %v, the server's log says %v", time.Duration(stated.P50Ns), time.Duration(p50))
	case !stated.AtLeast && p99 > stated.P99Ns*statedFactor+int64(statedAmount):
		return fmt.Errorf("the stated p99 is %v, the server's log says %v", time.Duration(stated.P99Ns), time.Duration(p99))
	}
	return nil
}
