// Package artifact writes the files of a language-model run: those that AIPerf, GenAI-Perf, perf_analyzer and vLLM's
// bench write, under their names and with their fields, so that the tools that read those read these; and every
// event of every request as Parquet.
//
// A Writer takes each sample as it ends and writes it at once, so a run of a million requests takes as much memory
// as one of a hundred. Whatever can be known early is: the folder and all files are made by New. Until Close the
// data lies in temporary files beside the final ones; Abort leaves nothing behind.
//
// One Writer is one level of one run, as one folder is for AIPerf.
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

// Default are the files that AIPerf writes unless told otherwise.
const Default = Summary | CSV | Records | Inputs

// All are all files.
const All Files = 1<<numFiles - 1

// Config is what is known of a level before it runs.
type Config struct {
	Dir    string // made where it is missing
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
	// Arrival is AIPerf's name of how a rate is kept: constant, poisson (the default) or gamma.
	Arrival string
	// Requests and Duration are what was requested to end the level; 0: not asked.
	Requests int
	Duration time.Duration
	// Slice is the length of the slices; Dataset and Format are the file of prompts, if there is one.
	Slice           time.Duration
	Dataset, Format string
	// Open: latencies count from the time at which a request was due.
	Open bool
	Seed uint64
	// Command is the command line, Run what the benchmark is called in all its files.
	Command, Run string
	// Asked is everything that was asked, by the names of the command line; it goes into input_config.
	Asked map[string]any
	// Workload is what the dataset says of itself; it goes into input_config too.
	Workload any
	// Headers are those of the requests for the raw file, without secrets.
	Headers map[string]string
	// Output creates the files.
	Output *pending.Output
}

// Outcome is what is known at the end.
type Outcome struct {
	Metrics []result.Metric
	// Warmup are the metrics of the warm-up, if there was one.
	Warmup []result.Metric
	// Slices are the metrics of parts of the time.
	Slices []metric.Slice
	Errors []Failure
	// Begin and End are Unix nanoseconds.
	Begin, End int64
	// Canceled: the user stopped the run. Reason says why it is not complete.
	Canceled bool
	Reason   string
	// Windows are the edges of the measurement, for perf_analyzer's file, in Unix nanoseconds.
	Windows []int64
	// Telemetry is what GPUs did, as telemetry_data of AIPerf's summary; nil leaves it out.
	Telemetry any
}

// Failure counts requests that failed alike.
type Failure struct {
	Code    int // HTTP or gRPC status; 0 none
	Type    string
	Message string
	Count   uint64
}

// Wants says what a Sample must carry for the files that are written.
type Wants struct{ Payload, Answers, Inputs bool }

// Writer writes the files of one level. It is not safe for concurrent use. A file that cannot be written, on a full
// disk say, is removed, which may leave room for the others; they go on and are complete. Close tells which are lost.
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

// Wants says what the samples must carry.
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

// Close completes all files and puts them in place. A file that cannot be completed does not keep the others from
// it; the error has one line for each that is lost.
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

// Abort removes what was written. After Close it does nothing.
func (w *Writer) Abort() {
	for _, k := range w.sinks {
		k.abort()
	}
	if w.inputs != nil {
		w.inputs.out.abort()
	}
	w.sinks, w.inputs = nil, nil
}

// iso is a time as AIPerf writes it: local, without a zone.
func iso(ns int64) string { return time.Unix(0, ns).Format("2006-01-02T15:04:05.000000") }
