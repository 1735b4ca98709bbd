// Package khttp serves the KServe v2 protocol over HTTP with Triton's extensions: JSON, tensors as raw bytes behind it,
// generate, shared memory, the model repository, trace and log settings. Paths, status codes and the texts of errors are
// Triton's, because clients match on them.
package khttp

import (
	"context"
	"net/http"
	"strings"

	"github.com/redline-bench/redline/internal/refserver/core"
	"github.com/redline-bench/redline/internal/refserver/infer"
	"github.com/redline-bench/redline/internal/refserver/rjson"
	"github.com/redline-bench/redline/internal/refserver/unpack"
)

// Handler answers the requests of one server.
type Handler struct {
	core *core.Core
}

// New makes the handler of a core.
func New(c *core.Core) *Handler { return &Handler{core: c} }

const (
	plainText = "text/plain"
	jsonText  = "application/json"
)

// exchange is one request and the response to it.
type exchange struct {
	http.ResponseWriter
	req *http.Request
	// kind is the content type of an error: Triton sets JSON only after it has begun to read the body.
	kind string
	most int64 // the largest input; 0 means no limit

	budget   *unpack.Budget
	unpacked *unpack.Reader // the body, where it was packed
}

// release gives the memory of an unpacked body back to the budget.
func (x *exchange) release() {
	if x.unpacked != nil {
		_ = x.unpacked.Close()
	}
}

// ServeHTTP finds the endpoint by its path.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	x := &exchange{ResponseWriter: w, req: r, kind: plainText, most: h.core.MaxInput, budget: &h.core.Unpacking}
	defer x.release()
	parts := strings.Split(strings.TrimPrefix(r.URL.Path, "/"), "/")
	if parts[0] != "v2" {
		x.notFound()
		return
	}
	if len(parts) == 1 {
		h.serverMetadata(x)
		return
	}
	switch rest := parts[2:]; parts[1] {
	case "models":
		h.models(r.Context(), x, rest)
	case "health":
		h.health(x, rest)
	case "repository":
		h.repository(x, rest)
	case "systemsharedmemory":
		h.shared(x, rest, h.systemMemory())
	case "cudasharedmemory":
		h.shared(x, rest, h.cudaMemory())
	case "trace":
		if len(rest) == 1 && rest[0] == "setting" {
			h.trace(x, "")
			return
		}
		x.notFound()
	case "logging":
		if len(rest) == 0 {
			h.logging(x)
			return
		}
		x.notFound()
	default:
		x.notFound()
	}
}

// models takes /v2/models/NAME[/versions/N][/VERB] and /v2/models/stats.
func (h *Handler) models(ctx context.Context, x *exchange, rest []string) {
	if len(rest) == 0 || rest[0] == "" {
		x.notFound()
		return
	}
	name, version := rest[0], ""
	rest = rest[1:]
	if name == "stats" && len(rest) == 0 {
		h.statistics(x, "", "")
		return
	}
	if len(rest) >= 2 && rest[0] == "versions" {
		if version = rest[1]; !digits(version) {
			x.notFound()
			return
		}
		rest = rest[2:]
	}
	switch strings.Join(rest, "/") {
	case "":
		h.modelMetadata(x, name, version)
	case "infer":
		h.infer(x, name, version)
	case "generate":
		h.generate(ctx, x, name, version, false)
	case "generate_stream":
		h.generate(ctx, x, name, version, true)
	case "ready":
		h.modelReady(x, name, version)
	case "config":
		h.modelConfig(x, name, version)
	case "stats":
		h.statistics(x, name, version)
	case "trace/setting":
		h.trace(x, name)
	default:
		x.notFound()
	}
}

func digits(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return s != ""
}

// allow reports whether the method is allowed; if not, it has sent the error.
func (x *exchange) allow(method string) bool {
	if x.req.Method == method {
		return true
	}
	x.answer(http.StatusMethodNotAllowed, x.kind, errorBody("Method Not Allowed"))
	return false
}

func (x *exchange) notFound() {
	x.answer(http.StatusNotFound, plainText, errorBody("Not Found"))
}

func (x *exchange) fail(err error) {
	x.answer(infer.CodeOf(err).HTTP(), x.kind, errorBody(err.Error()))
}

// done answers with a JSON body, or an empty one.
func (x *exchange) done(body []byte) { x.answer(http.StatusOK, jsonText, body) }

// answer writes a whole response. It ignores write errors, because they mean that the client has gone.
func (x *exchange) answer(status int, kind string, body []byte) {
	head := x.Header()
	head["Content-Type"] = []string{kind}
	head["Content-Length"] = []string{itoa(len(body))}
	x.WriteHeader(status)
	_, _ = x.Write(body)
}

func errorBody(text string) []byte {
	return append(rjson.AppendString([]byte(`{"error":`), text), '}')
}
