//go:build native && cgo && linux

package tritoncapi

/*
#cgo CFLAGS: -O2 -std=gnu11 -D_GNU_SOURCE -Wall -Wextra
#cgo LDFLAGS: -ldl
#include <stdlib.h>
#include "shim.h"
*/
import "C"

import (
	"errors"
	"path/filepath"
	"slices"
	"time"
	"unsafe"

	"github.com/redline-bench/redline/internal/service"
)

// crashLine is the last line of a process in which the library crashed.
const crashLine = "redline: Triton crashed inside of this process (triton_c_api): the run is lost; a model or backend is the likely cause\n"

// library is libtritonserver.so, loaded. It stays loaded.
type library struct{ api *C.rl_api }

func load(path string) (*library, error) {
	if dir := bundle(path); dir != "" {
		preload(dir, path)
		with(dir, func(c *C.char) { C.rl_search_path(c) })
	}
	with(crashLine, func(c *C.char) { C.rl_catch_crashes(c) })
	var r C.rl_result
	with(path, func(c *C.char) { r = C.rl_open(c) })
	return &library{(*C.rl_api)(r.value)}, failure(r.error)
}

// preload loads the libraries beside path, each after those that it needs: their order is not known, so those
// that fail are tried again until none is left that works.
func preload(dir, path string) {
	left, _ := filepath.Glob(filepath.Join(dir, "lib*.so*")) // the pattern is well formed
	for tried := 0; len(left) != tried; {
		tried = len(left)
		left = slices.DeleteFunc(left, func(p string) (loaded bool) {
			if p == path {
				return true
			}
			with(p, func(c *C.char) { loaded = C.rl_preload(c) != 0 })
			return loaded
		})
	}
}

// with lends a Go string to C.
func with(s string, f func(*C.char)) {
	c := C.CString(s)
	defer C.free(unsafe.Pointer(c))
	f(c)
}

// failure takes over a text of the shim; nil stays nil.
func failure(text *C.char) error {
	if text == nil {
		return nil
	}
	defer C.free(unsafe.Pointer(text))
	return errors.New(service.Said(C.GoString(text)))
}

// told is a failure of Triton's, where it has a code of Triton's.
func told(what service.Sentence, code *C.char, text string) error {
	if code == nil {
		return errors.New(text)
	}
	return &LibraryError{What: what, Code: C.GoString(code), Text: text}
}

// options are what a server is started with; the rest is fixed in server.c.
type options struct {
	dir, repository, prefix string
	strict                  bool // one model that does not load is too many
}

// server is Triton, running.
type server struct{ s *C.rl_server }

// start returns when all models that can be loaded are.
func (l *library) start(o options) (*server, error) {
	var texts []*C.char
	text := func(s string) *C.char {
		c := C.CString(s)
		texts = append(texts, c)
		return c
	}
	want := C.rl_options{
		repository: text(o.repository), backends: text(filepath.Join(o.dir, "backends")),
		agents: text(filepath.Join(o.dir, "repoagents")), caches: text(filepath.Join(o.dir, "caches")),
		shm_prefix: text(o.prefix), exit_timeout: C.uint(exitWait / time.Second),
	}
	if o.strict {
		want.strict = 1
	}
	r := C.rl_server_new(l.api, want)
	for _, c := range texts {
		C.free(unsafe.Pointer(c))
	}
	if err := failure(r.error); err != nil {
		return nil, told(service.ServerNotStarted, r.code, err.Error())
	}
	return &server{(*C.rl_server)(r.value)}, nil
}

func (s *server) ready() (bool, error) {
	var is C.int
	err := failure(C.rl_server_ready(s.s, &is))
	return is != 0, err
}

func (s *server) modelReady(model string, version int64) (bool, error) {
	var is C.int
	var err error
	with(model, func(c *C.char) { err = failure(C.rl_model_ready(s.s, c, C.int64_t(version), &is)) })
	return is != 0, err
}

// question is a document that the server can give.
type question C.int

const (
	serverMetadata question = C.RL_SERVER_METADATA
	modelMetadata  question = C.RL_METADATA
	modelConfig    question = C.RL_CONFIG
	modelStats     question = C.RL_STATISTICS
	modelIndex     question = C.RL_INDEX
)

// ask returns a document in JSON. An empty model means all of them, where the question allows it.
func (s *server) ask(q question, model string, version int64) ([]byte, error) {
	var r C.rl_result
	with(model, func(c *C.char) { r = C.rl_ask(s.s, C.int(q), c, C.int64_t(version)) })
	defer C.free(r.value)
	return C.GoBytes(r.value, C.int(r.size)), failure(r.error)
}

func (s *server) exitTimeout(d time.Duration) { C.rl_exit_timeout(s.s, C.uint(d/time.Second)) }

// stop ends the server. One that could not stop in its time is not deleted: that might never return.
func (s *server) stop() error {
	if err := failure(C.rl_server_stop(s.s)); err != nil {
		return err
	}
	return failure(C.rl_server_delete(s.s))
}

// gpu is the memory of a GPU; nil means that tensors are in the main memory.
type gpu struct{ c *C.rl_cuda }

// openGPU loads the CUDA runtime: the one that came with the library, or the system's.
func openGPU(library string) (*gpu, error) {
	bundled := ""
	if dir := bundle(library); dir != "" {
		if found, _ := filepath.Glob(filepath.Join(dir, "libcudart*.so*")); len(found) > 0 { // the pattern is well formed
			bundled = found[0]
		}
	}
	var r C.rl_result
	with(bundled, func(c *C.char) { r = C.rl_cuda_open(c) })
	return &gpu{(*C.rl_cuda)(r.value)}, failure(r.error)
}

func (g *gpu) handle() *C.rl_cuda {
	if g == nil {
		return nil
	}
	return g.c
}

// put copies data to the GPU, where it stays until the process ends.
func (g *gpu) put(data []byte) (unsafe.Pointer, error) {
	r := C.rl_cuda_put(g.c, unsafe.Pointer(unsafe.SliceData(data)), C.size_t(len(data)))
	return r.value, failure(r.error)
}
