package fault

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/redline-bench/redline/internal/refserver/conns"
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
	case "error":
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusInternalServerError)
		_, _ = w.Write([]byte(`{"error":"` + Text + `"}`)) // the client may be gone
	case "delay":
		if s.clock.For(r.Context(), spec.For) == nil {
			next.ServeHTTP(w, r)
		}
	case "hang":
		<-r.Context().Done()
	case "reset":
		conns.Reset(hijack(w))
	case "refuse":
		s.board.Refuse()
		next.ServeHTTP(w, r)
	case "die":
		s.die()
	case "goaway":
		w.Header().Set("Connection", "close")
		next.ServeHTTP(w, r)
	case "truncate", "length", "malformed", "slow":
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

// recorder keeps a response.
type recorder struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (r *recorder) Header() http.Header         { return r.header }
func (r *recorder) WriteHeader(status int)      { r.status = status }
func (r *recorder) Write(b []byte) (int, error) { return r.body.Write(b) }
func (r *recorder) Flush()                      {}

// sendSpoiled sends the true response with the fault.
func (s *Set) sendSpoiled(w http.ResponseWriter, r *http.Request, spec *Spec, next http.Handler) {
	rec := &recorder{header: http.Header{}, status: http.StatusOK}
	next.ServeHTTP(rec, r)
	c := hijack(w)
	defer c.Close()
	body, length := rec.body.Bytes(), rec.body.Len()
	switch spec.Kind {
	case "malformed":
		body = bytes.Repeat([]byte("{\xff]"), length/3+1)[:max(length, 1)]
		length = len(body)
	case "length":
		length += 64
	case "truncate":
		body = body[:len(body)/2]
	}
	var all bytes.Buffer
	_ = (&http.Response{ // complains of a body that is too short
		StatusCode: rec.status, ProtoMajor: 1, ProtoMinor: 1, Header: rec.header, ContentLength: int64(length), Body: io.NopCloser(bytes.NewReader(body)),
	}).Write(&all)
	step := all.Len()
	if spec.Kind == "slow" {
		step = 1
	}
	for due := time.Now(); all.Len() > 0; due = due.Add(spec.For) {
		if _, err := c.Write(all.Next(step)); err != nil || step == 1 && s.clock.Until(r.Context(), due) != nil {
			return // the client has gone
		}
	}
}

// goAway is the HTTP/2 frame GOAWAY: streams in progress may end, new ones need another connection.
var goAway = []byte{0, 0, 8, 7, 0, 0, 0, 0, 0, 0x7f, 0xff, 0xff, 0xff, 0, 0, 0, 0}

// garbage is a field that announces more bytes than follow: it is not valid protobuf.
var garbage = []byte{0x0a, 0xff}

// RPC applies the fault of a gRPC call before it is served. An error ends the call; spoil is to be applied to the response.
func (s *Set) RPC(ctx context.Context, model string) (spoil func(proto.Message), err error) {
	spoil = func(proto.Message) {}
	if s == nil {
		return spoil, nil
	}
	header := append(metadata.ValueFromIncomingContext(ctx, strings.ToLower(Header)), "")[0]
	spec, err := s.find(model, header)
	switch {
	case err != nil:
		return spoil, status.Error(codes.InvalidArgument, err.Error())
	case spec == nil:
		return spoil, nil
	}
	var c net.Conn
	if p, ok := peer.FromContext(ctx); ok {
		c = s.board.Conn(p.Addr.String())
	}
	switch spec.Kind {
	case "error":
		return spoil, status.Error(codes.Internal, Text)
	case "delay", "slow":
		return spoil, s.clock.For(ctx, spec.For)
	case "hang":
		<-ctx.Done()
		return spoil, ctx.Err()
	case "malformed", "length":
		return func(m proto.Message) { m.ProtoReflect().SetUnknown(garbage) }, nil
	case "reset", "truncate":
		if c != nil {
			conns.Reset(c)
		}
		return spoil, status.Error(codes.Unavailable, Text)
	case "goaway":
		if c != nil {
			_, _ = c.Write(goAway) // whole frames: the other writer sends whole frames too
		}
	case "refuse":
		s.board.Refuse()
	case "die":
		s.die()
	}
	return spoil, nil
}
