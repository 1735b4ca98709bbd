package openai

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/redline-bench/redline/internal/refserver/pause"
)

// Whatever a body holds, each interface answers it, and a response that is not a stream is JSON.
func FuzzBodies(f *testing.F) {
	clock := pause.NewByTimers()
	f.Cleanup(clock.Close)
	pace, err := pause.NewPacer(pause.Tokens{}, 0, 0)
	if err != nil {
		f.Fatal(err)
	}
	h, err := New(Config{Clock: clock, Pace: pace})
	if err != nil {
		f.Fatal(err)
	}
	paths := []string{"/v1/chat/completions", "/v1/completions", "/v1/responses", "/v1/embeddings", "/v1/images/generations", "/v1/images/edits", "/v1/audio/transcriptions", "/v1/messages", "/generate", "/v1/rerank", "/v1/ranking"}
	f.Add(uint8(0), `{`+hello+`,"max_tokens":3}`)
	f.Add(uint8(0), `{"model":"m","messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:,"}}]}],"tools":[{}],"max_tokens":2}`)
	f.Add(uint8(1), `{"model":"m","prompt":[1,2,3],"max_tokens":2,"n":2,"stream":true}`)
	f.Add(uint8(2), `{"model":"m","input":[{"role":"user","content":[{"type":"input_text","text":"a"}]}]}`)
	f.Add(uint8(3), `{"model":"m","input":["a","b"]}`)
	f.Add(uint8(4), `{"model":"m","max_tokens":2,"messages":[{"role":"user","content":[{"type":"text","text":"a b c"}]}]}`)
	f.Add(uint8(5), `{"inputs":"a","parameters":{"max_new_tokens":2}}`)
	f.Add(uint8(6), `{"model":"m","query":"q","documents":["a",{"text":"b"}],"top_n":1}`)
	f.Add(uint8(7), `{"model":"m","query":{"text":"q"},"passages":[{"text":"a"}]}`)
	f.Fuzz(func(t *testing.T, path uint8, body string) {
		if strings.Count(body, "0") > 3 || len(body) > 1000 {
			return // answers of hundreds of thousands of tokens tell nothing more
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodPost, paths[int(path)%len(paths)], strings.NewReader(body)))
		if strings.HasPrefix(w.Header().Get("Content-Type"), "application/json") && !json.Valid(w.Body.Bytes()) {
			t.Errorf("%d %q", w.Code, w.Body)
		}
	})
}
