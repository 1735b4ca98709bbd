package vllm

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/redline-bench/redline/e2e/binary"
	"github.com/redline-bench/redline/e2e/peers"
	"github.com/redline-bench/redline/internal/testkit/disturbance"
	"github.com/redline-bench/redline/internal/testkit/outcome"
)

// live is a running vLLM.
type live struct{ *Server }

// startReal starts a vLLM until the test ends.
func startReal(t *testing.T) *live {
	t.Helper()
	outcome.HeavyOnly(t, "vLLM takes 5 GB and a minute to start")
	if _, err := Install(t.Context()); err != nil {
		outcome.NotTested(t, "vLLM", err, "python3 with venv, npm and curl")
	}
	ports, err := peers.FreePorts(1)
	if err != nil {
		t.Fatal(err)
	}
	s, err := Start(t.Context(), t.TempDir(), ports[0])
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Stop)
	return &live{s}
}

func (r *live) addr() string { return r.Addr }

func (r *live) counted(t *testing.T) Counters {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	c, err := r.Counters(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// What may differ between the client's times and the server's: the mean time between tokens by a share, and the mean time to the first
// token, which the server takes between its frontend and its engine, by what lies outside of that.
const (
	maxGapShare   = 0.02
	maxFirstLater = 15.0 // ms
)

// TestTimedVLLM measures a real vLLM. All of it uses one server, because a start takes a minute.
func TestTimedVLLM(t *testing.T) {
	s := startReal(t)
	for _, endpoint := range endpoints {
		for _, n := range []int{1, 8} {
			t.Run(fmt.Sprintf("%s streamed %d", endpoint, n), func(t *testing.T) {
				disturbance.Try(t, func() error { return s.times(t, n, generated(t, endpoint, n, "--streaming")...) })
			})
			t.Run(fmt.Sprintf("%s whole %d", endpoint, n), func(t *testing.T) {
				counts(t, s, 10*n, generatedLength, generated(t, endpoint, n)...)
			})
		}
	}
	t.Run("refused", func(t *testing.T) { failures(t, s) })
	t.Run("canceled", func(t *testing.T) {
		canceled(t, s, 4, 1000, "--isl", "64", "--concurrency", "2", "--extra-inputs", "ignore_eos:true", "--tokenizer", tokenizerDir(t))
	})
	t.Run("lengths without a tokenizer", func(t *testing.T) { s.lengths(t) })
	t.Run("first session", func(t *testing.T) { session(t, s.Addr) })
	t.Run("dies", func(t *testing.T) { s.dies(t) })
}

// generatedLength is the output length of the measured responses.
const generatedLength = 32

// generated are the options of requests with generated prompts.
func generated(t *testing.T, endpoint string, n int, more ...string) []string {
	t.Helper()
	return append([]string{
		"--endpoint-type", endpoint, "--isl", "64", "--osl", fmt.Sprint(generatedLength), "--concurrency", fmt.Sprint(n), "--extra-inputs", "ignore_eos:true",
		"--tokenizer", tokenizerDir(t),
	}, more...)
}

// times compares the means of a run with those of the server's histograms.
func (r *live) times(t *testing.T, n int, args ...string) error {
	res, server := counts(t, r, 10*n, generatedLength, args...)
	gap, first := value(t, res, "inter_token_latency"), value(t, res, "time_to_first_token")
	serverGap, serverFirst := 1000*server.InterTokensTime/server.LaterTokens, 1000*server.FirstTokenTime/server.FirstTokens
	t.Logf("inter-token latency %.3f ms, by the server %.3f ms; time to first token %.2f ms, by the server %.2f ms", gap, serverGap, first, serverFirst)
	switch {
	case gap < serverGap*(1-maxGapShare), gap > serverGap*(1+maxGapShare):
		return fmt.Errorf("inter-token latency %.3f ms, by the server %.3f ms", gap, serverGap)
	case first < serverFirst, first > serverFirst+maxFirstLater:
		return fmt.Errorf("time to first token %.2f ms, by the server %.2f ms", first, serverFirst)
	}
	return nil
}

// lengths checks generated prompts without a tokenizer: the server tells how long they are.
func (r *live) lengths(t *testing.T) {
	e := redline(t, r.Addr, "--isl", "200", "--osl", "4", "--concurrency", "4", "--request-count", "40")
	if e.code != 0 {
		t.Fatalf("ended with %d\n%s%s", e.code, e.out, e.err)
	}
	if isl, seen := value(t, e.res, "input_sequence_length"), value(t, e.res, "usage_prompt_tokens"); isl < 190 || isl > 210 || seen < isl+20 || seen > isl+40 {
		t.Errorf("%v tokens, at the server %v, where 200 were asked for, and the template has about 30", isl, seen)
	}
}

// dies kills the server while requests are in flight and others have ended.
func (r *live) dies(t *testing.T) {
	before := r.counted(t)
	file := filepath.Join(t.TempDir(), "result.json")
	done := make(chan ended, 1)
	cmd := command(t, r.Addr, file, generated(t, "chat", 4, "--streaming", "--request-count", "100000")...)
	go func() {
		var e ended
		e.out, e.err, e.code = binary.Output(t, cmd)
		done <- e
	}()
	for ended := 0.0; ended < 8; {
		page, err := r.get(t.Context(), "/metrics")
		if err != nil {
			t.Fatal(err)
		}
		var now Counters
		now.read(page)
		ended = now.Since(before).Generated / generatedLength
		select {
		case e := <-done:
			t.Fatalf("ended with %d before the server\n%s%s", e.code, e.out, e.err)
		case <-time.After(20 * time.Millisecond):
		}
	}
	r.Kill()
	e := <-done
	e.res = binary.Result(t, file)
	died(t, e)
}
