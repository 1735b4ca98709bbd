package llm

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/redline-bench/redline/internal/llm"
	"github.com/redline-bench/redline/internal/llm/artifact"
	"github.com/redline-bench/redline/internal/llm/load"
	"github.com/redline-bench/redline/internal/llm/metric"
	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/result"
	"github.com/redline-bench/redline/internal/secret"
)

// runFiles writes the files of one measurement; nil writes none.
type runFiles struct {
	mu sync.Mutex // the prompts are made on a goroutine of their own
	w  *artifact.Writer
	// slices gathers the samples of each stretch of time.
	slices *metric.Slicer
}

var exportNames = map[string]artifact.Files{
	"outputs": artifact.Outputs, "summary": artifact.Summary, "csv": artifact.CSV, "records": artifact.Records, "inputs": artifact.Inputs, "raw": artifact.Raw,
	"slices": artifact.Slices, "profile": artifact.Profile, "genai": artifact.GenAI, "vllm": artifact.VLLM, "parquet": artifact.Parquet,
	"all": artifact.All,
}

// wanted reads the list of files.
func (p *Plan) wanted() (artifact.Files, error) {
	files := artifact.Default
	if p.Exports != "" {
		files = 0
		for name := range strings.SplitSeq(p.Exports, ",") {
			f, ok := exportNames[strings.TrimSpace(name)]
			if !ok {
				return 0, fmt.Errorf("--exports is a list of %s, not %q", strings.Join(slices.Sorted(maps.Keys(exportNames)), ", "), name)
			}
			files |= f
		}
	}
	switch {
	case p.ExportLevel == "":
	case p.Exports != "":
		return 0, errors.New("--exports and --export-level say the same thing: give one")
	case p.ExportLevel == "summary":
		files = artifact.Summary | artifact.CSV | artifact.Inputs
	case p.ExportLevel == "raw":
		files |= artifact.Raw
	}
	if p.SliceEvery > 0 {
		files |= artifact.Slices
	}
	if p.Outputs {
		files |= artifact.Outputs
	}
	return files, nil
}

// writesFiles reports whether the run writes files to a folder: the one of --artifact-dir, or the usual one if another option needs
// a folder.
func (p *Plan) writesFiles() bool { return p.Artifacts != "" || p.usualFolder() }

func (p *Plan) usualFolder() bool {
	return p.Artifacts == "" && (p.Exports != "" || p.ExportLevel != "" || p.SliceEvery > 0 || p.Outputs || p.Prefix != "" || p.reads())
}

// reads reports whether pages of metrics are read during the run.
func (p *Plan) reads() bool {
	return len(p.Outcome.ServerMetrics)+len(p.GPUs) > 0 || p.Outcome.OwnMetrics || p.FindGPUs
}

// files opens the files of a level.
func (r *session) files(index, n int, lv load.Level) (*runFiles, error) {
	o := r.opts
	if !o.writesFiles() {
		return nil, nil
	}
	files, err := o.wanted()
	if err != nil {
		return nil, err
	}
	dir := r.folder(index, n, lv)
	w, err := artifact.New(artifact.Config{
		Dir: dir, Prefix: o.Prefix, Files: files, Version: r.Version, Model: o.model(), Tokenizer: o.Tokenizer, ChatTemplate: o.ChatTemplate, URL: strings.Join(secret.PublicURLs(r.urls), ","),
		EndpointType: o.Kind, Path: r.plan.Target.Endpoint, Streaming: o.Streaming || r.plan.Target.Streaming,
		Concurrency: lv.Concurrency, Rate: lv.Rate, Open: lv.Open(), Seed: r.seed(n),
		Arrival: string(r.load.Arrival), Requests: r.load.Requests, Duration: r.load.Duration, Slice: o.SliceEvery,
		Dataset: o.Data.Path, Format: string(r.info.Format),
		Command: r.table.Command("redline llm"), Run: o.Outcome.Label, Asked: r.asked(lv), Workload: r.info, Headers: r.plainHeaders(), Output: r.Files,
	})
	if err != nil {
		return nil, err
	}
	f := &runFiles{w: w}
	if files&artifact.Slices != 0 {
		f.slices = metric.NewSlicer(o.SliceEvery, metric.Options{Open: lv.Open(), Goodput: r.load.Goodput}, f.w.Slice)
	}
	return f, nil
}

// folder is where the files of one measurement go.
func (r *session) folder(index, n int, lv load.Level) string {
	dir := r.opts.Artifacts
	switch {
	case r.opts.usualFolder(): // AIPerf's name
		dir = filepath.Join("artifacts", strings.NewReplacer("/", "_", `\`, "_", ",", "_").Replace(r.opts.model())+"-openai-"+r.opts.Kind+"-"+folder(lv, index))
	case len(r.opts.steps(r.timed)) > 1:
		dir = filepath.Join(dir, folder(lv, index))
	}
	if r.opts.Runs > 1 {
		dir = filepath.Join(dir, fmt.Sprintf("run%d", n+1))
	}
	return dir
}

// usualFiles names the usual folders of the levels that were measured.
func (r *session) usualFiles() string {
	var list []string
	for i, s := range r.opts.steps(r.timed)[:len(r.res.Levels)] {
		list = append(list, r.folder(i, 0, s.Level))
	}
	return strings.Join(list, ", ")
}

// folder names the folder of a level.
func folder(lv load.Level, index int) string {
	if lv.Prompts != "" {
		what := result.PromptsKey(lv.Prompts)
		lv.Prompts = ""
		return folder(lv, index) + "_" + what
	}
	switch {
	case lv.Mode == plan.Concurrency && len(lv.Stages) == 0:
		return fmt.Sprintf("concurrency%d", lv.Concurrency)
	case lv.Mode == plan.RequestRate && len(lv.Stages) == 0:
		return fmt.Sprintf("request_rate%g", lv.Rate)
	}
	return fmt.Sprintf("level%d", index+1)
}

// asked is what goes into the files of what was asked for.
func (r *session) asked(lv load.Level) map[string]any {
	m := map[string]any{"endpoint_type": r.opts.Kind, "streaming": r.opts.Streaming, "level": lv.String()}
	for name, v := range map[string]int{
		"request_count": r.load.Requests, "num_conversations": r.load.Sessions, "warmup_request_count": r.opts.Warm.Requests,
		"prefill_concurrency": r.load.Prefill,
	} {
		if v > 0 {
			m[name] = v
		}
	}
	if d := r.load.Duration; d > 0 {
		m["benchmark_duration"] = d.Seconds()
	}
	if lv.Open() && lv.Mode == plan.RequestRate {
		m["arrival_pattern"] = string(r.load.Arrival)
	}
	return m
}

// plainHeaders are the headers of requests, the values of those that may hold secrets replaced.
func (r *session) plainHeaders() map[string]string {
	out := map[string]string{}
	for _, h := range r.plan.Public().Target.Headers {
		out[h.Name] = h.Value
	}
	return out
}

// wire lets a level hand its samples to the files.
func (f *runFiles) wire(cfg *load.Config) {
	if f == nil {
		return
	}
	wants := f.w.Wants()
	cfg.KeepText = true
	cfg.KeepWire = wants.Payload || wants.Answers
	cfg.Sample = func(s *llm.Sample) {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.w.Sample(s)
		if f.slices != nil {
			f.slices.Add(s)
		}
	}
	if wants.Inputs {
		cfg.Bodies = func(session string, bodies [][]byte) {
			list := make([]json.RawMessage, len(bodies))
			for i, b := range bodies {
				list[i] = b
			}
			f.mu.Lock()
			defer f.mu.Unlock()
			f.w.Input(session, list...)
		}
	}
}

func (f *runFiles) abort() {
	if f != nil {
		f.w.Abort()
	}
}

// close completes the files.
func (f *runFiles) close(out *load.Outcome, telemetry any) error {
	if f == nil {
		return nil
	}
	lv := &out.Level
	end := artifact.Outcome{
		Metrics: slices.Concat(lv.Metrics, out.Collector.Adjusted()), Begin: lv.Windows[0].StartUnixNs, End: lv.Windows[0].EndUnixNs, Canceled: out.Interrupted, Reason: out.Stopped,
		Windows: []int64{lv.Windows[0].StartUnixNs, lv.Windows[0].EndUnixNs}, Telemetry: telemetry,
	}
	for _, x := range lv.Failures {
		end.Errors = append(end.Errors, artifact.Failure{Code: code(x.Class), Type: x.Class, Message: x.Text, Count: x.Count})
	}
	if f.slices != nil {
		f.slices.Finish(end.End)
	}
	return f.w.Close(end)
}

// code is the status in the name of a class, as in "server 429".
func code(class string) int {
	n := 0
	_, _ = fmt.Sscanf(class, "server %d", &n) // 0 where there is none
	return n
}
