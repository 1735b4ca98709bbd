package served

import (
	"bufio"
	"net"
	"net/http"
	"strconv"

	"github.com/redline-bench/redline/internal/telemetry"
)

// HTTP gives the spans of a handler's requests to the sink.
func (s Sink) HTTP(next http.Handler) http.Handler {
	if s == nil {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if span, ok := s.begin(r.Header.Get("Traceparent")); ok {
			s.serve(w, r, span, next)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// serve serves a traced request.
func (s Sink) serve(w http.ResponseWriter, r *http.Request, span request, next http.Handler) {
	span.Name, span.Version = r.Method+" "+r.URL.Path, "2"
	if r.ProtoMajor == 1 {
		span.Version = "1." + strconv.Itoa(r.ProtoMinor)
	}
	answer := &response{ResponseWriter: w, span: &span}
	ended := false
	defer func() { // also if the handler panics, as it does to end a connection within a response
		span.finish()
		if span.Status == 0 && ended && !answer.taken && r.Context().Err() == nil {
			span.Status = http.StatusOK // net/http sends an empty response
		}
		span.Failed = span.Status == 0 || span.Status >= http.StatusBadRequest || !ended
		s(telemetry.Served(span))
	}()
	next.ServeHTTP(answer, r)
	ended = true
}

// response notes when the parts of a response are written.
type response struct {
	http.ResponseWriter
	span  *request
	taken bool // the connection was taken over
}

// WriteHeader implements http.ResponseWriter.
func (w *response) WriteHeader(status int) {
	if w.span.Status == 0 && status >= http.StatusOK {
		w.span.Status = status
		w.span.respond()
	}
	w.ResponseWriter.WriteHeader(status)
}

// Write implements http.ResponseWriter.
func (w *response) Write(b []byte) (int, error) {
	if w.span.Status == 0 {
		w.span.Status = http.StatusOK
	}
	w.span.respond()
	return w.ResponseWriter.Write(b)
}

// Hijack implements http.Hijacker. What is written to the connection is not in the span.
func (w *response) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	w.taken = true
	return http.NewResponseController(w.ResponseWriter).Hijack()
}

// Unwrap gives http.ResponseController the writer of the server.
func (w *response) Unwrap() http.ResponseWriter { return w.ResponseWriter }
