// Package answer records the response of an HTTP handler, for callers that send it themselves.
package answer

import (
	"bytes"
	"net/http"
	"strconv"
)

// Recorder is an http.ResponseWriter without a connection.
type Recorder struct {
	Status int
	Body   bytes.Buffer
	header http.Header
}

// Record runs the handler and returns its response.
func Record(h http.Handler, r *http.Request) *Recorder {
	rec := &Recorder{Status: http.StatusOK, header: http.Header{}}
	h.ServeHTTP(rec, r)
	return rec
}

// Header implements http.ResponseWriter.
func (r *Recorder) Header() http.Header { return r.header }

// WriteHeader implements http.ResponseWriter.
func (r *Recorder) WriteHeader(status int) { r.Status = status }

// Write implements http.ResponseWriter.
func (r *Recorder) Write(b []byte) (int, error) { return r.Body.Write(b) }

// Flush implements http.Flusher.
func (r *Recorder) Flush() {}

// AppendHead appends the head of the response in HTTP/1.1, which announces a body of so many bytes.
func (r *Recorder) AppendHead(out []byte, length int) []byte {
	r.header.Set("Content-Length", strconv.Itoa(length))
	b := bytes.NewBuffer(out)
	b.WriteString("HTTP/1.1 " + strconv.Itoa(r.Status) + " " + http.StatusText(r.Status) + "\r\n")
	_ = r.header.Write(b) // into memory
	b.WriteString("\r\n")
	return b.Bytes()
}
