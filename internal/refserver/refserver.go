// Package refserver is an inference server in Go: KServe v2 over HTTP and gRPC with Triton's extensions, built-in models, real
// schedulers, and latencies that can be fixed. `redline serve` and --embedded run it, and tests compare measurements with it.
// It shares only tensor and the protocol's types with the load generator, so that a bug in one cannot hide a bug in the other.
//
// The parts, from the outside in: kserve, openai, torchserve, tfserving and metrics serve protocols; model checks requests and
// holds the repository; sched decides when a request runs and in which batch; backend computes; stats counts.
package refserver

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
	"math"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/reflection"

	pb "github.com/redline-bench/redline/internal/proto/kserve"
	"github.com/redline-bench/redline/internal/refserver/conns"
	"github.com/redline-bench/redline/internal/refserver/fault"
	"github.com/redline-bench/redline/internal/refserver/kserve"
	"github.com/redline-bench/redline/internal/refserver/metrics"
	"github.com/redline-bench/redline/internal/refserver/model"
	"github.com/redline-bench/redline/internal/refserver/openai"
	"github.com/redline-bench/redline/internal/refserver/others"
	"github.com/redline-bench/redline/internal/refserver/pause"
	"github.com/redline-bench/redline/internal/refserver/reqlog"
)

// Config sets up a server. The zero value serves the built-in models on free loopback ports.
type Config struct {
	HTTP, GRPC, Metrics, OpenAI, TorchServe, TFServing string // addresses; empty means 127.0.0.1:0, which picks a free port

	TLS   *tls.Config // of every port; nil for none
	Token string      // bearer token that requests to every port must send; empty for none

	Repositories []string // folders of models, besides the built-in ones
	NoBuiltin    bool     // omits the built-in models
	Explicit     bool     // loads only the models in Load, and lets clients load and unload
	Load         []string

	Delays    map[string]time.Duration // a model responds exactly this long after it received a request
	AnyMethod int                      // not 0: the gRPC ports answer every method with so many bytes, in place of their own methods
	Seed      uint64                   // makes scripted randomness repeat
	Pace      pause.Tokens             // of the language models: on the OpenAI port, and of the model tensorrt_llm

	Faults map[string]string // of models by name; see package fault
	Die    func()            // ends the process at once, for the fault of that name

	GPUs       int               // simulated ones, in the metrics
	Trace      map[string]string // initial trace settings, such as trace_file and trace_level
	RequestLog io.Writer         // receives one JSON line for each response

	// Wrap, if not nil, wraps the handlers of HTTP except that of the metrics, and Options are options of the gRPC servers: for tracing.
	Wrap    func(http.Handler) http.Handler
	Options []grpc.ServerOption
}

// Addresses are where a server listens.
type Addresses struct{ HTTP, GRPC, Metrics, OpenAI, TorchServe, TFServing string }

// Server is a running server.
type Server struct {
	addresses Addresses
	clock     *pause.Clock
	models    *model.Repository
	log       *reqlog.Log
	trace     *kserve.TraceSettings
	grpc      []*grpc.Server
	http      []*http.Server
	base      context.Context // ends when the server ends
	stop      func() bool
	once      sync.Once
	err       error
}

// Start starts a server; it runs until Close or until ctx ends.
func Start(ctx context.Context, cfg Config) (*Server, error) {
	s := &Server{clock: pause.New(), base: context.WithoutCancel(ctx)}
	if cfg.RequestLog != nil {
		s.log = reqlog.New(cfg.RequestLog)
	}
	listeners, err := listenAll(ctx, cfg.HTTP, cfg.GRPC, cfg.Metrics, cfg.OpenAI, cfg.TorchServe, cfg.TFServing)
	if err == nil {
		s.models, err = model.Open(model.Options{
			Clock: s.clock, Seed: cfg.Seed, Pace: cfg.Pace,
			Dirs: cfg.Repositories, NoBuiltin: cfg.NoBuiltin, Explicit: cfg.Explicit, Load: cfg.Load, Delays: cfg.Delays,
		})
	}
	if err == nil {
		err = s.serve(cfg, listeners)
	}
	if err != nil {
		for _, l := range listeners {
			_ = l.Close()
		}
		_ = s.end() // nothing has run
		return nil, err
	}
	s.stop = context.AfterFunc(ctx, func() { _ = s.end() })
	return s, nil
}

// serve puts a protocol on each listener.
func (s *Server) serve(cfg Config, l []net.Listener) error {
	at := func(i int) string { return l[i].Addr().String() }
	s.addresses = Addresses{HTTP: at(0), GRPC: at(1), Metrics: at(2), OpenAI: at(3), TorchServe: at(4), TFServing: at(5)}
	trace, err := kserve.NewTraceSettings(cfg.Trace)
	if err != nil {
		return err
	}
	board := conns.New(s.log.On() && cfg.TLS == nil)
	faults, err := fault.New(cfg.Faults, s.clock, board, cfg.Die)
	if err != nil {
		return err
	}
	pace, err := pause.NewPacer(cfg.Pace, cfg.Seed, 2)
	if err != nil {
		return err
	}
	s.trace = trace
	wrap := cfg.Wrap
	if wrap == nil {
		wrap = func(h http.Handler) http.Handler { return h }
	}
	watched := func(i int) net.Listener { return board.Listener(l[i]) }
	k := kserve.New(kserve.Config{Models: s.models, Trace: trace, Log: s.log, Conns: board, Faults: faults})
	llm, err := openai.New(openai.Config{Pace: pace, Clock: s.clock, Log: s.log, Conns: board})
	if err != nil {
		return err
	}
	more := others.Config{Models: s.models, Log: s.log, Faults: faults, Clock: s.clock, Delay: cfg.Delays["torchserve"]}
	s.serveHTTP(watched(0), wrap(guard(cfg.Token, faults.HTTP(k.HTTP()))), cfg.TLS)
	s.serveGRPC(watched(1), cfg, func(g *grpc.Server) { pb.RegisterGRPCInferenceServiceServer(g, k) })
	s.serveHTTP(l[2], guard(cfg.Token, metrics.Handler(s.models, cfg.GPUs)), cfg.TLS)
	s.serveHTTP(watched(3), wrap(guard(cfg.Token, faults.HTTP(llm))), cfg.TLS)
	s.serveHTTP(watched(4), wrap(guard(cfg.Token, faults.HTTP(more.TorchServe()))), cfg.TLS)
	s.serveGRPC(watched(5), cfg, more.TensorFlow)
	return nil
}

func listenAll(ctx context.Context, addresses ...string) (list []net.Listener, err error) {
	for _, a := range addresses {
		l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", cmp.Or(a, "127.0.0.1:0"))
		if err != nil {
			return list, fmt.Errorf("%w; port 0 picks a free one", err)
		}
		list = append(list, l)
	}
	return list, nil
}

func (s *Server) serveHTTP(l net.Listener, h http.Handler, secure *tls.Config) {
	server := &http.Server{Handler: h, ReadHeaderTimeout: time.Minute, ErrorLog: log.New(io.Discard, "", 0), Protocols: &http.Protocols{}}
	server.Protocols.SetHTTP1(true)
	server.Protocols.SetUnencryptedHTTP2(true)
	if secure != nil {
		server.Protocols.SetHTTP2(true)
		secure = secure.Clone()
		secure.NextProtos = []string{"h2", "http/1.1"}
		l = tls.NewListener(l, secure)
	}
	s.http = append(s.http, server)
	go func() { _ = server.Serve(l) }() // ends with Close
}

func (s *Server) serveGRPC(l net.Listener, cfg Config, register func(*grpc.Server)) {
	opts := []grpc.ServerOption{
		grpc.MaxRecvMsgSize(math.MaxInt32), grpc.MaxSendMsgSize(math.MaxInt32),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: time.Millisecond, PermitWithoutStream: true}),
		grpc.WaitForHandlers(true),
	}
	if cfg.TLS != nil {
		opts = append(opts, grpc.Creds(credentials.NewTLS(cfg.TLS)))
	}
	if cfg.AnyMethod > 0 {
		stand := &anyMethod{response: make([]byte, cfg.AnyMethod), delay: cfg.Delays[model.AnyMethod], clock: s.clock, log: s.log}
		opts = append(opts, stand.options()...)
	}
	server := grpc.NewServer(slices.Concat(opts, guardGRPC(cfg.Token), cfg.Options)...)
	s.grpc = append(s.grpc, server)
	if cfg.AnyMethod == 0 {
		register(server)
		state := health.NewServer()
		for name := range server.GetServiceInfo() {
			state.SetServingStatus(name, healthpb.HealthCheckResponse_SERVING)
		}
		healthpb.RegisterHealthServer(server, state)
		reflection.Register(server)
	}
	go func() { _ = server.Serve(l) }() // ends with Close
}

// Addresses returns the addresses on which the server listens.
func (s *Server) Addresses() Addresses { return s.addresses }

// Close ends requests in progress at once, and ends the server. It may be called more than once.
func (s *Server) Close() error {
	s.stop()
	return s.end()
}

func (s *Server) end() error {
	s.once.Do(func() {
		if s.models != nil {
			s.models.Close()
		}
		for _, h := range s.http {
			// A client that does not read its response for a second loses it.
			cut := time.AfterFunc(time.Second, func() { _ = h.Close() })
			_ = h.Shutdown(s.base)
			cut.Stop()
		}
		for _, g := range s.grpc {
			g.Stop()
		}
		s.clock.Close()
		s.err = s.log.Close()
		if s.trace != nil {
			s.err = errors.Join(s.err, s.trace.Close())
		}
	})
	return s.err
}
