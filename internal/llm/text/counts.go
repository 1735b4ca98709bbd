package text

import (
	"fmt"
	"io"
	"strings"

	"github.com/redline-bench/redline/internal/llm"
	"github.com/redline-bench/redline/internal/llm/load"
	"github.com/redline-bench/redline/internal/llm/metric"
)

// Counts prints the sources of token counts, and warnings about counts that do not agree.
func Counts(w io.Writer, out *load.Outcome, color bool) {
	c := out.Collector
	fmt.Fprintf(w, "  Token counts: input from %s; output from %s\n", origins(c.Origins(metric.Inputs)), origins(c.Origins(metric.Outputs)))
	n := c.Requests()
	mark := "Warning:"
	if color {
		mark = "\x1b[33mWarning:\x1b[0m"
	}
	warn := func(k uint64, format string, args ...any) {
		if k > 0 {
			fmt.Fprintf(w, "  "+mark+" "+format+"\n", args...)
		}
	}
	warn(c.Disagree(), "the server and the tokenizer count differently, by more than 10 %%, for %d of %d requests", c.Disagree(), n)
	warn(c.Mismatched(), "%d of %d responses do not have the requested length: min_tokens or ignore_eos in --extra-inputs may help", c.Mismatched(), n)
	warn(c.Origins(metric.Outputs)[llm.Chunks], "each chunk counts as one token: give --tokenizer, or let the server send its counts")
	warn(out.Dropped, "%d turns were not sent, because an earlier turn failed", out.Dropped)
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
