// Command bench measures Redline side by side with its peers: what a request costs the client in CPU time, what a
// real server gets done while the client takes its share of the machine, memory, the start, and the schedule of
// an open loop.
//
// Each group of rows is one file with one function, listed in groups.go. A group runs the tools in turns, several
// rounds, and takes each tool's best: other work on the machine only ever adds cost, so the lowest figure is the
// nearest to the truth, for us as for a peer. The table with the bars to reach is printed, and written as
// Markdown and JSON.
package main

import (
	"context"
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
	rounds := flag.Int("rounds", 2, "runs of each tool; the best counts")
	scale := flag.Float64("scale", 1, "multiplies the number of requests")
	only := flag.String("only", "", "run only the groups whose name matches this regular expression")
	strict := flag.Bool("strict", false, "exit with 1 when a bar is missed")
	flag.Parse()
	if flag.Arg(0) == "reader" {
		if err := runReader(flag.Args()[1:]); err != nil {
			fmt.Fprintln(os.Stderr, "bench reader:", err)
			os.Exit(1)
		}
		return
	}
	if flag.Arg(0) == "bare" {
		if err := bare(flag.Args()[1:]); err != nil {
			fmt.Fprintln(os.Stderr, "bench bare:", err)
			os.Exit(1)
		}
		return
	}
	report, err := run(*bin, *only, *rounds, *scale)
	if err == nil {
		err = report.write(*out)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
	fmt.Print(report.markdown())
	fmt.Printf("\nwritten: %s and bench.json beside it\n", filepath.Join(*out, "bench.md"))
	if *strict && slices.ContainsFunc(report.Rows, func(r row) bool { return r.Verdict == missed }) {
		os.Exit(1)
	}
}

func run(bin, only string, rounds int, scale float64) (*report, error) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	match, err := regexp.Compile(only)
	if err != nil {
		return nil, err
	}
	// Hundreds of short runs do not belong into the user's history.
	if err := os.Setenv("REDLINE_HISTORY", "off"); err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "redline-bench-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	if bin, err = filepath.Abs(bin); err != nil {
		return nil, err
	}
	e := &env{bin: bin, dir: dir, rounds: rounds, scale: scale, report: newReport()}
	e.install(ctx)
	for _, g := range groups {
		if !match.MatchString(g.name) {
			continue
		}
		fmt.Fprintf(os.Stderr, "%s  %s\n", time.Now().Format(time.TimeOnly), g.name)
		if err := g.run(ctx, e); err != nil {
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			e.report.note("%s: %v", g.name, err)
		}
	}
	return e.report, nil
}
