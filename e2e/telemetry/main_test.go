// Package telemetry tests what redline sends to other tools while a run goes on, with the built program.
package telemetry

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/redline-bench/redline/e2e/binary"
	"github.com/redline-bench/redline/internal/result"
)

var bin string

func TestMain(m *testing.M) { binary.Test(m, &bin) }

// serve starts a reference server whose log names the trace of each request.
func serve(t *testing.T) (s *binary.Server, log string) {
	t.Helper()
	log = filepath.Join(t.TempDir(), "requests.jsonl")
	return binary.Served(t, bin, "--request-log", log), log
}

// run runs the program and returns its result and what it wrote to stderr.
func run(t *testing.T, args ...string) (res *result.Result, stderr string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "result.json")
	cmd := exec.CommandContext(t.Context(), filepath.Join(bin, "redline"), append(args, "--json", file, "--no-history")...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		t.Fatalf("redline %s: %v\n%s\n%s", strings.Join(args, " "), err, out.String(), errs.String())
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	res = &result.Result{}
	if err := json.Unmarshal(text, res); err != nil {
		t.Fatal(err)
	}
	return res, errs.String()
}

// parents are the traceparents of a request log, of requests that were received from the start of a run on.
func parents(t *testing.T, log string, since int64) map[string]bool {
	t.Helper()
	f, err := os.Open(log)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	all := map[string]bool{}
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var e struct {
			Parent   string `json:"traceparent"`
			Received int64  `json:"received_ns"`
		}
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			t.Fatal(err)
		}
		if e.Parent != "" && e.Received >= since {
			all[e.Parent] = true
		}
	}
	return all
}
