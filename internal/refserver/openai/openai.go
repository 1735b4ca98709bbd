// Package openai is a language model behind the HTTP interfaces that such models have: OpenAI's chat completions,
// completions, responses, embeddings, images and models, Anthropic's messages, TGI's generate, and the rerank of Cohere, TEI and
// NIM; whole or as a stream.
//
// It computes nothing, but sends tokens at fixed times: the first token exactly TTFT after the request arrived, each further
// token ITL later, so that a client's measurements can be compared with the true times. Times count from the arrival of the
// request, never from the last token, so that one late token does not delay the others. A request may set its own times with
// the headers X-Redline-TTFT and X-Redline-ITL, and select an unusual stream with X-Redline-Stream; see package stream.
package openai

import (
	"cmp"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/redline-bench/redline/internal/refserver/departure"
	"github.com/redline-bench/redline/internal/refserver/pause"
	"github.com/redline-bench/redline/internal/refserver/reqlog"
	"github.com/redline-bench/redline/internal/refserver/stream"
	"github.com/redline-bench/redline/internal/refserver/tempo"
)

// Config sets up the model.
type Config struct {
	Pace  *tempo.Pacer
	Token string // if not empty, the bearer token that clients must send
	Clock *pause.Clock
	Log   *reqlog.Log
	// Departures records when responses over HTTP/2 were sent; nil if there is no log.
	Departures *departure.Board
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
	h.mux.HandleFunc("GET /v1/models/{model...}", h.oneModel)
	for _, path := range []string{"/health", "/ping", "/v1/health/ready", "/v1/health/live"} {
		h.mux.HandleFunc("GET "+path, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) })
	}
	for path, f := range map[string]func(*exchange) error{
		"/v1/chat/completions": h.chat, "/v1/completions": h.completions, "/v1/responses": h.responses, "/v1/embeddings": h.embeddings, "/v1/images/generations": h.images, "/v1/images/edits": h.edits, "/v1/audio/transcriptions": h.transcriptions,
		"/v1/messages": h.messages, "/{$}": h.generateAny, "/generate": h.generate, "/generate_stream": h.generate,
		"/v1/rerank": h.rerank, "/v2/rerank": h.rerank, "/rerank": h.rerank, "/v1/ranking": h.ranking,
	} {
		h.mux.HandleFunc("POST "+path, func(w http.ResponseWriter, r *http.Request) { h.serve(w, r, f) })
	}
	h.mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		writeError(w, r, &apiError{http.StatusNotFound, "invalid_request_error", "Invalid URL (" + r.Method + " " + r.URL.Path + ")"})
	})
	return h
}

// ServeHTTP checks the bearer and finds the interface.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if h.cfg.Token != "" && !same(r.Header.Get("Authorization"), "Bearer "+h.cfg.Token) && !same(r.Header.Get("X-Api-Key"), h.cfg.Token) {
		writeError(w, r, &apiError{http.StatusUnauthorized, "invalid_request_error", "Incorrect API key provided."})
		return
	}
	h.mux.ServeHTTP(w, r)
}

func same(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }

// exchange is one request and the response to it.
type exchange struct {
	http.ResponseWriter
	req       *http.Request
	body      []byte
	received  time.Time
	ttft, itl time.Duration
	script    stream.Script
	out       *stream.Writer
	prompt    int // tokens of the prompt
	reasoning int // how many of the first tokens are reasoning
	id        string
	err       error // of the first event that could not be sent
}

func (h *Handler) serve(w http.ResponseWriter, r *http.Request, f func(*exchange) error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the client has gone
	}
	x := &exchange{ResponseWriter: w, req: r, body: body, received: time.Now(), ttft: h.cfg.Pace.First, itl: h.cfg.Pace.Each}
	x.id = strconv.FormatUint(h.count.Add(1), 10)
	err = x.options()
	x.out = stream.New(w, x.script)
	x.out.Follow(h.cfg.Departures.Request(r))
	x.out.Log = h.cfg.Log.On()
	if err == nil && x.script.Status != 0 {
		err = &apiError{x.script.Status, "server_error", onPurpose}
	}
	if err == nil {
		err = f(x)
	}
	switch {
	case x.out.Started():
		_ = x.out.Close() // the client may be gone
	case err != nil:
		e, ok := errors.AsType[*apiError](err)
		if !ok {
			e = &apiError{http.StatusInternalServerError, "server_error", err.Error()}
		}
		writeError(w, r, e)
	}
	id := cmp.Or(r.Header.Get("X-Request-Id"), x.id)
	replied := time.Now()
	x.out.Told(func(times []int64, tokens []int) {
		h.cfg.Log.Add(reqlog.Entry{Model: r.URL.Path, ID: id, Parent: r.Header.Get("Traceparent"), Received: x.received, Replied: replied, Events: times, Tokens: tokens})
	})
	if x.out.Cut() {
		panic(http.ErrAbortHandler) // the way of net/http to end a connection within a response
	}
}

// options reads the headers that change the pace and the stream.
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
	var err error
	if x.script, err = stream.Parse(x.req.Header.Get(stream.Header)); err != nil {
		return bad("%v", err)
	}
	if v := x.req.Header.Get("X-Redline-Fail-After"); v != "" {
		n, err := strconv.Atoi(v)
		if err != nil || n < 0 {
			return bad("X-Redline-Fail-After is a number of tokens, not %q", v)
		}
		x.script.Fail = n
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

// event sends one event of the stream, with a name if the API has event names. After an error no more events are sent, and every
// call returns that error.
func (x *exchange) event(name string, v any, tokens int) error {
	if x.err != nil {
		return x.err
	}
	body, err := json.Marshal(v)
	if err == nil {
		err = x.out.Event(name, body, tokens)
	}
	x.err = err
	return err
}

func describe(name string) map[string]any {
	return map[string]any{"id": name, "object": "model", "created": 1700000000, "owned_by": "redline"}
}

func (h *Handler) models(w http.ResponseWriter, _ *http.Request) {
	writeJSON(w, http.StatusOK, map[string]any{"object": "list", "data": []any{describe(model)}})
}

func (h *Handler) oneModel(w http.ResponseWriter, r *http.Request) {
	writeJSON(w, http.StatusOK, describe(r.PathValue("model")))
}
