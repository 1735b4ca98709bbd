package conformance

import (
	"bytes"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/redline-bench/redline/e2e/conformance/wiretap"
)

// interrupts ends runs on a sequence model with Ctrl-C, in every mode: each sequence that the server saw begin must
// be ended, by its last request.
func (r *runner) interrupts(t *testing.T) {
	var log wiretap.Log
	plain, err := wiretap.HTTP(t.Context(), r.triton.HTTP, &log)
	if err != nil {
		t.Fatal(err)
	}
	defer plain.Close()
	remote, err := wiretap.GRPC(t.Context(), r.triton.GRPC, &log)
	if err != nil {
		t.Fatal(err)
	}
	defer remote.Close()
	places := fill(plain.Addr, remote.Addr, r.triton.Metrics, "")
	for _, line := range []string{
		"-u {http} --sync --concurrency-range 3",
		"-u {http} --concurrency-range 3",
		"-i grpc -u {grpc} --sync --concurrency-range 3",
		"-i grpc -u {grpc} --streaming --concurrency-range 3",
		"-i grpc -u {grpc} --request-rate-range 100",
		"-i grpc -u {grpc} --streaming --request-rate-range 100 --num-of-sequences 3",
		"-u {http} --request-rate-range 100 --serial-sequences",
		"-u {http} --sync --request-intervals {data}/intervals.txt",
		"-u {http} --measurement-mode count_windows --measurement-request-count 100000",
		"-i grpc -u {grpc} --streaming --request-count 100000 --concurrency-range 2",
	} {
		t.Run(line, func(t *testing.T) {
			log.Take()
			args := strings.Fields(places.Replace(line + " -m accumulate --sequence-length 1000 -p 60000"))
			seen := interrupt(t, exec.Command(r.ours, args...), &log)
			begun := 0
			for _, text := range wiretap.Normalize(seen, false) {
				if !strings.HasPrefix(text, "sequence ") {
					continue
				}
				begun++
				if !strings.HasSuffix(text, " end") {
					t.Errorf("not ended: %.60s … %s", text, text[max(0, len(text)-20):])
				}
			}
			if begun == 0 {
				t.Error("no sequence was seen")
			}
		})
	}
}

// interrupt starts a run, sends it an interrupt once requests have been seen, and returns all requests of the run.
func interrupt(t *testing.T, cmd *exec.Cmd, log *wiretap.Log) []wiretap.Request {
	t.Helper()
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var seen []wiretap.Request
	for begin := time.Now(); len(seen) < 60 && time.Since(begin) < limit; {
		time.Sleep(20 * time.Millisecond)
		seen = append(seen, log.Take()...)
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != 130 {
		t.Errorf("exit code %d\n%s", code, out.String())
	}
	return append(seen, log.Take()...)
}
