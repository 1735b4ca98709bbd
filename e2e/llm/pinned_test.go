package llm_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"
)

// What is requested and what counts as good, in tokens and milliseconds.
const (
	askedTokens = 10.0
	goodTTFT    = 45.0
	goodITL     = 9.0
)

// pinned is a chat server whose times are fixed request by request, and which notes when it writes each event. Four in ten
// requests fail, each in its own way.
type pinned struct {
	name string
	open bool
	each int // tokens a chunk
	mu   sync.Mutex
	ids  map[string]int // numbers of requests
	log  map[string][]int64
}

func (s *pinned) start(t *testing.T) string {
	t.Helper()
	s.ids, s.log = map[string]int{}, map[string][]int64{}
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	return server.URL
}

// tokens of the n-th answer: of its reasoning and of its text. Every other one is as long as was requested.
func (s *pinned) tokens(n int) (thoughts, texts int) { return 4, 4 + n/10%2*2 }

func (s *pinned) number(id string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ids[id]
}

// ServeHTTP streams the n-th answer: a role after 15 ms, reasoning from 10 to 14 ms later, then a chunk each 6 to 8 ms, the
// counts 4 ms after the last and the end mark 3 ms after them.
func (s *pinned) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	id := r.Header.Get("X-Request-Id")
	s.mu.Lock()
	n := len(s.ids)
	s.ids[id] = n
	s.mu.Unlock()
	switch n % 10 {
	case 2:
		http.Error(w, `{"error":{"message":"broken"}}`, http.StatusInternalServerError)
		return
	case 4:
		http.Error(w, `{"error":{"message":"too many"}}`, http.StatusTooManyRequests)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	thoughts, texts := s.tokens(n)
	usage := func(done int) string {
		return fmt.Sprintf(`,"usage":{"prompt_tokens":6,"completion_tokens":%d,"total_tokens":%d,"prompt_tokens_details":{"cached_tokens":2},"completion_tokens_details":{"reasoning_tokens":%d}}`,
			done, 6+done, min(done, thoughts))
	}
	send := func(after time.Duration, event string) {
		time.Sleep(after)
		s.mu.Lock() // before the event leaves: the client may end the run as soon as it has the last one
		s.log[id] = append(s.log[id], time.Now().UnixNano())
		s.mu.Unlock()
		fmt.Fprintf(w, "data: %s\n\n", event)
		_ = http.NewResponseController(w).Flush()
	}
	const ms = time.Millisecond
	send(15*ms, `{"choices":[{"delta":{"role":"assistant","content":""}}]}`)
	wait := time.Duration(10+n%5) * ms
	for done := 0; done < thoughts+texts; {
		field, text := "content", ""
		if done < thoughts {
			field = "reasoning_content"
		}
		for range s.each {
			text += " file"
		}
		done += s.each
		count := ""
		if s.each > 1 {
			count = usage(done)
		}
		send(wait, fmt.Sprintf(`{"choices":[{"delta":{%q:%q}}]%s}`, field, text, count))
		wait = time.Duration(6+n%3) * ms
		if done == thoughts && n%10 == 6 {
			send(ms, `{"error":{"message":"out of memory"}}`)
			return
		}
		if done == thoughts && n%10 == 8 {
			panic(http.ErrAbortHandler)
		}
	}
	send(0, `{"choices":[{"delta":{},"finish_reason":"stop"}]}`)
	send(4*ms, `{"choices":[]`+usage(thoughts+texts)+`}`)
	send(3*ms, "[DONE]")
}

// told is the list with the times of the server's log in place of the client's.
func (s *pinned) told(t *testing.T, list []asked) []asked {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	out := append([]asked(nil), list...)
	for i := range out {
		r := &out[i]
		at := s.log[r.id]
		if r.failed {
			continue
		}
		if len(at) != len(r.events) {
			t.Fatalf("the server wrote %d events, the client has %d", len(at), len(r.events))
		}
		r.events = append([]moment(nil), r.events...)
		for k := range r.events {
			r.events[k].at = at[k]
		}
		r.end = at[len(at)-1]
	}
	return out
}
