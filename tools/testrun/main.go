// Command testrun runs the stages of `make test`, each a target of the Makefile, and prints one summary at the end:
// what passed, failed, was inconclusive or was not tested, and how much time and CPU time each stage took.
//
//	testrun [-background STAGE=NEEDED_BY] [-repeat-until TIME] STAGE[+STAGE...] ...
//
// Every stage runs, even if an earlier one failed. A background stage starts first and must end before the stage that needs it. Stages that are
// joined by + run at the same time.
// Stages that run `go test` get TESTFLAGS=-json. A package in which Go's race detector crashed runs once more at the end, and so do
// inconclusive tests, whose measurement other work on the machine disturbed, unless they would end later than -repeat-until. The exit
// status is 1 if anything failed.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "testrun:", err)
		os.Exit(1)
	}
}

// errFailed is returned after a summary with failures; the summary has the details.
var errFailed = errors.New("not everything passed, see the summary above")

func run() error {
	background := flag.String("background", "", "`STAGE=NEEDED_BY`: start STAGE first and wait for it before NEEDED_BY")
	dir := flag.String("dir", ".", "folder of the Makefile")
	repeatUntil := flag.Duration("repeat-until", 45*time.Minute, "run inconclusive tests once more unless they would end later than this `TIME` after the start")
	flag.Parse()
	early, neededBy, _ := strings.Cut(*background, "=")

	// The first Ctrl-C also reaches the stages, which end; the summary then shows what was seen.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()

	r := runner{dir: *dir, out: os.Stdout, begun: time.Now(), repeatUntil: *repeatUntil}
	var waitEarly func()
	if early != "" {
		waitEarly = r.startBackground(ctx, early)
	}
	for _, names := range flag.Args() {
		stages := strings.Split(names, "+")
		if slices.Contains(stages, neededBy) {
			waitEarly()
		}
		if ctx.Err() != nil {
			r.log.fail("stage "+names, "interrupted before it ran")
			continue
		}
		r.together(ctx, stages)
	}
	if ctx.Err() == nil {
		r.repeatCrashed(ctx)
		r.retryInconclusive(ctx)
	}
	r.summary(time.Since(r.begun))
	if r.log.failures() > 0 {
		return errFailed
	}
	return nil
}
