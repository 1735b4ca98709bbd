package llm_test

import (
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/redline-bench/redline/e2e/binary"
)

// counting is a chat server that counts five tokens for every four words, and 29 for its chat template.
type counting struct {
	*httptest.Server
	owner     string // who the list of models says that it is
	generated int    // output tokens of each response; 0: as many as requested
	finish    string
	legacy    bool // it knows max_tokens only
	chats     atomic.Int64
}

const countedTemplate = 29

func countedWords(text string) int { return int(math.Round(1.25 * float64(len(strings.Fields(text))))) }

func (c *counting) start(t *testing.T) *counting {
	t.Helper()
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/models", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, `{"data":[{"id":"m","owned_by":%q}]}`, c.owner)
	})
	mux.HandleFunc("POST /tokenize", func(w http.ResponseWriter, r *http.Request) {
		n := c.count(r)
		if c.owner != "vllm" {
			http.NotFound(w, r)
			return
		}
		fmt.Fprintf(w, `{"count":%d}`, n)
	})
	mux.HandleFunc("POST /v1/chat/completions", c.chat)
	c.Server = httptest.NewServer(mux)
	t.Cleanup(c.Close)
	return c
}

// question is a request for tokens or for a response.
type question struct {
	Prompt   string
	Messages []struct{ Content string }
	New      int `json:"max_completion_tokens"`
	Old      int `json:"max_tokens"`
}

func (a *question) tokens() int {
	if a.Messages == nil {
		return countedWords(a.Prompt)
	}
	n := countedTemplate
	for _, m := range a.Messages {
		n += countedWords(m.Content)
	}
	return n
}

func (c *counting) count(r *http.Request) int {
	var a question
	_ = json.NewDecoder(r.Body).Decode(&a) // a test fails by the counts
	return a.tokens()
}

func (c *counting) chat(w http.ResponseWriter, r *http.Request) {
	c.chats.Add(1)
	var a question
	_ = json.NewDecoder(r.Body).Decode(&a) // a test fails by the counts
	n := a.Old
	if !c.legacy {
		n = max(n, a.New)
	}
	if c.generated > 0 && (c.generated < n || n == 0) {
		n = c.generated
	}
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(w, `{"object":"chat.completion","choices":[{"message":{"content":"text"},"finish_reason":%q}],"usage":{"prompt_tokens":%d,"completion_tokens":%d}}`,
		c.finish, a.tokens(), n)
}

// Without a tokenizer, the server is asked how long generated prompts are, or its counts of two requests before a warm-up tell.
func TestLengthsWithoutATokenizer(t *testing.T) {
	f := func(name, owner string, requests int64, says string, isl, prompt float64, args ...string) {
		t.Helper()
		c := (&counting{owner: owner, finish: "length"}).start(t)
		r := folder(t)
		got := r.redline(t, append([]string{"llm", "-m", "m", "-u", c.URL, "--isl", "100", "--osl", "8", "--request-count", "40", "--json", "r.json"}, args...)...)
		if got.code != 0 || !strings.Contains(got.out, says) {
			t.Errorf("%s: ended with %d; want %q in\n%s", name, got.code, says, got.out)
			return
		}
		if n := c.chats.Load(); n != requests {
			t.Errorf("%s: %d requests, want %d", name, n, requests)
		}
		lv := &binary.Result(t, filepath.Join(r.dir, "r.json")).Levels[0]
		for tag, want := range map[string]float64{"input_sequence_length": isl, "usage_prompt_tokens": prompt} {
			if v := metric(t, lv, tag).Avg; math.Abs(v-want) > 1 {
				t.Errorf("%s: %s is %v, want %v", name, tag, v, want)
			}
		}
	}
	f("vLLM", "vllm", 40, "about 100 tokens (1.25 a word by the server's tokenizer)", 100, 129)
	f("a warm-up", "someone", 44, "Prompt lengths: 1.25 tokens a word by the server's counts of two warm-up requests", 100, 129, "--warmup-request-count", "4")
	f("a warm-up with a system prompt", "someone", 42, "Prompt lengths: 1.25 tokens a word", 105, 134, "--warmup-request-count", "2", "--system-prompt", "be very brief now")
	f("a warm-up that is too short", "someone", 41, "a word counts as one token, because the server's counts of the warm-up requests did not tell more", 154, 154, "--warmup-request-count", "1")
	f("neither", "someone", 40, "about 100 tokens (a word counts as one)", 154, 154)
}

// A length that was not asked for is explained: its direction, and what to try.
func TestLengthsThatWereNotAskedFor(t *testing.T) {
	f := func(c *counting, says string, args ...string) {
		t.Helper()
		c.start(t)
		r := folder(t)
		got := r.redline(t, append([]string{"llm", "-m", "m", "-u", c.URL, "--isl", "20", "--osl", "32", "--request-count", "10"}, args...)...)
		_, warning, _ := strings.Cut(got.out, "Warning: ")
		warning, _, _ = strings.Cut(warning, "\n")
		if got.code != 0 || warning != says {
			t.Errorf("ended with %d: %q, want %q", got.code, warning, says)
		}
	}
	f(&counting{finish: "length"}, "")
	f(&counting{finish: "stop", legacy: true, generated: 1024}, "10 of 10 responses are longer than requested: 1,024 tokens on average, 32 requested; "+
		"the server ignores the limit max_completion_tokens: --use-legacy-max-tokens sends it as max_tokens")
	f(&counting{finish: "length", legacy: true, generated: 1024}, "", "--use-legacy-max-tokens")
	f(&counting{finish: "stop", generated: 20}, "10 of 10 responses are shorter than requested: 20 tokens on average, 32 requested; "+
		"the model ended them early: --output-tokens-mean-deterministic prevents that, by ignore_eos and min_tokens")
	f(&counting{finish: "stop", generated: 20}, "10 of 10 responses are shorter than requested: 20 tokens on average, 32 requested; "+
		"the model ended them early, although ignore_eos asks it not to", "--extra-inputs", "ignore_eos:true")
	f(&counting{finish: "length", generated: 20}, "10 of 10 responses are shorter than requested: 20 tokens on average, 32 requested; "+
		"the server ended them at a limit of its own, such as its context length: request fewer tokens or shorter prompts")
}
