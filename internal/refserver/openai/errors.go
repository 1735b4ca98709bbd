package openai

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
)

// onPurpose is the message of a failure that was requested.
const onPurpose = "failed on purpose"

// errStop ends a stream early, as the script wants it.
var errStop = errors.New("the stream stops on purpose")

// apiError is a failure as clients see it.
type apiError struct {
	status int
	kind   string
	text   string
}

func (e *apiError) Error() string { return e.text }

func bad(format string, args ...any) error {
	return &apiError{http.StatusBadRequest, "invalid_request_error", fmt.Sprintf(format, args...)}
}

// errorBody is the JSON of an error in the form of the interface behind a path.
func errorBody(path string, e *apiError) any {
	switch {
	case path == "/v1/messages":
		kind := e.kind
		if kind == "server_error" {
			kind = "api_error"
		}
		return map[string]any{"type": "error", "error": map[string]any{"type": kind, "message": e.text}}
	case path == "/" || strings.HasPrefix(path, "/generate") || path == "/rerank":
		kind := "generation"
		if e.status < http.StatusInternalServerError {
			kind = "validation"
		}
		return map[string]any{"error": e.text, "error_type": kind}
	case strings.HasSuffix(path, "/rerank"):
		return map[string]any{"message": e.text}
	}
	return map[string]any{"error": map[string]any{"message": e.text, "type": e.kind, "param": nil, "code": nil}}
}

func writeError(w http.ResponseWriter, r *http.Request, e *apiError) {
	if e.status == http.StatusTooManyRequests {
		w.Header().Set("Retry-After", "1")
	}
	writeJSON(w, e.status, errorBody(r.URL.Path, e))
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	body, err := json.Marshal(v)
	if err != nil {
		status, body = http.StatusInternalServerError, []byte(`{"error":{"message":"cannot encode the answer"}}`)
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	_, _ = w.Write(body) // a client that has gone needs no response
}

// ended converts the error that ended the tokens: to nothing if the script stops the stream, to an error event within the
// stream, and to an HTTP status before the first event.
func (x *exchange) ended(err error) error {
	if errors.Is(err, errStop) {
		x.out.Start()
		return nil
	}
	e, ok := errors.AsType[*apiError](err)
	if !ok || !x.out.Started() {
		return err
	}
	name := ""
	if x.req.URL.Path == "/v1/messages" {
		name = "error"
	}
	return x.event(name, errorBody(x.req.URL.Path, e), 0)
}
