// Package cli is the edge of the program: it alone reads the arguments, the environment and the standard
// streams, traps signals, and chooses exit codes. One file holds one command; everything below is told what
// it needs and returns what it found.
package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	xterm "golang.org/x/term"

	"github.com/redline-bench/redline/internal/pending"
	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/secret"
	"github.com/redline-bench/redline/internal/term"
)

// Exit codes. They are perf_analyzer's, so that its callers understand ours.
const (
	exitOK          = 0
	exitUnstable    = 2
	exitNoRequests  = 3
	exitAssertion   = 4 // a rule of --assert, or the baseline, was missed
	exitInvalid     = 5 // a gate was asked for, and the run says nothing of the server
	exitError       = 99
	exitInterrupted = 130
	exitPipe        = 141 // the reader of standard output is gone; as a shell reports SIGPIPE
)

// IO is the process as the commands see it: a test can make one up.
type IO struct {
	Args       []string // with the program's name
	Stdin      io.Reader
	Stdout     io.Writer
	Stderr     io.Writer
	Getenv     func(string) string
	Executable func() (string, error)
	// Width is the width of the terminal on stderr in columns; 0 when stderr is no terminal.
	Width func() int
	// OutTerminal tells whether stdout is a terminal.
	OutTerminal bool
	// Line is the progress line on stderr; nil when stderr is no terminal.
	Line    *term.Line
	Version string // set by the linker; empty in plain builds
	// Secrets are replaced in everything that is written: in the standard streams, in Files and in pages.
	Secrets *secret.Set
	Files   *pending.Output
}

// Process is the IO of the running process.
func Process(version string) *IO {
	secrets := &secret.Set{}
	files := pending.New(secrets)
	p := &IO{
		Args: os.Args, Stdin: os.Stdin, Stdout: newStream(os.Stdout, files), Stderr: newStream(os.Stderr, files), Secrets: secrets, Files: files,
		Getenv: os.Getenv, Executable: os.Executable, Version: version,
		Width: func() int {
			w, _, err := xterm.GetSize(int(os.Stderr.Fd()))
			if err != nil {
				return 0
			}
			return w
		},
		OutTerminal: xterm.IsTerminal(int(os.Stdout.Fd())),
	}
	if p.Getenv("TERM") != "dumb" {
		p.Line = term.Open(os.Stderr, p.Stderr)
	}
	survivePipes()
	return p
}

// Main runs the command that the arguments name and returns the exit code.
func Main(p *IO) int { return p.closeStreams(p.run()) }

func (p *IO) run() int {
	if native {
		endWithLauncher()
	}
	name := filepath.Base(p.Args[0])
	if name == "perf_analyzer" || name == "perf_client" {
		return runProfile(p, plan.DropIn, name, p.Args[1:])
	}
	if len(p.Args) < 2 {
		fmt.Fprint(p.Stderr, overview())
		return exitError
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
		fmt.Fprintf(p.Stderr, "redline: %v%s\n", noCommand(name), perhaps(name))
		return exitError
	}
	return c.do(p, args)
}

// perhaps guesses that a flag in the command's place was meant for profile.
func perhaps(command string) string {
	if strings.HasPrefix(command, "-") {
		return "; options come after the command, as in 'redline profile -m MODEL'"
	}
	return ""
}

// signalContext ends at the first SIGINT, SIGTERM or SIGHUP.
func (p *IO) signalContext() (context.Context, func()) {
	s := p.watchSignals(writing)
	return s.soft, s.stop
}
