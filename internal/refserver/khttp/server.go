// Package khttp serves the KServe v2 protocol over HTTP with Triton's extensions: JSON, tensors as raw bytes behind it,
// generate, shared memory, the model repository, trace and log settings. Paths, status codes and the texts of errors are
// Triton's, because clients match on them.
package khttp

import (
	"context"
	"net/http"
	"strconv"
	"strings"

	"google.golang.org/protobuf/proto"

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
	// kind is the content type of the response: Triton sets JSON only after it has begun to read the body.
	kind string
	sent bool  // the response was written
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

// ServeHTTP answers a request.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	x := &exchange{ResponseWriter: w, req: r, kind: plainText, most: h.core.MaxInput, budget: &h.core.Unpacking}
	defer x.release()
	body, err := h.route(r.Context(), x)
	switch {
	case err != nil:
		x.fail(err)
	case !x.sent:
		x.answer(http.StatusOK, x.kind, body)
	}
}

// route finds the endpoint by the path. It returns the body of the response, unless the endpoint has sent it.
func (h *Handler) route(ctx context.Context, x *exchange) ([]byte, error) {
	parts := strings.Split(strings.TrimPrefix(x.req.URL.Path, "/"), "/")
	if parts[0] != "v2" {
		return nil, x.notFound()
	}
	if len(parts) == 1 {
		return x.show(func() (proto.Message, error) { return core.ServerMetadata(), nil })
	}
	switch rest := parts[2:]; parts[1] {
	case "models":
		return h.models(ctx, x, rest)
	case "health":
		return h.health(x, rest)
	case "repository":
		return h.repository(x, rest)
	case "systemsharedmemory":
		return h.shared(x, rest, h.systemMemory())
	case "cudasharedmemory":
		return h.shared(x, rest, h.cudaMemory())
	case "trace":
		if len(rest) == 1 && rest[0] == "setting" {
			return h.trace(x, "")
		}
	case "logging":
		if len(rest) == 0 {
			return h.logging(x)
		}
	}
	return nil, x.notFound()
}

// models takes /v2/models/NAME[/versions/N][/VERB] and /v2/models/stats.
func (h *Handler) models(ctx context.Context, x *exchange, rest []string) ([]byte, error) {
	if len(rest) == 0 || rest[0] == "" {
		return nil, x.notFound()
	}
	name, version := rest[0], ""
	rest = rest[1:]
	if name == "stats" && len(rest) == 0 {
		return x.show(func() (proto.Message, error) { return h.core.Statistics("", "") })
	}
	if len(rest) >= 2 && rest[0] == "versions" {
		if version = rest[1]; !digits(version) {
			return nil, x.notFound()
		}
		rest = rest[2:]
	}
	switch strings.Join(rest, "/") {
	case "":
		return x.show(func() (proto.Message, error) { return h.core.ModelMetadata(name, version) })
	case "infer":
		return nil, h.infer(x, name, version)
	case "generate":
		return nil, h.generate(ctx, x, name, version, false)
	case "generate_stream":
		return nil, h.generate(ctx, x, name, version, true)
	case "ready":
		return h.modelReady(x, name, version)
	case "config":
		return x.show(func() (proto.Message, error) {
			m, err := h.core.Models.Get(name, version)
			if err != nil {
				return nil, err
			}
			return m.Config, nil
		})
	case "stats":
		return x.show(func() (proto.Message, error) { return h.core.Statistics(name, version) })
	case "trace/setting":
		return h.trace(x, name)
	}
	return nil, x.notFound()
}

func digits(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return s != ""
}

// allow answers a request whose method is not the given one with an error.
func (x *exchange) allow(method string) error {
	if x.req.Method == method {
		return nil
	}
	return infer.Errorf(infer.NotAllowed, "Method Not Allowed")
}

func (x *exchange) notFound() error {
	x.kind = plainText
	return infer.Errorf(infer.NotFound, "Not Found")
}

func (x *exchange) fail(err error) {
	x.answer(infer.CodeOf(err).HTTP(), x.kind, errorBody(err.Error()))
}

// answer writes a whole response. It ignores write errors, because they mean that the client has gone.
func (x *exchange) answer(status int, kind string, body []byte) {
	x.sent = true
	head := x.Header()
	head["Content-Type"] = []string{kind}
	head["Content-Length"] = []string{strconv.Itoa(len(body))}
	x.WriteHeader(status)
	_, _ = x.Write(body)
}

func errorBody(text string) []byte {
	return append(rjson.AppendString([]byte(`{"error":`), text), '}')
}
