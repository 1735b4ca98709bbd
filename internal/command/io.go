package command

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/redline-bench/redline/internal/pending"
	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/report"
	"github.com/redline-bench/redline/internal/result"
	"github.com/redline-bench/redline/internal/secret"
	"github.com/redline-bench/redline/internal/term"
)

// IO is the process as the commands see it: a test can make one up.
type IO struct {
	Args       []string // with the program's name
	Stdin      io.Reader
	Stdout     io.Writer
	Stderr     io.Writer
	Getenv     func(string) string
	Executable func() (string, error)
	// Exit ends the process at once.
	Exit func(code int)
	// Width is the width in columns of the terminal on stdout, or else on stderr; 0 when neither is a terminal.
	Width func() int
	// OutTerminal and ErrTerminal tell whether stdout and stderr are terminals.
	OutTerminal, ErrTerminal bool
	// Line is the progress line on stderr; nil when stderr is no terminal.
	Line    *term.Line
	Version string // of this program
	Commit  string // that this program was built from; empty if it is not known
	Native  bool   // this build can load libraries at run time
	// Secrets are replaced in everything that is written: in the standard streams, in Files and in pages.
	Secrets *secret.Set
	Files   *pending.Output

	exact io.Writer // standard output before its lines are folded
}

// ForRun is the IO of a measuring command under its options: where progress goes, and whether anything is printed at all.
// The progress line stands under what is printed to the same terminal.
func (p *IO) ForRun(opts plan.Outcome, sigs *Signals) *IO {
	c := *p
	switch {
	case opts.Progress == "json":
		c.Line = term.NewJSON(p.Stderr, time.Now)
	case opts.Progress == "none" || opts.Quiet:
		c.Line = nil
	case opts.Progress == "tui" && c.Line == nil:
		fmt.Fprintln(p.Stderr, "--tui has no effect: standard error is not a terminal")
	case opts.Progress == "tui":
		c.Line = c.Line.View(term.Look{Color: p.Getenv("NO_COLOR") == "", Unicode: p.utf8()})
		sigs.suspendable(c.Line)
	}
	if opts.Quiet {
		c.Stdout, c.OutTerminal = io.Discard, false
	}
	c.besideLine()
	c.Stdout = c.Folded()
	if opts.Progress != "json" { // a program reads the lines of JSON, and those between them
		c.Stderr = c.FoldedErr()
	}
	sigs.announce(&c, func(_ os.Signal, nth int) {
		fmt.Fprintln(c.Stderr, [...]string{"", "stopping: waiting for requests in flight (press Ctrl-C again to cancel them)", "canceling requests in flight", "ending at once"}[min(nth, 3)])
	})
	return &c
}

// ForPrograms is the IO of a run whose output other programs read: lines stay as they are, and progress is shown only when stdout is a
// terminal. notice is what stdout says of the nth signal.
func (p *IO) ForPrograms(sigs *Signals, notice func(sig os.Signal, nth int) string) *IO {
	c := *p
	if !c.OutTerminal {
		c.Line = nil
	}
	c.besideLine()
	sigs.announce(&c, func(sig os.Signal, nth int) { fmt.Fprintln(c.Stdout, notice(sig, nth)) })
	return &c
}

// besideLine has the progress line stand under what is printed to the same terminal.
func (p *IO) besideLine() {
	p.Stderr = p.Line.Writer(p.Stderr)
	if p.OutTerminal {
		p.Stdout = p.Line.Writer(p.Stdout)
	}
	p.exact = p.Stdout
}

// Silenced returns a copy of p without output.
func (p *IO) Silenced() *IO {
	quiet := *p
	quiet.Stdout, quiet.Stderr = io.Discard, io.Discard
	return &quiet
}

// PrintJSON prints a value as indented JSON.
func (p *IO) PrintJSON(v any) error {
	e := json.NewEncoder(p.Stdout)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(v)
}

// Columns returns the width at which text is folded.
func (p *IO) Columns() int {
	if w := p.Width(); w > 0 {
		return w
	}
	return 100
}

// LineWidth is how many columns a line of standard output may have: COLUMNS, or the width of the terminal; 0, no limit, if standard
// output is no terminal.
func (p *IO) LineWidth() int { return p.lineWidth(p.OutTerminal) }

func (p *IO) lineWidth(terminal bool) int {
	if n, err := strconv.Atoi(p.Getenv("COLUMNS")); err == nil && n > 0 {
		return n
	}
	if terminal {
		return p.Width()
	}
	return 0
}

// Folded is standard output with lines that are folded between words at LineWidth.
func (p *IO) Folded() io.Writer { return p.folded(p.Stdout, p.OutTerminal) }

// FoldedErr is standard error with lines that are folded between words, by the rule of LineWidth.
func (p *IO) FoldedErr() io.Writer { return p.folded(p.Stderr, p.ErrTerminal) }

func (p *IO) folded(w io.Writer, terminal bool) io.Writer {
	return redacted{term.Fold(w, func() int { return p.lineWidth(terminal) }), p.Secrets}
}

// redacted replaces secrets before lines are folded: a secret with spaces could stand on two lines afterwards, where the
// stream below would not find it.
type redacted struct {
	w       io.Writer
	secrets *secret.Set
}

func (r redacted) Write(b []byte) (int, error) {
	if _, err := r.w.Write(r.secrets.RedactBytes(b)); err != nil {
		return 0, err
	}
	return len(b), nil
}

// Exact is standard output with lines as they are, for text that a user copies, such as a command line.
func (p *IO) Exact() io.Writer {
	if p.exact != nil {
		return p.exact
	}
	return p.Stdout
}

// Style is the style of Redline's own blocks on standard output: colored on a terminal.
func (p *IO) Style() report.Style { return p.style(p.OutTerminal) }

// ErrStyle is the style of Redline's own blocks on standard error.
func (p *IO) ErrStyle() report.Style { return p.style(p.ErrTerminal) }

func (p *IO) style(terminal bool) report.Style {
	return report.Style{Color: terminal && p.Getenv("NO_COLOR") == "" && p.Getenv("TERM") != "dumb", Width: p.lineWidth(terminal)}
}

// Shapes draws the latencies of a run if stdout is a terminal with Unicode.
func (p *IO) Shapes(res *result.Result) {
	if !p.OutTerminal || p.Getenv("TERM") == "dumb" || !p.utf8() {
		return
	}
	report.Shapes(p.Stdout, res.Levels, p.Style().TableWidth()-1)
}

// utf8 reports whether the locale uses UTF-8. The first variable that is set decides.
func (p *IO) utf8() bool {
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if v := strings.ToLower(p.Getenv(name)); v != "" {
			return strings.Contains(v, "utf-8") || strings.Contains(v, "utf8")
		}
	}
	return false
}
