package cli

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/redline-bench/redline/internal/llm"
	"github.com/redline-bench/redline/internal/llm/load"
	"github.com/redline-bench/redline/internal/llm/metric"
	"github.com/redline-bench/redline/internal/measure"
	"github.com/redline-bench/redline/internal/report"
	"github.com/redline-bench/redline/internal/result"
	"github.com/redline-bench/redline/internal/secret"
)

// head prints what stands before the levels.
func (r *llmRun) head() {
	if r.opts.seed() {
		proto := string(r.plan.Target.Protocol)
		fmt.Fprintf(r.Stdout, "triton_url: %s, protocol: %s, model: %s\n", secret.PublicURL(r.plan.Target.URL), proto, r.opts.model)
		return
	}
	stream := "one answer each"
	if r.opts.streaming || r.plan.Target.Streaming {
		stream = "streaming"
	}
	where := strings.Join(secret.PublicURLs(r.opts.urls), ", ")
	if p := r.plan.Target.Endpoint; p != "" {
		where += "/" + strings.TrimLeft(p, "/")
	}
	fmt.Fprintf(r.Stdout, "%s at %s, %s, %s\n", r.opts.model, where, r.opts.kind, stream)
	fmt.Fprintf(r.Stdout, "prompts: %s; workload %s\nprefix cache: %s\n", r.workload(), r.info.Hash, r.info.Cache.State)
}

// workload says in a few words what is asked.
func (r *llmRun) workload() string {
	d := &r.opts.data
	if d.Path != "" {
		return fmt.Sprintf("%d of %s (%s)", r.info.Conversations, d.Path, r.info.Format)
	}
	exact := ""
	if !r.info.Exact {
		exact = "about "
	}
	text := fmt.Sprintf("made, %s%g tokens", exact, d.Input.Mean)
	if d.Output.Mean > 0 {
		text += fmt.Sprintf(", %g asked for", d.Output.Mean)
	}
	return text
}

// show prints a level.
func (r *llmRun) show(out *load.Outcome, lv load.Level) {
	if r.opts.seed() {
		fmt.Fprint(r.Stdout, seedBlock(out, lv))
		if !r.opts.verbose {
			r.showFailures(out)
			return
		}
	}
	fmt.Fprintf(r.Stdout, "\n%s\n", lv.String())
	list := out.Level.Metrics
	if r.opts.verbose {
		list = slices.Concat(list, out.Collector.Adjusted())
	}
	fmt.Fprint(r.Stdout, metricTable(list, r.opts.verbose, r.columns()))
	r.showCounts(out)
	client := out.Level
	client.Client.First = nil // the table has it
	if lv.Open() {
		client.Client.Sent.Percentiles, client.Client.Due.Percentiles = nil, nil
	}
	report.Health(r.Stdout, &client, r.Style())
}

// showFailures says on stderr what a seed's block leaves out. Where nothing succeeded, the last line of the run says why.
func (r *llmRun) showFailures(out *load.Outcome) {
	if out.Collector.Requests() == 0 && len(out.Level.Failures) == 1 {
		return
	}
	for _, f := range out.Level.Failures {
		fmt.Fprintf(r.Stderr, "redline llm: %d requests failed (%s): %s\n", f.Count, f.Class, f.Text)
	}
}

// seedBlock is a level as seed 003's tool prints it.
func seedBlock(out *load.Outcome, lv load.Level) string {
	c := out.Collector
	latencies := c.Sum(metric.Latency) / 1000
	rate := func(id metric.ID, origin metric.Origins) string {
		if latencies == 0 || origin[llm.Unknown] == c.Requests() {
			return pyFloat(math.NaN())
		}
		return pyFloat(c.Sum(id) / latencies)
	}
	ttft := metric.TTFT
	if _, ok := metric.Find(out.Level.Metrics, "time_to_first_token"); !ok {
		ttft = metric.Latency // an answer in one piece is there with its first token
	}
	var b strings.Builder
	fmt.Fprintln(&b, strings.Repeat("-", 60))
	level := "Request concurrency: " + strconv.Itoa(lv.Concurrency)
	if lv.Open() || len(lv.Stages) > 0 {
		level = "Request load: " + lv.String()
	}
	fmt.Fprintln(&b, level)
	fmt.Fprintf(&b, "average_input_token_per_sec: %s\n", rate(metric.InputLength, c.Origins(metric.Inputs)))
	fmt.Fprintf(&b, "average_output_token_per_sec: %s\n", rate(metric.OutputLength, c.Origins(metric.Outputs)))
	fmt.Fprintf(&b, "average_ttft: %s\n", pyFloat(c.Mean(ttft)/1000))
	fmt.Fprintf(&b, "average_latency: %s\n", pyFloat(c.Mean(metric.Latency)/1000))
	fmt.Fprintf(&b, "p99_ttft: %s\n", pyFloat(c.Quantile(ttft, 99)/1000))
	fmt.Fprintf(&b, "p99_latency: %s\n", pyFloat(c.Quantile(metric.Latency, 99)/1000))
	fmt.Fprintf(&b, "payload and results: %d %d\n", c.Requests()+c.Failed()+c.Cut(), c.Requests())
	through := 0.0
	if d := c.Duration(); d > 0 {
		through = float64(c.Requests()) / d
	}
	fmt.Fprintf(&b, "throughput: %s infer/sec.\n", pyFloat(through))
	return b.String()
}

// pyFloat writes a float as Python does.
func pyFloat(v float64) string {
	switch {
	case math.IsNaN(v):
		return "nan"
	case math.IsInf(v, 0):
		return strings.ToLower(strconv.FormatFloat(v, 'g', -1, 64))
	}
	if a := math.Abs(v); a != 0 && (a < 1e-4 || a >= 1e16) {
		return strconv.FormatFloat(v, 'e', -1, 64)
	}
	s := strconv.FormatFloat(v, 'f', -1, 64)
	if !strings.Contains(s, ".") {
		s += ".0"
	}
	return s
}

// showCounts says where token counts came from, and where they do not agree.
func (r *llmRun) showCounts(out *load.Outcome) {
	c := out.Collector
	fmt.Fprintf(r.Stdout, "  Token counts: input by %s; output by %s\n", origins(c.Origins(metric.Inputs)), origins(c.Origins(metric.Outputs)))
	n := c.Requests()
	mark := "Warning:"
	if r.Style().Color {
		mark = "\x1b[33mWarning:\x1b[0m"
	}
	warn := func(k uint64, format string, args ...any) {
		if k > 0 {
			fmt.Fprintf(r.Stdout, "  "+mark+" "+format+"\n", args...)
		}
	}
	warn(c.Disagree(), "the server and the tokenizer count differently, by more than 10 %%, for %d of %d requests", c.Disagree(), n)
	warn(c.Mismatched(), "%d of %d answers do not have the length asked for: min_tokens or ignore_eos in --extra-inputs may help", c.Mismatched(), n)
	warn(c.Origins(metric.Outputs)[llm.Chunks], "each chunk was taken for one token: give --tokenizer, or have the server send its counts")
	warn(out.Dropped, "%d turns were not asked, because one before them failed", out.Dropped)
}

// origins names the sources of counts.
func origins(o metric.Origins) string {
	var parts []string
	for i, n := range o {
		if n > 0 {
			parts = append(parts, llm.Origin(i).String())
		}
	}
	if len(parts) == 0 {
		return "nobody"
	}
	return strings.Join(parts, " and ")
}

// verdict judges the run.
func (r *llmRun) verdict(limits [][]result.Reason, stopped string, err error) result.Verdict {
	run := measure.Run{
		Levels: slices.Clone(r.res.Levels), Limits: limits, MaxErrorRate: r.opts.maxErrorRate / 100, Interrupted: r.res.Interrupted,
		Longer: "wait longer for the last responses (--benchmark-grace-period), or measure longer (--benchmark-duration)",
	}
	for i := range run.Levels {
		run.Levels[i].Stable = true // no stability rule is applied to language models
	}
	switch {
	case err != nil:
		run.Error = err.Error()
	case r.res.Interrupted:
	case stopped != "":
		run.Error, run.ServerGone = stopped, r.serverGone
	case r.answers() == 0:
		run.Error = r.noAnswer().Error()
	}
	v := measure.Conclude(run)
	for i := range run.Levels {
		r.res.Levels[i].ServerFailed, r.res.Levels[i].TooShort = run.Levels[i].ServerFailed, run.Levels[i].TooShort
	}
	return v
}

// answers is the number of whole answers of all levels.
func (r *llmRun) answers() uint64 {
	var n uint64
	for i := range r.res.Levels {
		n += r.res.Levels[i].Client.Requests
	}
	return n
}

// showVerdict prints the last words.
func (r *llmRun) showVerdict() {
	if len(r.res.Levels) > 1 {
		fmt.Fprint(r.Stdout, levelTable(r.res.Levels, r.columns()))
	}
	r.Shapes(r.res)
	report.Verdict(r.Stdout, r.res, r.Style())
}
