package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"
)

// runner runs stages one after the other and keeps what happened.
type runner struct {
	dir         string
	out         io.Writer
	begun       time.Time
	repeatUntil time.Duration // counted from begun; an inconclusive test that would end later does not run again
	log         eventLog
	stages      []stageTime
}

// stageTime is how long a stage took, and whether its command ended well.
type stageTime struct {
	name string
	took time.Duration
	cpu  time.Duration // of all its processes: unlike took, it hardly depends on what else uses the machine
	ok   bool
}

// stage runs one target of the Makefile and reads its output.
func (r *runner) stage(ctx context.Context, name string) {
	fmt.Fprintf(r.out, "\n==== %s\n", name)
	r.run(name, r.makeTarget(ctx, name))
}

// run runs the command of a stage.
func (r *runner) run(name string, cmd *exec.Cmd) {
	begun, before, causes := time.Now(), r.log.failures(), r.log.causes()
	if err := r.pipe(cmd, name); err != nil && r.log.causes() == causes {
		r.log.fail("stage "+name, err.Error())
	}
	r.stages = append(r.stages, stageTime{name, time.Since(begun), cpuTime(cmd), r.log.failures() == before})
}

// together runs stages at the same time. The output of the first appears at once, that of the others behind it.
func (r *runner) together(ctx context.Context, names []string) {
	var waits []func()
	for _, name := range names[1:] {
		waits = append(waits, r.startBackground(ctx, name))
	}
	r.stage(ctx, names[0])
	for _, wait := range waits {
		wait()
	}
}

// startBackground starts a stage whose output appears when the returned function has waited for its end.
func (r *runner) startBackground(ctx context.Context, name string) (wait func()) {
	begun := time.Now()
	var text bytes.Buffer
	cmd := r.makeTarget(ctx, name)
	cmd.Stdout, cmd.Stderr = &text, &text
	err := cmd.Start()
	took := make(chan time.Duration, 1)
	go func() {
		if err == nil {
			err = cmd.Wait()
		}
		took <- time.Since(begun)
	}()
	return func() {
		t := <-took
		fmt.Fprintf(r.out, "\n==== %s (ran beside the stages above)\n", name)
		before, causes := r.log.failures(), r.log.causes()
		r.log.read(&text, r.out, name)
		if err != nil && r.log.causes() == causes {
			r.log.fail("stage "+name, err.Error())
		}
		r.stages = append(r.stages, stageTime{name + " (beside)", t, cpuTime(cmd), r.log.failures() == before})
	}
}

// cpuTime is what a command that has ended, and the processes it waited for, used of the processor.
func cpuTime(cmd *exec.Cmd) time.Duration {
	if cmd.ProcessState == nil { // it did not start
		return 0
	}
	return cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
}

// makeTarget is the command of a stage. Variables have the form NAME=VALUE.
func (r *runner) makeTarget(ctx context.Context, name string, variables ...string) *exec.Cmd {
	return r.command(ctx, "make", append([]string{"--no-print-directory", "TESTFLAGS=-json", name}, variables...)...)
}

// command runs in the project's folder. Its processes form the terminal's group, so that Ctrl-C reaches them; they have
// a minute to end by themselves.
func (r *runner) command(ctx context.Context, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = r.dir
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = time.Minute
	return cmd
}

// pipe runs a command and gives its output to the log, line by line.
func (r *runner) pipe(cmd *exec.Cmd, stage string) error {
	reader, writer := io.Pipe()
	cmd.Stdout, cmd.Stderr = writer, writer
	done := make(chan struct{})
	go func() {
		defer close(done)
		r.log.read(reader, r.out, stage)
	}()
	err := cmd.Run()
	writer.Close()
	<-done
	return err
}

// raceTarget runs PACKAGES with the race detector, COUNT times.
const raceTarget = "race-packages"

// repeatCrashed runs each package in which the race detector crashed once more. A second crash is a failure.
func (r *runner) repeatCrashed(ctx context.Context) {
	for _, name := range r.log.raceCrashes {
		fmt.Fprintf(r.out, "\n==== %v once more: the race detector crashed\n", name)
		r.run(short(name.pkg)+" again", r.makeTarget(ctx, raceTarget, "PACKAGES="+name.pkg))
	}
}

// retryInconclusive runs each inconclusive test once more: by now the other work on the machine may have ended.
func (r *runner) retryInconclusive(ctx context.Context) {
	again := r.log.takeInconclusive()
	if len(again) == 0 {
		return
	}
	fmt.Fprintf(r.out, "\n==== inconclusive tests once more\n")
	begun := time.Now()
	var cpu time.Duration
	bin, err := filepath.Abs(filepath.Join(r.dir, "bin"))
	if err != nil {
		r.log.fail("stage again", err.Error())
		return
	}
	for _, f := range again {
		if time.Since(r.begun)+f.took > r.repeatUntil {
			r.log.inconclusive = append(r.log.inconclusive, f)
			continue
		}
		fmt.Fprintf(r.out, "%s took %s: %s\n", f.what, clock(f.took), f.reason)
		test := f.test
		cmd := r.command(ctx, "go", "test", "-json", "-count=1", "-timeout", "60m", "-run", test.pattern(), test.pkg)
		cmd.Env = append(os.Environ(), "REDLINE_BIN_DIR="+bin)
		before := r.log.failures()
		if err := r.pipe(cmd, "again"); err != nil && r.log.failures() == before {
			r.log.fail(test.String(), err.Error())
		}
		cpu += cpuTime(cmd)
	}
	r.stages = append(r.stages, stageTime{"again", time.Since(begun), cpu, true})
}
