package cli

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/redline-bench/redline/internal/command"
	"github.com/redline-bench/redline/internal/service/tritoncapi"
)

// nativeName is the build of this program that can load libraries at run time.
const nativeName = "redline-native"

// handOver runs the same command line in redline-native, as a child process. If a library crashes, only the child ends, and
// handOver reports the crash.
func handOver(p *command.IO, why string) int {
	path, err := findNative(p)
	if err != nil {
		fmt.Fprintf(p.Stderr, "%s, which needs %s: %v; build it with 'make build' and keep it beside redline\n", why, nativeName, err)
		return command.ExitError
	}
	cmd := &exec.Cmd{Path: path, Args: p.Args, Stdin: p.Stdin, Stdout: rawFile(p.Stdout), Stderr: rawFile(p.Stderr)}
	defer notifyOnDeath(cmd)()
	if err := cmd.Start(); err != nil {
		fmt.Fprintf(p.Stderr, "start %s: %v\n", path, err)
		return command.ExitError
	}
	signals := make(chan os.Signal, 4) // caught until this process ends: a late signal must not replace the child's exit code
	command.CatchSignals(signals)
	go func() {
		for s := range signals {
			if s != os.Interrupt {
				_ = cmd.Process.Signal(s) // the terminal sends an interrupt to the child itself
			}
		}
	}()
	return childCode(p, cmd.Process.Pid, cmd.Wait())
}

func findNative(p *command.IO) (string, error) {
	exe, err := p.Executable()
	if err == nil {
		exe, err = filepath.EvalSymlinks(exe)
	}
	if err == nil {
		beside := filepath.Join(filepath.Dir(exe), nativeName)
		if _, err := os.Stat(beside); err == nil {
			return beside, nil
		}
	}
	path, err := exec.LookPath(nativeName)
	if err != nil {
		return "", errors.New("it is neither beside this program nor in PATH")
	}
	return path, nil
}

// childCode returns the child's exit code. If a signal ended the child, it prints which.
func childCode(p *command.IO, pid int, err error) int {
	var exit *exec.ExitError
	switch {
	case err == nil:
		return command.ExitOK
	case errors.As(err, &exit) && exit.ExitCode() >= 0:
		return exit.ExitCode()
	case errors.As(err, &exit):
		fmt.Fprintf(p.Stderr, "%s died (%s), most likely inside a library that it had loaded\n", nativeName, exit.ProcessState)
		tritoncapi.Sweep(pid) // an in-process Triton leaves helper processes and their shared memory behind
	default:
		fmt.Fprintln(p.Stderr, err)
	}
	return command.ExitError
}
