// Package kserve serves the KServe v2 protocol with Triton's extensions, over gRPC and HTTP.
//
// There is one layer for both. A request over HTTP becomes the message that it would be over gRPC (body.go, generate.go), runs through
// the same code (request.go, answer.go), and the message of its response is written as JSON and raw tensors (http.go). Management
// requests over HTTP call the methods of the gRPC service (admin.go, rest.go). Status codes are Triton's.
package kserve

import (
	"compress/zlib"
	"context"
	"io"
	"runtime/debug"
	"sync/atomic"
	"time"

	"google.golang.org/grpc/encoding"
	_ "google.golang.org/grpc/encoding/gzip" // so that clients may compress

	pb "github.com/redline-bench/redline/internal/proto/kserve"
	"github.com/redline-bench/redline/internal/refserver/conns"
	"github.com/redline-bench/redline/internal/refserver/fault"
	"github.com/redline-bench/redline/internal/refserver/infer"
	"github.com/redline-bench/redline/internal/refserver/model"
	"github.com/redline-bench/redline/internal/refserver/reqlog"
	"github.com/redline-bench/redline/internal/refserver/shm"
)

// Config is what a server is made of. The fields from Log on may be nil.
type Config struct {
	Models *model.Repository
	Trace  *TraceSettings
	Log    *reqlog.Log
	// Conns records when responses over HTTP/2 were sent.
	Conns  *conns.Board
	Faults *fault.Set
}

// Server answers both protocols. It is the gRPC service; HTTP returns its handler.
type Server struct {
	pb.UnimplementedGRPCInferenceServiceServer
	Config
	shared  *shm.Registry
	tidying atomic.Bool
}

// New makes a server.
func New(cfg Config) *Server {
	return &Server{Config: cfg, shared: shm.New()}
}

func bad(format string, args ...any) error { return infer.Errorf(infer.InvalidArg, format, args...) }

// single finds a model that sends one response.
func (s *Server) single(name, version string) (*model.Model, error) {
	m, err := s.Models.Get(name, version)
	if err == nil && m.Decoupled() {
		err = infer.Errorf(infer.Unsupported, "model '%s' sends any number of responses (decoupled): use a gRPC stream or generate_stream", name)
	}
	return m, err
}

// answerOnce runs a request with one response. Its trace begins with marks of this name; the caller ends it if there is no error.
func (s *Server) answerOnce(ctx context.Context, m *model.Model, in *pb.ModelInferRequest, mark string, began, received time.Time) (*infer.Request, *pb.ModelInferResponse, error) {
	r, err := s.request(ctx, in, received)
	if err != nil {
		return nil, nil, err
	}
	s.trace(r, mark, began)
	var out *pb.ModelInferResponse
	resp, err := m.Run(r)
	if err == nil {
		out, err = s.answer(m, r, resp)
	}
	if err != nil {
		r.Trace.End()
	}
	return r, out, err
}

// trace begins the trace of a request, if the settings select it.
func (s *Server) trace(r *infer.Request, mark string, began time.Time) {
	r.Trace = s.Trace.Sample()
	r.Trace.Mark(mark+"_START", began)
	r.Trace.Mark(mark+"_END", r.Received)
}

// large is the size of a request whose memory is returned to the system at once; the runtime alone takes minutes.
const large = 64 << 20

// tidy returns memory to the system soon after a large request, and once more later, when for example many connections have
// ended too.
func (s *Server) tidy(size int) {
	if size < large || !s.tidying.CompareAndSwap(false, true) {
		return
	}
	time.AfterFunc(time.Second, func() {
		s.tidying.Store(false)
		debug.FreeOSMemory()
		time.AfterFunc(10*time.Second, debug.FreeOSMemory)
	})
}

// init registers the compression that Triton's clients call deflate. grpc allows this only before any call.
func init() { encoding.RegisterCompressor(deflate{}) }

type deflate struct{}

func (deflate) Name() string { return "deflate" }

func (deflate) Compress(w io.Writer) (io.WriteCloser, error) { return zlib.NewWriter(w), nil }

func (deflate) Decompress(r io.Reader) (io.Reader, error) { return zlib.NewReader(r) }
