// Package cli is the edge of the program: it turns the process into a command.IO, finds the command that the arguments name
// in its table, prints the command's error and returns the exit code. It also hands a command over to redline-native.
package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	xterm "golang.org/x/term"

	"github.com/redline-bench/redline/internal/command"
	"github.com/redline-bench/redline/internal/command/profile"
	"github.com/redline-bench/redline/internal/option"
	"github.com/redline-bench/redline/internal/pacompat/flags"
	"github.com/redline-bench/redline/internal/pending"
	"github.com/redline-bench/redline/internal/release"
	"github.com/redline-bench/redline/internal/secret"
	"github.com/redline-bench/redline/internal/term"
)

// Process is the IO of the running process.
func Process() *command.IO {
	secrets := &secret.Set{Words: command.Words}
	files := pending.New(secrets)
	p := &command.IO{
		Args: os.Args, Stdin: os.Stdin, Stdout: newStream(os.Stdout, files), Stderr: newStream(os.Stderr, files), Secrets: secrets, Files: files,
		Getenv: os.Getenv, Executable: executable, Exit: os.Exit, Version: release.Version(), Commit: release.Commit(), Native: native,
		Width: func() int {
			for _, f := range []*os.File{os.Stdout, os.Stderr} {
				if w, _, err := xterm.GetSize(int(f.Fd())); err == nil {
					return w
				}
			}
			return 0
		},
		OutTerminal: xterm.IsTerminal(int(os.Stdout.Fd())), ErrTerminal: xterm.IsTerminal(int(os.Stderr.Fd())),
	}
	if p.Getenv("TERM") != "dumb" {
		p.Line = term.Open(os.Stderr, p.Stderr)
	}
	survivePipes()
	return p
}

// executable is the path of this program. Without /proc, as in a root file system that has only this program, the path is
// that of the command line.
func executable() (string, error) {
	path, err := os.Executable()
	if err != nil && filepath.IsAbs(os.Args[0]) {
		return os.Args[0], nil
	}
	return path, err
}

// Main runs the command that the arguments name and returns the exit code.
func Main(p *command.IO) int { return closeStreams(p, run(p)) }

func run(p *command.IO) int {
	if native {
		endWithLauncher()
	}
	switch name := strings.TrimSuffix(filepath.Base(p.Args[0]), ".exe"); name {
	case "perf_analyzer", "perf_client":
		c := row{
			name: name, alone: true, about: func() option.Command { return flags.Command(flags.PerfAnalyzer, name) },
			run: func(p *command.IO, args []string) (int, error) {
				return profile.RunAs(p, flags.PerfAnalyzer, name, args)
			},
		}
		return c.do(p, p.Args[1:])
	case "llm_perf": // the Python perf tool for TensorRT-LLM
		c, _ := find("llm")
		return c.do(p, append([]string{"--console", "blocks"}, p.Args[1:]...))
	}
	if len(p.Args) < 2 {
		fmt.Fprint(p.Stderr, overview())
		return command.ExitError
	}
	name, args := p.Args[1], p.Args[2:]
	switch name {
	case "--version", "-V":
		name = "version"
	case "--help", "-h":
		name = "help"
	}
	c, ok := find(name)
	if !ok {
		fmt.Fprintf(p.FoldedErr(), "redline: %v\n", noCommand(name))
		return command.ExitError
	}
	return c.do(p, args)
}
