//go:build native && cgo && linux

package tritoncapi

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/record"
	"github.com/redline-bench/redline/internal/service"
	"github.com/redline-bench/redline/internal/service/kserve"
)

var (
	_ service.Service     = (*Service)(nil)
	_ service.StatsReader = (*Service)(nil)
	_ kserve.Source       = (*Service)(nil)
)

// Service is Triton in this process, and one model of its repository.
type Service struct {
	target plan.Target
	lib    *library
	gpu    *gpu           // where tensors are; nil: in the main memory
	model  *service.Model // as described; nil before that

	mu       sync.Mutex
	server   *server
	starting chan struct{} // closed when the start has ended; nil before it began
	startErr error
	requests []*request
	checks   bool // some answers are compared with expected ones
	opened   []*transport
	regions  regions
}

// New loads the library. The server starts with the first Describe.
func New(t plan.Target, in plan.Input) (service.Service, error) {
	path, err := locate(t.ServerDirectory, t.ModelRepository)
	if err != nil {
		return nil, err
	}
	lib, err := load(path)
	if err != nil {
		return nil, &service.Error{Op: OpCreate, Class: record.Server, Text: err.Error()}
	}
	s := &Service{target: t, lib: lib}
	if in.SharedMemory == plan.SystemSharedMemory || in.SharedMemory == plan.CUDASharedMemory {
		s.regions = regions{on: true, size: uint64(max(in.OutputRegionSize, 0)) * uint64(max(in.Batch, 1))}
	}
	// Tensors are in this process in any case, so shared memory of the system's changes nothing here but how large the
	// outputs may be.
	if in.SharedMemory == plan.CUDASharedMemory {
		if s.gpu, err = openGPU(path); err != nil {
			return nil, &service.Error{Op: OpCreate, Class: record.Server, Text: err.Error()}
		}
	}
	return s, nil
}

// Describe starts the server and asks it for the model.
func (s *Service) Describe(ctx context.Context) (*service.Model, error) {
	if err := s.start(ctx); err != nil {
		return nil, err
	}
	if err := s.loaded(); err != nil {
		return nil, err
	}
	m, err := kserve.Describe(ctx, s, s.target)
	if err != nil {
		return nil, err
	}
	s.model = m
	if s.regions.on {
		s.regions.of(m)
	}
	return m, nil
}

// start runs the server, once. Models load meanwhile, which may take long; ctx ends the wait but not the start.
func (s *Service) start(ctx context.Context) error {
	s.mu.Lock()
	if s.starting == nil {
		s.starting = make(chan struct{})
		go func() {
			defer close(s.starting)
			s.server, s.startErr = s.lib.start(options{
				repository: s.target.ModelRepository, dir: s.target.ServerDirectory, prefix: prefix(os.Getpid()), strict: s.target.StrictRepository,
			})
		}()
	}
	s.mu.Unlock()
	if err := s.awaitStart(ctx); err != nil {
		return err
	}
	if s.startErr != nil {
		return &service.Error{Op: OpCreate, Class: record.Server, Text: s.startErr.Error(), Err: s.startErr}
	}
	return nil
}

// stubWait is how long a helper of the Python backend may have been dead while Triton still waits for it. Triton
// never finds out by itself.
const stubWait = 3 * time.Second

// awaitStart waits for the start to end.
func (s *Service) awaitStart(ctx context.Context) error {
	look := time.NewTicker(stubWait / 10)
	defer look.Stop()
	for dead := 0; ; {
		select {
		case <-s.starting:
			return nil
		case <-ctx.Done():
			return &service.Error{Op: OpCreate, Class: record.Canceled, Text: "stopped while Triton was loading its models", Err: ctx.Err()}
		case <-look.C:
		}
		name, status, found := deadChild(os.Getpid())
		if !found {
			dead = 0
			continue
		}
		if dead++; dead == 10 {
			return &service.Error{Op: OpCreate, Class: record.Server, Text: fmt.Sprintf(
				"%s, which Triton started to run a model, ended with status %d: is all that it needs (libpython) on LD_LIBRARY_PATH?", name, status)}
		}
	}
}

// loaded checks that the model under test can be used, and finds out why where it cannot.
func (s *Service) loaded() error {
	ready, err := s.server.ready()
	if _, bad := strconv.ParseInt(s.target.Version, 10, 64); bad != nil && s.target.Version != "" {
		ready = false
	}
	if err == nil && ready {
		ready, err = s.server.modelReady(s.target.Model, s.version(s.target.Model, s.target.Version))
	}
	if err == nil && ready {
		return nil
	}
	if why := s.reason(s.target.Model); why != "" {
		err = errors.New(why)
	}
	return &service.Error{Op: kserve.OpMetadata, Class: record.Server, Err: &service.SentenceError{Sentence: service.NotLoaded, Err: err}}
}

// Open makes a transport without slots.
func (s *Service) Open(_ context.Context, sink service.Sink) (service.Transport, error) {
	if s.server == nil || s.model == nil {
		return nil, &service.Error{Op: OpCreate, Class: record.Server, Text: "the server has not been started"}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	t, err := s.newTransport(sink)
	if err != nil {
		return nil, err
	}
	s.opened = append(s.opened, t)
	return t, nil
}

// The bounds of Close, in order: for a start that is still under way, for the server with nothing in flight, for
// one with abandoned requests in flight, and for what Triton needs beyond its own timeout.
const (
	startWait = 2 * time.Second
	exitWait  = 30 * time.Second
	stuckWait = 2 * time.Second
	graceWait = 5 * time.Second
)

// Close stops the server. It does not wait for ever: a model that hangs, or a library that does not return, is
// left to the end of the process.
func (s *Service) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.starting == nil {
		return nil
	}
	select {
	case <-s.starting:
	case <-time.After(startWait):
		Sweep(os.Getpid())
		return errors.New("triton was still loading its models and is left as it is")
	}
	if s.server == nil {
		return nil
	}
	srv, wait := s.server, exitWait
	s.server = nil
	if slices.ContainsFunc(s.opened, (*transport).stuck) {
		wait = stuckWait
		srv.exitTimeout(wait)
	}
	done := make(chan error, 1)
	go func() { done <- srv.stop() }()
	select {
	case err := <-done:
		if err != nil {
			Sweep(os.Getpid())
			return fmt.Errorf("stop triton: %w", err)
		}
	case <-time.After(wait + graceWait):
		Sweep(os.Getpid())
		return fmt.Errorf("triton did not stop within %s and is left as it is", wait+graceWait)
	}
	for _, r := range s.requests {
		r.free()
	}
	s.requests = nil
	return nil
}

// bundle is the folder of libraries that a Python wheel brings along; empty where the library is not in one.
// What is in it is found by name only where it is loaded already.
func bundle(path string) string {
	if dir := filepath.Dir(path); strings.HasSuffix(dir, ".libs") {
		return dir
	}
	return ""
}
