package text

import (
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/redline-bench/redline/internal/llm"
	"github.com/redline-bench/redline/internal/llm/load"
	"github.com/redline-bench/redline/internal/llm/metric"
)

// Hints are what to try where responses do not have the requested length.
type Hints struct{ Longer, Shorter string }

// Counts prints the sources of token counts, and warnings about counts and lengths that need an explanation.
func Counts(w io.Writer, out *load.Outcome, hints Hints, color bool) {
	c := out.Collector
	n, prompts := c.Requests(), c.Prompts()
	if n > 0 {
		fmt.Fprintf(w, "  Token counts: input from %s%s; output from %s%s\n",
			origins(c.Origins(metric.Inputs)), template(out), origins(c.Origins(metric.Outputs)), tokenizerDiff(c))
	}
	mark := "Warning:"
	if color {
		mark = "\x1b[33mWarning:\x1b[0m"
	}
	warn := func(k uint64, format string, args ...any) {
		if k > 0 {
			fmt.Fprintf(w, "  "+mark+" "+format+"\n", args...)
		}
	}
	warn(prompts.More, "the server counts more tokens in a prompt than the tokenizer, by more than 10 %%, for %d of %d requests, and the chat template does not explain it: check that --tokenizer is the model's",
		prompts.More, prompts.Checked)
	warn(prompts.Fewer, "the server counts fewer tokens in a prompt than the tokenizer, by more than 10 %%, for %d of %d requests: check that --tokenizer is the model's, and that the server does not cut prompts",
		prompts.Fewer, prompts.Checked)
	warn(c.Implausible(), "the server's token counts of %d of %d responses cannot be true: they have more than two events with text for each token", c.Implausible(), n)
	length := func(m metric.Mismatch, format, hint string) {
		warn(m.Requests, "%d of %d responses are %s: %s tokens on average, %s requested%s", m.Requests, n, format, short(m.Got()), short(m.Asked()), hint)
	}
	length(c.Longer(), "longer than requested", "; the server ignores the limit"+hints.Longer)
	length(c.Shorter(), "shorter than requested", "; the model ended them early"+hints.Shorter)
	length(c.Ended(), "shorter than requested", "; the server ended them at a limit of its own, such as its context length: request fewer tokens or shorter prompts")
	warn(c.Origins(metric.Outputs)[llm.Chunks], "each chunk counts as one token: give --tokenizer, or let the server send its counts")
	warn(out.Dropped, "%d turns were not sent, because an earlier turn failed", out.Dropped)
}

// template says how many tokens the server's prompts have besides the input; empty if that is not known, or none.
func template(out *load.Outcome) string {
	prompts := out.Collector.Prompts()
	if t := out.Template; t.First > 0 && out.Collector.Origins(metric.Inputs)[llm.Server] > 0 {
		return fmt.Sprintf(", without the %d that the server adds to a prompt", t.First)
	}
	if prompts.Explained == 0 || prompts.Added() < 0.5 {
		return ""
	}
	return fmt.Sprintf(" (the server's prompts have %s more, as the chat template writes them)", short(prompts.Added()))
}

// short is a number without decimals if it is whole.
func short(v float64) string { return strings.TrimSuffix(number(v), ".00") }

// tokenizerDiff says by how much the tokenizer differs from the server; empty if both count alike or were not compared.
func tokenizerDiff(c *metric.Collector) string {
	d := c.Mean(metric.TokenizerDiff)
	if math.Abs(d) < 0.05 {
		return ""
	}
	direction := "more"
	if d < 0 {
		direction = "fewer"
	}
	if c.Origins(metric.Outputs)[llm.Server] > 0 {
		return fmt.Sprintf(" (the tokenizer counts %.1f %% %s)", math.Abs(d), direction)
	}
	return fmt.Sprintf(" (%.1f %% %s than the server counts)", math.Abs(d), direction)
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
		return llm.Unknown.String()
	}
	return strings.Join(parts, " and ")
}
