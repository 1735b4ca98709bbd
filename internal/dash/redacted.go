package dash

import (
	"net/http"

	"github.com/redline-bench/redline/internal/secret"
)

// redacted replaces secrets in the body of every response.
func redacted(secrets *secret.Set, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body := secrets.Writer(w)
		next.ServeHTTP(&response{w, body}, r)
		_ = body.Flush() // an error means that the browser has gone
	})
}

// response writes the body of a response through another writer.
type response struct {
	http.ResponseWriter
	body *secret.Writer
}

// public is the writer below, for a body in which the secrets are replaced already.
func public(w http.ResponseWriter) http.ResponseWriter {
	if r, ok := w.(*response); ok {
		return r.ResponseWriter
	}
	return w
}

// Write implements io.Writer.
func (r *response) Write(b []byte) (int, error) { return r.body.Write(b) }
