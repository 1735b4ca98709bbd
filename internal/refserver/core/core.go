// Package core holds what the protocols of the server share: the models, the settings that clients may change, shared memory,
// and the log of requests. A protocol turns bytes into calls on Core, and results into bytes.
package core

import (
	"runtime/debug"
	"sync/atomic"
	"time"

	"github.com/redline-bench/redline/internal/refserver/departure"
	"github.com/redline-bench/redline/internal/refserver/fault"
	"github.com/redline-bench/redline/internal/refserver/model"
	"github.com/redline-bench/redline/internal/refserver/reqlog"
	"github.com/redline-bench/redline/internal/refserver/shm"
	"github.com/redline-bench/redline/internal/refserver/unpack"
)

// Name is the server's name in its metadata.
const Name = "triton"

// Version is the version of the protocol and its extensions that the server follows.
const Version = "2.51.0"

// Extensions lists what the server can do beyond the base protocol.
func Extensions() []string {
	return []string{
		"classification", "sequence", "model_repository", "model_repository(unload_dependents)", "schedule_policy",
		"model_configuration", "system_shared_memory", "cuda_shared_memory", "binary_tensor_data", "parameters",
		"statistics", "trace", "logging",
	}
}

// Core is one server.
type Core struct {
	Models *model.Repository
	Trace  *TraceSettings
	Logs   *LogSettings
	Shared *shm.Registry
	Log    *reqlog.Log
	// Departures records when responses over HTTP/2 were sent; nil if there is no log.
	Departures *departure.Board
	// MaxInput is the largest JSON, raw body or unpacked body that the HTTP port takes; 0 means no limit.
	MaxInput int64
	// Unpacking limits the decompressed size of all requests to the HTTP port together.
	Unpacking unpack.Budget
	// Faults may make requests fail; nil for a server without faults.
	Faults *fault.Set

	tidying atomic.Bool
}

// large is the size of a request whose memory is returned to the system at once; the runtime alone takes minutes.
const large = 64 << 20

// Tidy returns memory to the system soon after a large request, and once more later, when for example many connections have
// ended too.
func (c *Core) Tidy(size int) {
	if size < large || !c.tidying.CompareAndSwap(false, true) {
		return
	}
	time.AfterFunc(time.Second, func() {
		c.tidying.Store(false)
		debug.FreeOSMemory()
		time.AfterFunc(10*time.Second, debug.FreeOSMemory)
	})
}

// New makes a core around models.
func New(models *model.Repository, log *reqlog.Log) *Core {
	return &Core{Models: models, Trace: newTraceSettings(), Logs: newLogSettings(), Shared: shm.New(), Log: log}
}
