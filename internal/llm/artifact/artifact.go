// Package artifact writes the files of a language-model run: the files of AIPerf, GenAI-Perf, perf_analyzer and vLLM's benchmark,
// with their names and fields, so that their readers accept them; and every event of every request as Parquet.
//
// A Writer writes each sample when it ends, so that memory does not grow with the run. New creates the folder and all files, so that
// errors are found early. Until Close the data is in temporary files beside the final ones; Abort removes them.
//
// One Writer is for one level of one run, like one folder of AIPerf.
package artifact

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/redline-bench/redline/internal/llm"
	"github.com/redline-bench/redline/internal/llm/metric"
	"github.com/redline-bench/redline/internal/pending"
	"github.com/redline-bench/redline/internal/result"
)

// Files is a set of files.
type Files uint16

// The files.
const (
	Summary  Files = 1 << iota // profile_export_aiperf.json
	CSV                        // profile_export_aiperf.csv
	Records                    // profile_export.jsonl
	Inputs                     // inputs.json
	Raw                        // profile_export_raw.jsonl
	Slices                     // profile_export_aiperf_timeslices.json and .csv
	Profile                    // profile_export.json, perf_analyzer's
	GenAI                      // profile_export_genai_perf.json and .csv
	VLLM                       // vllm_bench.json
	Parquet                    // events.parquet and requests.parquet
	Outputs                    // outputs.json
	numFiles = iota
)

// Default are the files that AIPerf writes by default.
const Default = Summary | CSV | Records | Inputs

// All are all files.
const All Files = 1<<numFiles - 1

// Config is what is known about a level before it runs.
type Config struct {
	Dir    string // created if it does not exist
	Prefix string // AIPerf's --profile-export-prefix; empty: the names above
	Files  Files

	Version   string // of Redline
	Model     string
	Tokenizer string
	// ChatTemplate: input tokens are counted with the tokenizer's chat template.
	ChatTemplate bool
	URL          string
	// EndpointType is AIPerf's name (chat, completions, ...), Path the path of the requests.
	EndpointType, Path string
	Streaming          bool
	// Concurrency or Rate is the level; both may be set. Neither: a schedule.
	Concurrency int
	Rate        float64
	// Arrival is AIPerf's name of the arrival pattern: constant, poisson (the default) or gamma.
	Arrival string
	// Requests and Duration are the requested end of the level; 0: not given.
	Requests int
	Duration time.Duration
	// Slice is the length of the slices; Dataset and Format are the file of prompts, if there is one.
	Slice           time.Duration
	Dataset, Format string
	// Open: latencies start at the due time.
	Open bool
	Seed uint64
	// Command is the command line, Run the name of the benchmark in all its files.
	Command, Run string
	// Asked has all given options by their names; it is written to input_config.
	Asked map[string]any
	// Workload is the description of the dataset; it is written to input_config too.
	Workload any
	// Headers are those of the requests for the raw file, without secrets.
	Headers map[string]string
	// Output creates the files.
	Output *pending.Output
}

// Outcome is what is known at the end.
type Outcome struct {
	Metrics []result.Metric
	Errors  []Failure
	// Begin and End are Unix nanoseconds.
	Begin, End int64
	// Canceled: the user stopped the run. Reason says why it is not complete.
	Canceled bool
	Reason   string
	// Windows are the edges of the measurement, for perf_analyzer's file, in Unix nanoseconds.
	Windows []int64
	// Telemetry is telemetry_data of AIPerf's summary; nil omits it.
	Telemetry any
}

// Failure counts requests with equal failures.
type Failure struct {
	Code    int // HTTP or gRPC status; 0 none
	Type    string
	Message string
	Count   uint64
}

// Wants says what a Sample must contain for the files.
type Wants struct{ Payload, Answers, Inputs bool }

// Writer writes the files of one level. It is not safe for concurrent use. A file that cannot be written, for example because the disk
// is full, is removed; the other files are continued and completed. Close reports which files are lost.
type Writer struct {
	cfg    Config
	sinks  []sink
	inputs *inputsFile
	values metric.Values // of the current sample
	lost   []error       // a file each
}

// sink is one file, or two that belong together.
type sink interface {
	// sample adds one request. Values are its numbers, where it succeeded.
	sample(s *llm.Sample, v *metric.Values, ok bool) error
	close(o *Outcome) error
	abort()
}

// New makes the folder and all files of the config.
func New(cfg Config) (*Writer, error) {
	if err := os.MkdirAll(cfg.Dir, 0o777); err != nil {
		return nil, fmt.Errorf("make the folder of artifacts: %w", err)
	}
	w := &Writer{cfg: cfg}
	for _, f := range []struct {
		file Files
		make func(*Config) (sink, error)
	}{
		{Summary, newSummary},
		{CSV, newTable},
		{Records, newRecords},
		{Raw, newRaw},
		{Slices, newSlices},
		{Profile, newProfile},
		{GenAI, newGenAI},
		{VLLM, newVLLM},
		{Parquet, newParquet},
		{Outputs, newOutputs},
	} {
		if cfg.Files&f.file == 0 {
			continue
		}
		s, err := f.make(&w.cfg)
		if err != nil {
			w.Abort()
			return nil, err
		}
		w.sinks = append(w.sinks, s)
	}
	if cfg.Files&Inputs != 0 {
		var err error
		if w.inputs, err = newInputs(&w.cfg); err != nil {
			w.Abort()
			return nil, err
		}
	}
	return w, nil
}

// Wants says what the samples must contain.
func (w *Writer) Wants() Wants {
	f := w.cfg.Files
	return Wants{Payload: f&(Raw|Profile) != 0, Answers: f&(Raw|Profile) != 0, Inputs: f&Inputs != 0}
}

// Input adds a conversation to inputs.json: the bodies of its requests in order.
func (w *Writer) Input(session string, bodies ...json.RawMessage) {
	if w.inputs == nil {
		return
	}
	if err := w.inputs.add(session, bodies); err != nil {
		w.lost = append(w.lost, err)
		w.inputs.out.abort()
		w.inputs = nil
	}
}

// Sample adds one ended request to every file.
func (w *Writer) Sample(s *llm.Sample) {
	var ok bool
	w.values, ok = metric.Of(s, w.cfg.Open)
	for i := 0; i < len(w.sinks); i++ {
		k := w.sinks[i]
		if err := k.sample(s, &w.values, ok); err != nil {
			w.lost = append(w.lost, err)
			k.abort()
			w.sinks = slices.Delete(w.sinks, i, i+1)
			i--
		}
	}
}

// Close completes all files and puts them in place. If a file cannot be completed, the others still are; the error has one line for each
// lost file.
func (w *Writer) Close(o Outcome) error {
	for _, k := range w.sinks {
		if err := k.close(&o); err != nil {
			w.lost = append(w.lost, err)
			k.abort()
		}
	}
	if w.inputs != nil {
		if err := w.inputs.close(); err != nil {
			w.lost = append(w.lost, err)
		}
	}
	w.sinks, w.inputs = nil, nil
	return errors.Join(w.lost...)
}

// Abort removes the temporary files. After Close it does nothing.
func (w *Writer) Abort() {
	for _, k := range w.sinks {
		k.abort()
	}
	if w.inputs != nil {
		w.inputs.out.abort()
	}
	w.sinks, w.inputs = nil, nil
}

// iso formats a time as AIPerf does: local, without a zone.
func iso(ns int64) string { return time.Unix(0, ns).Format("2006-01-02T15:04:05.000000") }
