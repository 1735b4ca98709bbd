// Package tritoncapi runs Triton inside of this process, through its C API, and loads a model there: no
// network, no second process, nothing between the client and the scheduler.
//
// The library, libtritonserver.so, is loaded when a Service is made, so no build depends on Triton. All the
// same it takes C: Triton answers on threads of its own, and a call from such a thread into Go costs several
// microseconds, more than all else a request needs from a client. A small shim (shim.h) therefore takes the
// time of each answer in C, and queues it; a goroutine per lane fetches what has gathered. That is why this
// kind lives in redline-native, built with the tag native and with cgo. Elsewhere New returns ErrNotNative.
//
// Reading order: shim.h says what crosses the border; server.c loads the library, tells its crashes from our
// own and starts the server; infer.c is the hot path; transport.go turns its events into ends of calls.
package tritoncapi

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/redline-bench/redline/internal/record"
	"github.com/redline-bench/redline/internal/service"
)

// OpCreate is the operation of errors from before the server ran: the library or a folder is missing, or Triton
// refused to start.
const OpCreate = "start"

// ErrNotNative means that this program cannot load Triton.
var ErrNotNative = errors.New("service kind triton_c_api needs redline-native: build it with `make build`, or start it instead of redline")

// LibraryError is a failure of the library.
type LibraryError struct {
	What       service.Sentence
	Code, Text string // Triton's words
}

func (f *LibraryError) Error() string { return string(f.What) + ": " + f.Code + " - " + f.Text }

// libraryName is where Triton keeps its library below the server's folder.
const libraryName = "lib/libtritonserver.so"

// locate finds the library and checks the folders. Symbolic links
// are followed, since the library looks for others beside itself.
func locate(dir, repository string) (library string, err error) {
	for _, path := range []string{dir, filepath.Join(dir, libraryName), repository} {
		if _, err := os.Stat(path); err != nil {
			return "", &service.Error{Op: OpCreate, Class: record.Server, Err: &service.SentenceError{Sentence: service.NoSuchPath, Args: []any{path}, Err: err}}
		}
	}
	library, err = filepath.EvalSymlinks(filepath.Join(dir, libraryName))
	if err != nil {
		return "", &service.Error{Op: OpCreate, Class: record.Server, Err: err}
	}
	return library, nil
}

// shmDir is where the Python backend's shared memory shows as files, procDir where processes do.
const (
	shmDir  = "/dev/shm"
	procDir = "/proc"
)

// prefix starts the names of the shared memory of the Python backend in the process pid, so that two runs
// never meet and what a crash left behind can be told from what is in use.
func prefix(pid int) string { return fmt.Sprintf("redline_capi_%d_", pid) }

// Sweep ends the helpers (stubs) of the Python backend that the process pid of ours started, and removes their
// shared memory. It is for a process that crashed, or is about to end without Triton's help; Triton itself leaves
// nothing behind.
func Sweep(pid int) {
	procs, _ := filepath.Glob(filepath.Join(procDir, "[0-9]*", "cmdline")) // the pattern is well formed
	for _, path := range procs {
		line, err := os.ReadFile(path)
		n, bad := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		if err != nil || bad != nil || n == os.Getpid() || !bytes.Contains(line, []byte("\x00"+prefix(pid))) {
			continue
		}
		if p, err := os.FindProcess(n); err == nil {
			_ = p.Kill() // gone already
		}
	}
	sweep(shmDir, pid)
}

func sweep(dir string, pid int) {
	left, _ := filepath.Glob(filepath.Join(dir, prefix(pid)+"*")) // the pattern is well formed
	for _, path := range left {
		_ = os.Remove(path) // gone already, or not ours to remove
	}
}

// deadChild finds a child of the process pid that has ended and whose status was not read. The status
// is the exit code that a shell reports.
func deadChild(pid int) (name string, status int, found bool) {
	procs, _ := filepath.Glob(filepath.Join(procDir, "[0-9]*", "stat")) // the pattern is well formed
	for _, path := range procs {
		text, err := os.ReadFile(path)
		open, end := bytes.IndexByte(text, '('), bytes.LastIndexByte(text, ')')
		if err != nil || open < 0 || end < open {
			continue
		}
		rest := strings.Fields(string(text[end+1:])) // from the third field, the state, on
		if len(rest) < 50 || rest[0] != "Z" || rest[1] != strconv.Itoa(pid) {
			continue
		}
		code, _ := strconv.Atoi(rest[49]) // 0 where the system does not tell
		if status = code >> 8; code&0x7f != 0 {
			status = 128 + code&0x7f
		}
		return string(text[open+1 : end]), status, true
	}
	return "", 0, false
}
