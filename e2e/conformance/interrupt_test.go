package conformance

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/redline-bench/redline/e2e/conformance/wiretap"
	"github.com/redline-bench/redline/e2e/pool"
	"github.com/redline-bench/redline/internal/testkit/outcome"
)

// interrupts ends runs on a sequence model with Ctrl-C, in every mode: each sequence that the server saw begin must
// be ended, by its last request.
func (r *runner) interrupts() []pool.Task {
	var list []pool.Task
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
		list = append(list, pool.Task{Name: "interrupts/" + line, Needs: []string{"accumulate"}, Run: func(t *testing.T) {
			r.interruptSequences(t, line+" -m accumulate --sequence-length 1000 -p 600000")
		}})
	}
	return list
}

func (r *runner) interruptSequences(t *testing.T, line string) {
	for range peerCrashes {
		triton := r.keeper.Triton()
		tap := newTap(t, triton)
		seen, code, output := interrupt(t, exec.Command(r.ours, strings.Fields(tap.fill.Replace(line))...), &tap.log)
		tap.close()
		if code != interrupted && r.keeper.Crashed(t, triton) {
			continue
		}
		if code != interrupted {
			t.Errorf("exit code %d\n%s", code, output)
		}
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
		return
	}
	outcome.Inconclusive(t, fmt.Sprintf("Triton crashed %d times", peerCrashes))
}

// interrupted is the exit code of a run that Ctrl-C ended.
const interrupted = 130

// interrupt starts a run, sends it an interrupt once requests have been seen, and returns all requests of the run.
func interrupt(t *testing.T, cmd *exec.Cmd, log *wiretap.Log) (seen []wiretap.Request, code int, output string) {
	t.Helper()
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	stuck := time.After(limit)
	for len(seen) < 60 {
		select {
		case <-ended:
			return seen, cmd.ProcessState.ExitCode(), out.String()
		case <-stuck:
			_ = cmd.Process.Kill()
			<-ended
			t.Fatalf("%d requests within %v\n%s", len(seen), limit, out.String())
		case <-time.After(20 * time.Millisecond):
			seen = append(seen, log.Take()...)
		}
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	<-ended
	return append(seen, log.Take()...), cmd.ProcessState.ExitCode(), out.String()
}
