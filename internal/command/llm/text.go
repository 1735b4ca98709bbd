package llm

import (
	"fmt"
	"slices"
	"strings"

	"github.com/redline-bench/redline/internal/convert"
	api "github.com/redline-bench/redline/internal/llm/endpoint"
	"github.com/redline-bench/redline/internal/llm/load"
	"github.com/redline-bench/redline/internal/llm/text"
	"github.com/redline-bench/redline/internal/report"
	"github.com/redline-bench/redline/internal/secret"
	"github.com/redline-bench/redline/internal/segment"
)

// head prints what stands before the levels.
func (r *session) head() {
	if r.opts.blocks() {
		proto := string(r.plan.Target.Protocol)
		fmt.Fprintf(r.Stdout, "triton_url: %s, protocol: %s, model: %s\n", secret.PublicURL(r.plan.Target.URL), proto, r.opts.model())
		return
	}
	stream := "not streamed"
	if r.opts.Streaming || r.plan.Target.Streaming {
		stream = "streaming"
	}
	where := strings.Join(secret.PublicURLs(r.urls), ", ")
	if p := r.plan.Target.Endpoint; p != "" {
		where += "/" + strings.TrimLeft(p, "/")
	}
	fmt.Fprintf(r.Stdout, "%s at %s, %s, %s\n", r.opts.model(), where, r.opts.Kind, stream)
	fmt.Fprintf(r.Stdout, "prompts: %s; workload %s\nprefix cache: %s\n", r.workload(), r.info.Hash, r.info.Cache.State)
	if text := r.unlimited(); text != "" {
		fmt.Fprintf(r.Stdout, "output limit: %s; --osl N sets one, such as --osl 128\n", text)
	}
}

// limits are the fields of requests that limit the output.
var limits = []string{"max_tokens", "max_completion_tokens", "max_output_tokens", "max_new_tokens", "parameters", "sampling_parameters", "request_output_len"}

// unlimited says which limit responses have if nothing sets one; empty if something does, or no text is generated.
func (r *session) unlimited() string {
	d := &r.data
	if d.Output.Set() || len(r.opts.Lengths) > 0 || d.Pairs != "" || r.info.Limited || slices.ContainsFunc(limits, func(name string) bool { return r.opts.Extra[name] != nil }) {
		return ""
	}
	return api.Kind(r.opts.Kind).Unlimited()
}

// workload says in a few words what is asked.
func (r *session) workload() string {
	d := &r.data
	if d.Path != "" {
		return fmt.Sprintf("%d of %s (%s)", r.info.Conversations, d.Path, r.info.Format)
	}
	exact := ""
	if !r.info.Exact {
		exact = "about "
	}
	if d.Input.Mean == 0 && len(r.opts.Inputs) == 0 {
		return "generated, without text"
	}
	words := fmt.Sprintf("generated, %s%s tokens", exact, joined(r.opts.Inputs, d.Input.Mean))
	switch e := r.info.Estimate; {
	case r.info.TemplateTokens > 0:
		words += fmt.Sprintf(" (%d of them the chat template's)", r.info.TemplateTokens)
	case e.PerWord > 0:
		words += fmt.Sprintf(" (%.2f a word by %s)", e.PerWord, e.By)
	case r.learns():
		words += " (the warm-up tells how many a word has)"
	case !r.info.Exact:
		words += " (a word counts as one)"
	}
	if asked := joined(r.opts.Lengths, d.Output.Mean); asked != "0" {
		words += fmt.Sprintf("; %s output tokens requested", asked)
	}
	return words
}

// hints are what to try where responses do not have the requested length.
func (p *Plan) hints() text.Hints {
	h := text.Hints{Shorter: ": --extra-inputs ignore_eos:true prevents that where the server knows it"}
	if api.Kind(p.Kind).SetsLeast() && !p.ExactOutput {
		h.Shorter = ": --output-tokens-mean-deterministic prevents that, by ignore_eos and min_tokens"
	}
	if _, ok := p.Extra["ignore_eos"]; ok || p.ExactOutput {
		h.Shorter = ", although ignore_eos asks it not to"
	}
	if api.Kind(p.Kind) == api.Chat && !p.Legacy {
		h.Longer = " max_completion_tokens: --use-legacy-max-tokens sends it as max_tokens"
	}
	return h
}

// joined is the list of an option, or its one value.
func joined(list []float64, one float64) string {
	if len(list) < 2 {
		return fmt.Sprintf("%g", one)
	}
	return strings.Join(convert.All(list, func(f float64) string { return fmt.Sprintf("%g", f) }), ", ")
}

// show prints a level.
func (r *session) show(out *load.Outcome, lv load.Level) {
	if out.Level.Idle {
		fmt.Fprintf(r.Stdout, "\n%s%s\nIdle: other parts send all requests of this level\n", lv.String(), partName(r.opts.Segment))
		return
	}
	if r.opts.blocks() && out.Collector != nil {
		fmt.Fprint(r.Stdout, text.Seed(out, lv))
		if !r.opts.Verbose {
			r.showFailures(out)
			return
		}
	}
	fmt.Fprintf(r.Stdout, "\n%s%s\n", lv.String(), partName(r.opts.Segment))
	list := out.Level.Metrics
	if r.opts.Verbose && out.Collector != nil {
		list = slices.Concat(list, out.Collector.Adjusted())
	}
	fmt.Fprint(r.Stdout, text.Metrics(list, r.opts.Verbose, r.Style().TableWidth()))
	fmt.Fprint(r.Stdout, r.learned())
	if out.Collector != nil { // else the level was measured before the run was taken up
		text.Counts(r.Stdout, out, r.opts.hints(), r.Style().Color)
	}
	client := out.Level
	client.Client.First = nil // the table has it
	if lv.Open() {
		client.Client.Sent.Quantiles, client.Client.Due.Quantiles = nil, nil
	}
	report.Health(r.Stdout, &client, r.Style())
}

// partName names the part of a load that this process sends; empty for the whole.
func partName(part segment.Segment) string {
	if part.Whole() {
		return ""
	}
	return fmt.Sprintf(", part %d of %d", part.Index+1, part.Of)
}

// showFailures says on stderr what a seed's block leaves out. Where nothing succeeded, the last line of the run says why.
func (r *session) showFailures(out *load.Outcome) {
	if out.Collector.Requests() == 0 && len(out.Level.Failures) == 1 {
		return
	}
	for _, f := range out.Level.Failures {
		fmt.Fprintf(r.Stderr, "redline llm: %d requests failed (%s): %s\n", f.Count, f.Class, f.Text)
	}
}

// showVerdict prints the last words.
func (r *session) showVerdict() {
	if len(r.res.Levels) > 1 {
		fmt.Fprint(r.Stdout, text.Levels(r.res.Levels, r.Style().TableWidth()))
	}
	r.Shapes(r.res)
	report.Fleet(r.Stdout, r.res.Fleet)
	report.Verdict(r.Stdout, r.res, r.Style())
}
