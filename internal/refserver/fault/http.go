package fault

import (
	"bytes"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/redline-bench/redline/internal/refserver/answer"
)

// HTTP puts the faults before a handler.
func (s *Set) HTTP(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		header := r.Header.Get(Header)
		if header == "" && (len(s.models) == 0 || r.Method != http.MethodPost) {
			next.ServeHTTP(w, r)
			return
		}
		spec, err := s.find(modelOf(r.URL.Path), header)
		switch {
		case err != nil:
			http.Error(w, err.Error(), http.StatusBadRequest)
		case spec == nil:
			next.ServeHTTP(w, r)
		default:
			s.serve(w, r, spec, next)
		}
	})
}

// modelOf finds the model in /v2/models/NAME/ and /predictions/NAME; other paths are their own names.
func modelOf(path string) string {
	for _, prefix := range []string{"/v2/models/", "/predictions/"} {
		if rest, ok := strings.CutPrefix(path, prefix); ok {
			name, _, _ := strings.Cut(rest, "/")
			return name
		}
	}
	return path
}

func (s *Set) serve(w http.ResponseWriter, r *http.Request, spec *Spec, next http.Handler) {
	switch spec.Kind {
	case Error:
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusInternalServerError)
		_, _ = w.Write([]byte(`{"error":"` + Text + `"}`)) // the client may be gone
	case Delay:
		if s.clock.For(r.Context(), spec.For) == nil {
			next.ServeHTTP(w, r)
		}
	case Hang:
		<-r.Context().Done()
	case Reset:
		reset(hijack(w))
	case Refuse:
		s.refuses.Store(true)
		next.ServeHTTP(w, r)
	case Die:
		s.die()
	case GoAway:
		w.Header().Set("Connection", "close")
		next.ServeHTTP(w, r)
	case Truncate, Length, Malformed, Slow:
		s.sendSpoiled(w, r, spec, next)
	}
}

// hijack takes over the connection. Over HTTP/2, where requests share a connection, it resets the stream instead.
func hijack(w http.ResponseWriter) net.Conn {
	c, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	return c
}

// sendSpoiled sends the true response with the fault.
func (s *Set) sendSpoiled(w http.ResponseWriter, r *http.Request, spec *Spec, next http.Handler) {
	rec := answer.Record(next, r)
	c := hijack(w)
	defer c.Close()
	body := rec.Body.Bytes()
	length := len(body)
	switch spec.Kind {
	case Malformed:
		body = bytes.Repeat([]byte("{\xff]"), length/3+1)[:max(length, 1)]
		length = len(body)
	case Length:
		length += 64
	case Truncate:
		body = body[:len(body)/2]
	default:
	}
	all := append(rec.AppendHead(nil, length), body...)
	if spec.Kind != Slow {
		_, _ = c.Write(all) // the client may be gone
		return
	}
	due := time.Now()
	for i := range all {
		due = due.Add(spec.For)
		if _, err := c.Write(all[i : i+1]); err != nil || s.clock.Until(r.Context(), due) != nil {
			return
		}
	}
}
