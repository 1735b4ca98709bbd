package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/redline-bench/redline/e2e/peers"
)

// env is what the groups share.
type env struct {
	bin    string // the program to measure
	dir    string // for files of the run
	rounds int
	scale  float64
	report *report
	start  time.Time

	wrk, h2load string       // "": could not be installed
	peers       *peers.Peers // perf_analyzer and Triton; nil: could not be installed
}

// install brings the peers into the cache folder, and says loudly what could not be brought.
func (e *env) install(ctx context.Context) {
	var err error
	if e.peers, err = peers.Install(ctx); err != nil {
		e.report.note("perf_analyzer and Triton could not be installed: NOT MEASURED: %v", err)
	}
	if e.wrk, err = peers.InstallWrk(ctx); err != nil {
		e.report.note("wrk could not be installed: NOT MEASURED: %v", err)
	}
	if e.h2load, err = peers.InstallH2load(ctx); err != nil {
		e.report.note("h2load could not be installed: NOT MEASURED: %v", err)
	}
}

// requests scales a number of requests.
func (e *env) requests(n int) int { return max(1, int(float64(n)*e.scale)) }

// file is the path of a file of this run.
func (e *env) file(name string) string { return filepath.Join(e.dir, name) }

// The cores of a pinned client and a pinned server, and those of a client and a server that share two.
const (
	clientCore = "0"
	serverCore = "1"
	bothCores  = "0,1"
)

// pinned puts a command on a core, where the machine has more than one.
func pinned(core string, argv ...string) []string {
	if _, err := exec.LookPath("taskset"); err != nil || runtime.NumCPU() < 2 {
		return argv
	}
	return append([]string{"taskset", "-c", core}, argv...)
}

func lastLine(s string) string {
	lines := strings.Split(strings.TrimSpace(s), "\n")
	return lines[len(lines)-1]
}

// progress prints a line with the time since the start.
func (e *env) progress(format string, args ...any) {
	d := time.Since(e.start)
	fmt.Fprintf(os.Stderr, "  %2d:%02d   %s\n", int(d.Minutes()), int(d.Seconds())%60, fmt.Sprintf(format, args...))
}
