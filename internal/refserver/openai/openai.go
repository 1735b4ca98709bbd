// Package openai is a language model behind the HTTP interfaces that such models have: OpenAI's chat completions,
// completions, responses, embeddings and models, Anthropic's messages, TGI's generate, and rerank; whole or as a stream.
//
// It computes nothing. What it keeps is the pace: the first token leaves exactly TTFT after the request came, each other
// ITL later, so that what a client measures can be compared with what was. A request may set its own pace with the headers
// X-Redline-TTFT and X-Redline-ITL, and be made to fail in its stream with X-Redline-Fail-After: N tokens.
package openai

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/redline-bench/redline/internal/refserver/pause"
	"github.com/redline-bench/redline/internal/refserver/reqlog"
)

// Config sets the pace of the model.
type Config struct {
	TTFT  time.Duration // to the first token
	ITL   time.Duration // between two tokens
	Token string        // when not empty, what clients must present as a bearer
	Clock *pause.Clock
	Log   *reqlog.Log
}

// Handler answers all interfaces.
type Handler struct {
	cfg   Config
	mux   *http.ServeMux
	count atomic.Uint64
}

// model is the name that is listed; requests may name any.
const model = "mock-llm"

// New makes a handler.
func New(cfg Config) *Handler {
	h := &Handler{cfg: cfg, mux: http.NewServeMux()}
	h.mux.HandleFunc("GET /v1/models", h.models)
	h.mux.HandleFunc("GET /health", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) })
	for path, f := range map[string]func(*exchange) error{
		"/v1/chat/completions": h.chat, "/v1/completions": h.completions, "/v1/responses": h.responses, "/v1/embeddings": h.embeddings,
		"/v1/messages": h.messages, "/generate": h.generate, "/generate_stream": h.generate, "/v1/rerank": h.rerank, "/rerank": h.rerank,
	} {
		h.mux.HandleFunc("POST "+path, func(w http.ResponseWriter, r *http.Request) { h.serve(w, r, f) })
	}
	h.mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		writeError(w, &apiError{http.StatusNotFound, "invalid_request_error", "Invalid URL (" + r.Method + " " + r.URL.Path + ")"})
	})
	return h
}

// ServeHTTP checks the bearer and finds the interface.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if h.cfg.Token != "" && r.Header.Get("Authorization") != "Bearer "+h.cfg.Token && r.Header.Get("X-Api-Key") != h.cfg.Token {
		writeError(w, &apiError{http.StatusUnauthorized, "invalid_request_error", "Incorrect API key provided."})
		return
	}
	h.mux.ServeHTTP(w, r)
}

// apiError is a failure as clients of OpenAI see it.
type apiError struct {
	status int
	kind   string
	text   string
}

func (e *apiError) Error() string { return e.text }

func bad(format string, args ...any) error {
	return &apiError{http.StatusBadRequest, "invalid_request_error", fmt.Sprintf(format, args...)}
}

// errorBody is the JSON of an error.
func errorBody(e *apiError) any {
	return map[string]any{"error": map[string]any{"message": e.text, "type": e.kind, "param": nil, "code": nil}}
}

func writeError(w http.ResponseWriter, e *apiError) { writeJSON(w, e.status, errorBody(e)) }

func writeJSON(w http.ResponseWriter, status int, v any) {
	body, err := json.Marshal(v)
	if err != nil {
		status, body = http.StatusInternalServerError, []byte(`{"error":{"message":"cannot encode the answer"}}`)
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	_, _ = w.Write(body) // a client that is gone needs no answer
}

// exchange is one request and the answer to it.
type exchange struct {
	http.ResponseWriter
	req      *http.Request
	body     []byte
	received time.Time
	ttft     time.Duration
	itl      time.Duration
	failAt   int // tokens before an error in the stream; negative for none
	started  bool
	id       string
}

func (h *Handler) serve(w http.ResponseWriter, r *http.Request, f func(*exchange) error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the client is gone
	}
	x := &exchange{ResponseWriter: w, req: r, body: body, received: time.Now(), ttft: h.cfg.TTFT, itl: h.cfg.ITL, failAt: -1}
	x.id = strconv.FormatUint(h.count.Add(1), 10)
	err = x.options()
	if err == nil {
		err = f(x)
	}
	if err != nil && !x.started {
		e, ok := errors.AsType[*apiError](err)
		if !ok {
			e = &apiError{http.StatusInternalServerError, "server_error", err.Error()}
		}
		writeError(w, e)
	}
	h.cfg.Log.Add(r.URL.Path, x.id, x.received, time.Now())
}

// options reads the headers that change the pace.
func (x *exchange) options() error {
	for name, to := range map[string]*time.Duration{"X-Redline-TTFT": &x.ttft, "X-Redline-ITL": &x.itl} {
		if v := x.req.Header.Get(name); v != "" {
			d, err := time.ParseDuration(v)
			if err != nil || d < 0 {
				return bad("%s is a time, as 20ms, not %q", name, v)
			}
			*to = d
		}
	}
	if v := x.req.Header.Get("X-Redline-Fail-After"); v != "" {
		n, err := strconv.Atoi(v)
		if err != nil || n < 0 {
			return bad("X-Redline-Fail-After is a number of tokens, not %q", v)
		}
		x.failAt = n
	}
	return nil
}

// decode reads the JSON body.
func (x *exchange) decode(to any) error {
	if err := json.Unmarshal(x.body, to); err != nil {
		return bad("We could not parse the JSON body of your request: %v", err)
	}
	return nil
}

// tokens calls f for each of n tokens at its time, counted from the arrival of the request.
func (h *Handler) tokens(ctx context.Context, x *exchange, n int, f func(k int, token string) error) error {
	for k := range n {
		if k == x.failAt {
			return &apiError{http.StatusInternalServerError, "server_error", "failed on purpose"}
		}
		due := x.received.Add(x.ttft + time.Duration(k)*x.itl)
		if err := h.cfg.Clock.Until(ctx, due); err != nil {
			return err
		}
		if err := f(k, token(k)); err != nil {
			return err
		}
	}
	return nil
}

// text waits for all tokens and gives them as one.
func (h *Handler) text(x *exchange, n int) (string, error) {
	var b strings.Builder
	err := h.tokens(x.req.Context(), x, n, func(_ int, token string) error {
		b.WriteString(token)
		return nil
	})
	return b.String(), err
}

func token(k int) string {
	if k == 0 {
		return "tok0"
	}
	return " tok" + strconv.Itoa(k)
}

// words counts the tokens of a text: its words.
func words(text string) int { return len(strings.Fields(text)) }

// event sends one server-sent event, with a name where the interface has them.
func (x *exchange) event(name string, v any) error {
	body, err := json.Marshal(v)
	if err != nil {
		return err
	}
	line := append(append([]byte("data: "), body...), '\n', '\n')
	if name != "" {
		line = append([]byte("event: "+name+"\n"), line...)
	}
	return x.raw(line)
}

// done ends a stream as OpenAI does.
func (x *exchange) done() error { return x.raw([]byte("data: [DONE]\n\n")) }

func (x *exchange) raw(line []byte) error {
	if !x.started {
		x.started = true
		x.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
		x.Header().Set("Cache-Control", "no-cache")
		x.WriteHeader(http.StatusOK)
	}
	if _, err := x.Write(line); err != nil {
		return err
	}
	return http.NewResponseController(x.ResponseWriter).Flush()
}

// streamError tells a client in the middle of a stream that it failed.
func (x *exchange) streamError(err error) error {
	if e, ok := errors.AsType[*apiError](err); ok && x.started {
		return x.event("", errorBody(e))
	}
	return err
}

func (h *Handler) models(w http.ResponseWriter, _ *http.Request) {
	writeJSON(w, http.StatusOK, map[string]any{"object": "list", "data": []any{
		map[string]any{"id": model, "object": "model", "created": 1700000000, "owned_by": "redline"},
	}})
}
