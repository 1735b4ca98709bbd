// Package trace is `redline analyze-trace` and `redline synthesize-trace`: how the requests of a trace share prefixes, and a trace
// with other prefixes, lengths or times.
package trace

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"text/tabwriter"

	"github.com/redline-bench/redline/internal/command"
	"github.com/redline-bench/redline/internal/llm/dataset/prefix"
	"github.com/redline-bench/redline/internal/option"
)

// analyzeOptions is the command line of analyze-trace.
type analyzeOptions struct {
	block  int
	output string
}

func (o *analyzeOptions) rows() []option.Row {
	o.block = prefix.BlockSize
	return option.Group("Options", []option.Row{
		{Long: "block-size", Arg: "N", Help: "tokens of a block, for which the trace has one id", To: option.Int(&o.block, 1)},
		{Long: "output-file", Arg: "FILE", Writes: true, Help: "write the analysis as JSON, with AIPerf's names", To: option.Text(&o.output)},
	})
}

// AnalyzeCommand describes analyze-trace.
func AnalyzeCommand() option.Command {
	return option.Command{Rows: new(analyzeOptions).rows(), Intro: `Usage: redline analyze-trace TRACE [options]

Reads a trace in Mooncake's format, JSON lines with input_length, output_length and hash_ids, and prints how long its
prompts are, how much of them other requests share, and how much of them an unlimited prefix cache would reuse.
docs/datasets.md has more.
`, Examples: `  redline analyze-trace trace.jsonl
  redline analyze-trace trace.jsonl --block-size 16 --output-file analysis.json
`}
}

// Analyze is `redline analyze-trace`.
func Analyze(p *command.IO, args []string) (int, error) {
	var o analyzeOptions
	rest, err := command.Parse(&option.Table{Rows: o.rows()}, args, 1, 1, "name the trace, as in redline analyze-trace trace.jsonl")
	if err != nil {
		return 0, err
	}
	sigs := p.WatchSignals(command.Preparing)
	defer sigs.Stop()
	a, err := prefix.Analyze(sigs.Soft, rest[0], o.block)
	if err != nil {
		return 0, plain(err)
	}
	if o.output != "" {
		if err := write(p, rest[0], o.output, func(w io.Writer) error {
			e := json.NewEncoder(w)
			e.SetIndent("", "  ")
			return e.Encode(a)
		}); err != nil {
			return 0, err
		}
	}
	show(p.Stdout, a)
	return 0, nil
}

// show prints an analysis.
func show(w io.Writer, a *prefix.Analysis) {
	fmt.Fprintf(w, "Requests: %d\nUnique prefixes: %d; %.1f %% of all prefixes occur more than once\nPrefix groups: %d first blocks are shared\n",
		a.Requests, a.UniquePrefixes, 100*a.Reuse, a.PrefixGroups)
	if a.Hits == nil {
		fmt.Fprintln(w, "Cache hit rate: unknown, the trace has no hash_ids")
	} else {
		fmt.Fprintf(w, "Cache hit rate: %.1f %% of the blocks with an unlimited cache\n", 100*a.HitRate)
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "\nTokens\tmean\tstd\tmin\tp25\tp50\tp75\tmax\t")
	for _, row := range []struct {
		name string
		s    prefix.Spread
	}{{"input", a.Input}, {"shared", a.Context}, {"not shared", a.Unique}, {"output", a.Output}} {
		fmt.Fprintf(t, "%s\t%.1f\t%.1f\t%g\t%g\t%g\t%g\t%g\t\n", row.name, row.s.Mean, row.s.StdDev, row.s.Min, row.s.P25, row.s.Median, row.s.P75, row.s.Max)
	}
	_ = t.Flush() // the writer reports its errors itself
}

// synthesizeOptions is the command line of synthesize-trace.
type synthesizeOptions struct{ prefix.Change }

func (o *synthesizeOptions) rows() []option.Row {
	o.Change = prefix.Unchanged()
	return option.Group("Options", []option.Row{
		{Long: "block-size", Arg: "N", Help: "tokens of a block, for which the trace has one id", To: option.Int(&o.Block, 1)},
		{Long: "speedup-ratio", Arg: "FACTOR", Help: "divide the timestamps by this factor", To: option.Float(&o.Speed, 0, 1e9).Then(o.checkSpeed)},
		{Long: "prefix-len-multiplier", Arg: "FACTOR", Help: "multiply the length of shared prefixes by this factor", To: option.Float(&o.Prefix, 0, 1e3)},
		{Long: "prefix-root-multiplier", Arg: "N", Help: "number of copies of the tree of prefixes, over which sessions are spread", To: option.Int(&o.Trees, 1)},
		{Long: "prompt-len-multiplier", Arg: "FACTOR", Help: "multiply the length of what requests do not share by this factor", To: option.Float(&o.Prompt, 0, 1e3)},
		{Long: "output-len-multiplier", Arg: "FACTOR", Help: "multiply output lengths by this factor", To: option.Float(&o.Output, 0, 1e3)},
		{Long: "max-isl", Arg: "N", Help: "limit input lengths to this number of tokens; 0 sets no limit", To: option.Int(&o.MaxInput, 0)},
		{Long: "max-osl", Arg: "N", Help: "limit output lengths to this number of tokens; 0 sets no limit", To: option.Int(&o.MaxOutput, 0)},
		{Long: "random-seed", Arg: "N", Help: "seed of the choice of a tree", To: option.Uint(&o.Seed, math.MaxUint64)},
	})
}

func (o *synthesizeOptions) checkSpeed(text string) error {
	if o.Speed == 0 {
		return fmt.Errorf("is a number above 0, not %q", text)
	}
	return nil
}

// SynthesizeCommand describes synthesize-trace.
func SynthesizeCommand() option.Command {
	return option.Command{Rows: new(synthesizeOptions).rows(), Intro: `Usage: redline synthesize-trace TRACE OUTPUT [options]

Reads a trace in Mooncake's format and writes it with other lengths, prefixes or times. What requests share stays in
proportion: prompts that share a part of their prefix share the same part afterwards. docs/datasets.md has more.
`, Examples: `  redline synthesize-trace trace.jsonl fast.jsonl --speedup-ratio 10
  redline synthesize-trace trace.jsonl long.jsonl --prefix-len-multiplier 2 --max-isl 8192
  redline llm -m llama -u gpu:8000 --streaming --input-file long.jsonl --custom-dataset-type mooncake_trace
`}
}

// Synthesize is `redline synthesize-trace`.
func Synthesize(p *command.IO, args []string) (int, error) {
	var o synthesizeOptions
	rest, err := command.Parse(&option.Table{Rows: o.rows()}, args, 2, 2, "name the trace and the file to write, as in redline synthesize-trace trace.jsonl new.jsonl")
	if err != nil {
		return 0, err
	}
	sigs := p.WatchSignals(command.Preparing)
	defer sigs.Stop()
	n := 0
	err = write(p, rest[0], rest[1], func(w io.Writer) (err error) {
		n, err = prefix.Synthesize(sigs.Soft, rest[0], o.Change, w)
		return plain(err)
	})
	if err != nil {
		return 0, err
	}
	fmt.Fprintf(p.Stdout, "%d requests in %s\n", n, rest[1])
	return 0, nil
}

// write writes a file completely or not at all. The input is not overwritten.
func write(p *command.IO, input, output string, to func(io.Writer) error) error {
	in, err := os.Stat(input)
	if err != nil {
		return err
	}
	if out, err := os.Stat(output); err == nil && os.SameFile(in, out) {
		return fmt.Errorf("%s is the trace itself: name another file to write", output)
	}
	f, err := p.Files.Create(output)
	if err != nil {
		return err
	}
	if err := to(f); err != nil {
		f.Abort()
		return err
	}
	return f.Commit()
}

// plain removes the name of the system call from an error of a file.
func plain(err error) error {
	if e, ok := errors.AsType[*os.PathError](err); ok {
		return fmt.Errorf("%s: %w", e.Path, e.Err)
	}
	return err
}
