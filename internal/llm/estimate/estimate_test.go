package estimate_test

import (
	"context"
	"encoding/json"
	"math"
	"net/http"
	"strings"
	"testing"

	"github.com/redline-bench/redline/internal/llm"
	"github.com/redline-bench/redline/internal/llm/estimate"
)

// A server that counts five tokens for every four words. It puts one special token before a text, nine tokens around each message, three
// before the answer, and a system prompt of twenty tokens where there is none.
type server struct{ name string }

const (
	special, around, answer, system = 1, 9, 3, 20
	perWord                         = 1.25
)

func count(text string) int { return int(math.Round(perWord * float64(len(strings.Fields(text))))) }

type request struct {
	Prompt, Content, Inputs string
	Messages                []struct{ Role, Content string }
	Special                 *bool `json:"add_special_tokens"`
	Add                     bool  `json:"add_special"`
}

func (r *request) chat() int {
	n := answer
	if r.Messages[0].Role != "system" {
		n += around + system
	}
	for _, m := range r.Messages {
		n += around + count(m.Content)
	}
	return n
}

func (s server) Ask(_ context.Context, path string, body []byte) (status int, text []byte, err error) {
	var r request
	if err := json.Unmarshal(body, &r); err != nil {
		return 0, nil, err
	}
	tokens := func(n int) []byte { text, _ := json.Marshal(make([]int, n)); return text }
	switch {
	case path == "/apply-template" && s.name == "llamacpp":
		return http.StatusOK, []byte(`{"prompt":"` + strings.TrimSpace(strings.Repeat("w ", int(float64(r.chat())/perWord))) + `"}`), nil
	case path != "/tokenize":
		return http.StatusNotFound, nil, nil
	case s.name == "vllm" && r.Messages != nil:
		text, _ = json.Marshal(map[string]int{"count": r.chat()})
	case s.name == "vllm":
		n := count(r.Prompt)
		if *r.Special {
			n += special
		}
		text, _ = json.Marshal(map[string]int{"count": n})
	case s.name == "sglang" && r.Messages != nil:
		return http.StatusBadRequest, []byte(`{}`), nil
	case s.name == "sglang":
		text = append(append([]byte(`{"tokens":`), tokens(count(r.Prompt))...), '}')
	case s.name == "llamacpp":
		n := count(r.Content)
		if r.Add {
			n += special
		}
		text = append(append([]byte(`{"tokens":`), tokens(n)...), '}')
	case s.name == "tgi":
		text = tokens(count(r.Inputs) + special)
	}
	return http.StatusOK, text, nil
}

func TestServersThatTokenize(t *testing.T) {
	f := func(name string, chat, prompt bool, want llm.Template) {
		t.Helper()
		s := estimate.Server{Asker: server{name}, Name: name, Model: "m", Chat: chat, System: prompt}
		e, err := s.Tokenize(t.Context())
		if err != nil || math.Abs(e.PerWord-perWord) > 0.001 || !near(e.Template.First, want.First) || !near(e.Template.Later, want.Later) {
			t.Errorf("%s: %+v, %v; want %g and %+v", name, e, err, perWord, want)
		}
	}
	f("vllm", true, false, llm.Template{First: system + 2*around + answer, Later: 2 * around})
	f("vllm", true, true, llm.Template{First: 2*around + answer, Later: 2 * around})
	f("vllm", false, false, llm.Template{First: special})
	f("llamacpp", true, false, llm.Template{First: system + 2*around + answer + special, Later: 2 * around})
	f("llamacpp", false, false, llm.Template{First: special})
	f("sglang", true, false, llm.Template{})
	f("tgi", false, false, llm.Template{})
	for _, name := range []string{"nothing", ""} {
		s := estimate.Server{Asker: server{name}, Name: name}
		if e, err := s.Tokenize(t.Context()); err == nil || estimate.Tokenizes(name) {
			t.Errorf("%q: %+v", name, e)
		}
	}
}

// near allows for the rounding of words.
func near(a, b int) bool { return a-b <= 1 && b-a <= 1 }

func TestTwoCounts(t *testing.T) {
	var counts [2]int
	for i, text := range estimate.Texts() {
		counts[i] = 29 + count(text)
	}
	e, err := estimate.Fit(counts, "", "two requests")
	if want := (llm.Estimate{PerWord: perWord, Template: llm.Template{First: 29}, By: "two requests"}); err != nil || e != want {
		t.Errorf("%+v, %v; want %+v", e, err, want)
	}
	for _, bad := range [][2]int{{30, 30}, {3, 3}, {500, 29}, {1, 1 << 20}} {
		if e, err := estimate.Fit(bad, "", ""); err == nil {
			t.Errorf("%v is %+v", bad, e)
		}
	}
}
