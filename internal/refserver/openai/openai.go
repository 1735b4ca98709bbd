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
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/redline-bench/redline/internal/refserver/conns"
	"github.com/redline-bench/redline/internal/refserver/pause"
	"github.com/redline-bench/redline/internal/refserver/reqlog"
	"github.com/redline-bench/redline/internal/refserver/stream"
)

// Config sets up the model.
type Config struct {
	Pace  *pause.Pacer
	Clock *pause.Clock
	Log   *reqlog.Log
	// Conns records when responses over HTTP/2 were sent; nil if there is no log.
	Conns *conns.Board
}

// Handler answers all interfaces.
type Handler struct {
	cfg    Config
	mux    *http.ServeMux
	values map[string]value
	count  atomic.Uint64
}

const jsonType = "application/json"

// New makes a handler.
func New(cfg Config) (*Handler, error) {
	h := &Handler{cfg: cfg, mux: http.NewServeMux(), values: values()}
	h.mux.HandleFunc("GET /v1/models", func(w http.ResponseWriter, _ *http.Request) { // requests may name any model
		write(w, http.StatusOK, jsonType, `{"object":"list","data":[{"id":"mock-llm","object":"model","created":1700000000,"owned_by":"redline"}]}`)
	})
	for _, path := range []string{"/health", "/ping", "/v1/health/ready", "/v1/health/live"} {
		h.mux.HandleFunc("GET "+path, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) })
	}
	list, err := apis()
	if err != nil {
		return nil, err
	}
	for path, a := range list {
		h.mux.HandleFunc("POST "+path, func(w http.ResponseWriter, r *http.Request) { h.serve(w, r, a) })
	}
	h.mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		h.page(w, r, list["/v1/completions"]).fail(&apiError{http.StatusNotFound, "Invalid URL (" + r.Method + " " + r.URL.Path + ")"})
	})
	return h, nil
}

// ServeHTTP finds the interface.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) { h.mux.ServeHTTP(w, r) }

// page is one request, the response to it, and what templates know of both.
type page struct {
	http.ResponseWriter
	*Handler
	req       *http.Request
	api       *api
	fields    map[string]json.RawMessage // of the request
	files     []file
	received  time.Time
	ttft, itl time.Duration
	script    stream.Script
	out       *stream.Writer
	id        string
	err       error // of the request, or of the first event that could not be sent

	model                   string
	stream                  bool
	prompt, n, choices      int    // tokens of the prompt and of the response, and choices
	reasoning               int    // how many tokens, the first ones, are reasoning
	call, finish            string // the function that is called, if any, and why the response ends
	usageAsked, usageAlways bool
	data                    []string // JSON of each choice, where it is not what is said

	part        part   // that is being sent
	said, name  string // by the event, and its name
	token, sent int    // the first token of the event, and all that were sent
	choice      int
	closed      int // parts that are complete
	events      int // that were sent
	failure     *apiError
}

func (h *Handler) page(w http.ResponseWriter, r *http.Request, a *api) *page {
	return &page{
		ResponseWriter: w, Handler: h, req: r, api: a, choices: 1,
		received: time.Now(), ttft: h.cfg.Pace.First, itl: h.cfg.Pace.Each, id: strconv.FormatUint(h.count.Add(1), 10),
	}
}

func (h *Handler) serve(w http.ResponseWriter, r *http.Request, a *api) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the client has gone
	}
	p := h.page(w, r, a)
	err = p.options()
	p.out = stream.New(w, p.script)
	p.out.Follow(h.cfg.Conns.Request(r))
	p.out.Log = h.cfg.Log.On()
	if err == nil && p.script.Status != 0 {
		err = &apiError{p.script.Status, onPurpose}
	}
	for _, step := range []func() error{func() error { return p.open(body) }, func() error { return a.read(p) }, p.answer} {
		if err == nil {
			err = step()
		}
	}
	switch {
	case p.out.Started():
		_ = p.out.Close() // the client may be gone
	case err != nil:
		p.fail(err)
	}
	id := cmp.Or(r.Header.Get("X-Request-Id"), p.id)
	replied := time.Now()
	p.out.Told(func(times []int64, tokens []int) {
		h.cfg.Log.Add(p.received, reqlog.Entry{Model: r.URL.Path, ID: id, Parent: r.Header.Get("Traceparent"), Replied: replied.UnixNano(), Events: times, Tokens: tokens})
	})
	if p.out.Cut() {
		panic(http.ErrAbortHandler) // the way of net/http to end a connection within a response
	}
}

// options reads the headers that change the pace and the stream.
func (p *page) options() error {
	for name, to := range map[string]*time.Duration{"X-Redline-TTFT": &p.ttft, "X-Redline-ITL": &p.itl} {
		if v := p.req.Header.Get(name); v != "" {
			d, err := time.ParseDuration(v)
			if err != nil || d < 0 {
				return bad("%s is a time, as 20ms, not %q", name, v)
			}
			*to = d
		}
	}
	var err error
	if p.script, err = stream.Parse(p.req.Header.Get(stream.Header)); err != nil {
		return bad("%v", err)
	}
	return nil
}

// onPurpose is the message of a failure that was requested.
const onPurpose = "failed on purpose"

// errStop ends a stream early, as the script wants it.
var errStop = errors.New("the stream stops on purpose")

// apiError is a failure as clients see it.
type apiError struct {
	status int
	text   string
}

func (e *apiError) Error() string { return e.text }

func bad(format string, args ...any) error {
	return &apiError{http.StatusBadRequest, fmt.Sprintf(format, args...)}
}

// fail answers with an error.
func (p *page) fail(err error) {
	var ok bool
	if p.failure, ok = errors.AsType[*apiError](err); !ok {
		p.failure = &apiError{http.StatusInternalServerError, err.Error()}
	}
	if p.failure.status == http.StatusTooManyRequests {
		p.Header().Set("Retry-After", "1")
	}
	write(p.ResponseWriter, p.failure.status, jsonType, p.fill("$fault"))
}

// ended converts the error that ended the tokens: to nothing if the script stops the stream, to error events within the stream, and to
// an HTTP status before the first event.
func (p *page) ended(err error) error {
	if errors.Is(err, errStop) {
		p.out.Start()
		return nil
	}
	var ok bool
	if p.failure, ok = errors.AsType[*apiError](err); !ok || !p.out.Started() {
		return err
	}
	if p.api.events["failed "+p.part.kind] != nil {
		p.send("failed", 0)
		return p.err
	}
	return p.out.Event("", []byte(p.fill("$fault")), 0)
}

func write(w http.ResponseWriter, status int, contentType, body string) {
	w.Header().Set("Content-Type", contentType)
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	_, _ = io.WriteString(w, body) // a client that has gone needs no response
}
