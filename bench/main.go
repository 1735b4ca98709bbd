// Command bench measures Redline side by side with its peers: what a request costs the client in CPU time, what a
// real server gets done while the client takes its share of the machine, memory, the start, and the schedule of
// an open loop.
//
// Each group of rows is one file with one function, listed in groups.go. A group runs the tools in turns (turns.go); where figures are far
// from their bars, it takes each tool's best of a few rounds. The table with the bars to reach is printed, and written as Markdown and JSON.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"syscall"
	"time"
)

func main() {
	bin := flag.String("bin", "bin/redline", "the program to measure")
	out := flag.String("out", "out/bench", "folder for bench.md and bench.json")
	rounds := flag.Int("rounds", 2, "runs of each tool, of which the best counts, where the figure is far from its bar")
	scale := flag.Float64("scale", 1, "multiplies the number of requests")
	only := flag.String("only", "", "run only the groups whose name matches this regular expression")
	strict := flag.Bool("strict", false, "exit with 1 when a bar is missed")
	flag.Parse()
	if helper := map[string]func([]string) error{"reader": runReader, "bare": bare, "null": runNull}[flag.Arg(0)]; helper != nil {
		if err := helper(flag.Args()[1:]); err != nil {
			fmt.Fprintf(os.Stderr, "bench %s: %v\n", flag.Arg(0), err)
			os.Exit(1)
		}
		return
	}
	os.Exit(show(*out, *strict, func(ctx context.Context, r *report) error { return run(ctx, r, *bin, *only, *rounds, *scale) }))
}

// show measures, prints the table and returns the exit code. Whatever ends it early, what was measured until then stands
// in the files, which are written row by row, and is printed.
func show(out string, strict bool, measure func(context.Context, *report) error) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	r := newReport(out)
	err := measure(ctx, r)
	if ctx.Err() != nil {
		err = errors.New("stopped by the user")
	}
	if err != nil {
		r.note("not all was measured: %v", err)
	}
	fmt.Print(r.markdown())
	if werr := r.write(); werr != nil {
		fmt.Fprintln(os.Stderr, "bench:", werr)
		return 1
	}
	fmt.Printf("\nwritten: %s and bench.json beside it\n", filepath.Join(out, "bench.md"))
	switch {
	case ctx.Err() != nil:
		return 130
	case err != nil, strict && (r.failed || slices.ContainsFunc(r.Rows, func(r row) bool { return r.Verdict == missed })):
		return 1
	}
	return 0
}

// run measures the groups in turn. One that fails is noted, and the next begins.
func run(ctx context.Context, r *report, bin, only string, rounds int, scale float64) error {
	match, err := regexp.Compile(only)
	if err != nil {
		return err
	}
	// Hundreds of short runs do not belong into the user's history.
	if err := os.Setenv("REDLINE_HISTORY", "off"); err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "redline-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if bin, err = filepath.Abs(bin); err != nil {
		return err
	}
	e := &env{bin: bin, dir: dir, rounds: rounds, scale: scale, report: r, start: time.Now()}
	e.install(ctx)
	e.progress("the peers are here")
	for _, g := range groups {
		if !match.MatchString(g.name) {
			continue
		}
		begin := time.Now()
		fmt.Fprintf(os.Stderr, "%s  %s\n", begin.Format(time.TimeOnly), g.name)
		err := g.run(ctx, e)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			r.failed = true
			r.note("%s: %v", g.name, err)
			e.progress("%s failed: %v", g.name, err)
		}
		e.progress("%s took %.0f s", g.name, time.Since(begin).Seconds())
	}
	return nil
}
