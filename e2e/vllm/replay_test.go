package vllm

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/redline-bench/redline/e2e/binary"
)

// exchange is a request and how the real vLLM answered it.
type exchange struct {
	Path    string          `json:"path"`
	Request json.RawMessage `json:"request,omitempty"` // what decides about the response, see essence
	Status  int             `json:"status"`
	Type    string          `json:"content_type"`
	Body    string          `json:"body"`
	// Prompt and Generated are the tokens that the server's own counters grew by.
	Prompt    float64 `json:"prompt_tokens,omitempty"`
	Generated float64 `json:"generated_tokens,omitempty"`
}

// decisive are the fields of a request that decide about its response. Others may be added to requests without a new recording.
var decisive = []string{
	"model", "stream", "messages", "prompt", "input", "system", "instructions", "max_tokens", "max_completion_tokens", "max_output_tokens", "ignore_eos",
}

// essence is what decides about the response to a request. A long request is replaced by its sum.
func essence(body []byte) json.RawMessage {
	if len(body) == 0 {
		return nil
	}
	var all, kept map[string]json.RawMessage
	if json.Unmarshal(body, &all) != nil {
		return nil
	}
	kept = map[string]json.RawMessage{}
	for _, name := range decisive {
		if v, ok := all[name]; ok {
			kept[name] = v
		}
	}
	text, _ := json.Marshal(kept) // it was JSON before
	if len(text) > 2000 {
		text, _ = json.Marshal(fmt.Sprintf("sha256:%x", sha256.Sum256(text)))
	}
	return text
}

// key names a request.
func key(path string, request json.RawMessage) string {
	var compact bytes.Buffer
	_ = json.Compact(&compact, request) // nothing is left of none
	return path + " " + compact.String()
}

// recordings is the folder of the recorded exchanges: a file for each endpoint.
func recordings() string {
	return filepath.Join(binary.Root(), "e2e", "vllm", "testdata", "recorded")
}

// replay is a server that gives recorded responses.
type replay struct {
	*httptest.Server
	known map[string]exchange

	mu        sync.Mutex
	sum       Counters
	responses int
	// hold, if it is not 0, is the number of events of a stream after which the server waits until the client has gone.
	hold int
	// dieAt, if it is not 0, is the number of the response in the middle of which the server dies.
	dieAt int
	dead  sync.Once
}

func newReplay(t *testing.T) *replay {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(recordings(), "*.json"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no recorded responses in %s: run e2e/vllm/record.sh (%v)", recordings(), err)
	}
	r := &replay{known: map[string]exchange{}}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var list []exchange
		if err := json.Unmarshal(text, &list); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		for _, x := range list {
			r.known[key(x.Path, x.Request)] = x
		}
	}
	r.Server = httptest.NewServer(r)
	t.Cleanup(r.Close)
	return r
}

func (r *replay) addr() string { return r.Listener.Addr().String() }

// counted are the counts that the real server had for the responses that were given.
func (r *replay) counted(*testing.T) Counters {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.sum
}

// ServeHTTP implements http.Handler.
func (r *replay) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	body, err := io.ReadAll(q.Body)
	if err != nil {
		return
	}
	x, ok := r.known[key(q.URL.Path, essence(body))]
	if !ok {
		http.Error(w, "there is no recorded response to "+key(q.URL.Path, essence(body))+": run e2e/vllm/record.sh", http.StatusNotImplemented)
		return
	}
	r.mu.Lock()
	r.responses++
	n, hold, dies := r.responses, r.hold, r.dieAt
	r.mu.Unlock()
	w.Header().Set("Content-Type", x.Type)
	w.WriteHeader(x.Status)
	for i, event := range strings.SplitAfter(x.Body, "\n\n") {
		switch {
		case hold > 0 && i == hold:
			<-q.Context().Done()
			return
		case dies > 0 && n >= dies && i == 2:
			r.die()
			panic(http.ErrAbortHandler)
		}
		_, _ = io.WriteString(w, event) // an error is the client's end
		_ = http.NewResponseController(w).Flush()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sum.Prompt += x.Prompt
	r.sum.Generated += x.Generated
}

// die ends the server as a kill does: nothing listens any more, and all connections end.
func (r *replay) die() {
	r.dead.Do(func() {
		_ = r.Listener.Close() // clients see it
		go r.CloseClientConnections()
	})
}

// The counts of every endpoint are those that the real vLLM counted itself.
func TestRecordedCounts(t *testing.T) {
	for _, endpoint := range endpoints {
		for _, way := range [][]string{{"--streaming"}, nil} {
			for _, n := range []string{"1", "8"} {
				t.Run(endpoint+" "+strings.Join(way, "")+" "+n, func(t *testing.T) {
					t.Parallel()
					counts(t, newReplay(t), 40, recordedLength, append(append(prompts(t, endpoint), way...), "--concurrency", n)...)
				})
			}
		}
	}
}

func TestRecordedFailures(t *testing.T) { failures(t, newReplay(t)) }

func TestRecordedCancellation(t *testing.T) {
	s := newReplay(t)
	s.hold = 8
	canceled(t, s, 4, recordedLength, append(prompts(t, "chat"), "--concurrency", "2")...)
}

func TestRecordedDeath(t *testing.T) {
	s := newReplay(t)
	s.dieAt = 21
	died(t, redline(t, s.addr(), append(prompts(t, "chat"), "--streaming", "--concurrency", "4", "--request-count", "1000")...))
}
