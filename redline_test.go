package redline_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/redline-bench/redline"
)

// chat is a plan for a server with the API of OpenAI.
func chat(t *testing.T, url string, options ...string) *redline.Plan {
	t.Helper()
	plan, err := redline.Parse(append([]string{
		"--service-kind", "openai", "--endpoint", "v1/chat/completions", "-u", url, "-m", "tiny", "--input-data", "testdata/chat.json", "--async",
	}, options...)...)
	if err != nil {
		t.Fatal(err)
	}
	return plan
}

// answer is a server that answers every request.
func answer(t *testing.T, hook func()) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		hook()
		fmt.Fprint(w, `{"choices": [{"message": {"content": "Hello"}}]}`)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

func TestARuleThatDoesNotHoldIsAnError(t *testing.T) {
	plan := chat(t, answer(t, func() {}), "--request-count", "20", "--assert", "p50<1ns")
	result, err := plan.Run(t.Context())
	failed, ok := errors.AsType[*redline.Error](err)
	// Exit code 5: this machine was too busy to judge.
	if !ok || failed.ExitCode != 4 && failed.ExitCode != 5 || result == nil || result.Levels[0].Requests != 20 {
		t.Fatalf("%+v, %v", result, err)
	}
	var whole struct {
		Schema int
		Checks []struct{ OK bool }
	}
	if err := json.Unmarshal(result.JSON, &whole); err != nil || whole.Schema != 1 || len(whole.Checks) == 0 || whole.Checks[0].OK {
		t.Errorf("%+v, %v", whole, err)
	}
}

// When the context ends, the result so far is returned with the error of the context.
func TestTheContextEndsARun(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var n atomic.Int64
	url := answer(t, func() {
		if n.Add(1) == 50 {
			cancel()
		}
	})
	result, err := chat(t, url, "--request-count", "1000000").Run(ctx)
	if !errors.Is(err, context.Canceled) || result == nil || result.Verdict != "interrupted" {
		t.Errorf("%+v, %v", result, err)
	}
}

func TestWhatCannotBeDoneIsSaid(t *testing.T) {
	f := func(want string, options ...string) {
		t.Helper()
		plan, err := redline.Parse(options...)
		if err == nil {
			_, err = plan.Run(t.Context())
		}
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%v: %v, want %q", options, err, want)
		}
	}
	f("--no-such-option", "--no-such-option")
	f("127.0.0.1:1", "-m", "simple", "-u", "127.0.0.1:1")
	for _, options := range [][]string{{"--embedded"}, {"--calibrate", "-u", "127.0.0.1:1"}, {"--shared-memory", "cuda"}} {
		if _, err := redline.Parse(append(options, "-m", "simple")...); err == nil || !strings.Contains(err.Error(), options[0]) || !strings.Contains(err.Error(), "use the redline program") {
			t.Errorf("Parse with %v: %v", options, err)
		}
	}
}
