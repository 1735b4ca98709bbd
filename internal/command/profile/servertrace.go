package profile

import (
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/redline-bench/redline/internal/clock"
	"github.com/redline-bench/redline/internal/measure"
	"github.com/redline-bench/redline/internal/profile"
	"github.com/redline-bench/redline/internal/record"
	"github.com/redline-bench/redline/internal/result"
	"github.com/redline-bench/redline/internal/servertrace"
)

// serverTraces keeps the slowest requests of each level for --trace-file; nil keeps none.
type serverTraces struct {
	levels map[string]*servertrace.Slowest // by the name of the level
}

// tap shows records to the traces and to another tap, which may be nil.
func (t *serverTraces) tap(next profile.Tap) profile.Tap {
	if t == nil {
		return next
	}
	var of *result.Level
	var to *servertrace.Slowest
	return func(lv *result.Level, window int, r *record.Record) error {
		if of != lv {
			name := measure.LevelName(lv)
			if t.levels[name] == nil {
				t.levels[name] = &servertrace.Slowest{}
			}
			of, to = lv, t.levels[name]
		}
		to.Add(r, clock.Wall)
		if next == nil {
			return nil
		}
		return next(lv, window, r)
	}
}

// readTraces reads the server's trace file and adds the slowest requests to each level. The connections are closed first: the server
// writes the file when it gets its trace settings back.
func (s *session) readTraces(res *result.Result) {
	if s.traces == nil {
		return
	}
	s.Disconnect()
	traces, err := readTraceFiles(s.Plan.Target.Trace.File, res.StartUnixNs)
	if err != nil {
		fmt.Fprintf(s.Stderr, "warning: --trace-file: %v\n", err)
		return
	}
	for i := range res.Levels {
		lv := &res.Levels[i]
		if kept := s.traces.levels[measure.LevelName(lv)]; kept != nil {
			lv.ServerTraces = servertrace.Join(kept, traces, clock.UnixMinusMonotonic())
		}
	}
}

// fileClock is how far the times of files may be behind: the kernel takes them from a clock that moves a hundred times a second or more.
const fileClock = 10 * time.Millisecond

// readTraceFiles reads a file, and those with numbers that the server writes with --log-frequency, if they are of this run.
func readTraceFiles(file string, since int64) ([]*servertrace.Trace, error) {
	numbered, err := filepath.Glob(file + ".[0-9]*")
	if err != nil {
		return nil, err
	}
	var all []*servertrace.Trace
	read := 0
	for _, path := range append([]string{file}, numbered...) {
		about, err := os.Stat(path)
		if err != nil || about.ModTime().UnixNano() < since-int64(fileClock) {
			continue
		}
		traces, err := readTraceFile(path)
		if err != nil {
			return nil, err
		}
		read++
		all = append(all, traces...)
	}
	if read == 0 {
		return nil, fmt.Errorf("the server wrote no traces to %s during the run: start it with --trace-config triton,file=FILE, and add --trace-level TIMESTAMPS and --trace-rate 1", file)
	}
	return all, nil
}

func readTraceFile(path string) ([]*servertrace.Trace, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	traces, err := servertrace.Parse(f)
	if err != nil {
		return nil, fmt.Errorf("%s %w", path, err)
	}
	return traces, nil
}
