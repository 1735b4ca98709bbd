package cli

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/redline-bench/redline/internal/command"
	"github.com/redline-bench/redline/internal/option"
	"github.com/redline-bench/redline/internal/pacompat/flags"
)

// manOptions are the options of `redline man`.
type manOptions struct{ dir string }

func (o *manOptions) rows() []option.Row {
	return option.Group("Options", []option.Row{
		{Long: "dir", Arg: "DIR", Help: "write the pages of all commands to this folder, one file a page, instead of printing one", To: option.Text(&o.dir)},
	})
}

// runMan is `redline man [command]`.
func runMan(p *command.IO, args []string) (int, error) {
	var o manOptions
	rest, err := command.Parse(&option.Table{Rows: o.rows()}, args, 0, 1, "name one command, or none")
	if err != nil {
		return 0, err
	}
	pages := manPages(p.Version)
	if o.dir != "" {
		if len(rest) > 0 {
			return 0, command.Usage(fmt.Errorf("--dir writes all pages: omit %q", rest[0]))
		}
		if err := os.MkdirAll(o.dir, 0o755); err != nil {
			return 0, err
		}
		for _, page := range pages {
			if err := p.Files.WriteFile(filepath.Join(o.dir, page.name+".1"), []byte(page.text)); err != nil {
				return 0, err
			}
		}
		return 0, nil
	}
	name := "redline"
	if len(rest) > 0 {
		name += "-" + rest[0]
	}
	for _, page := range pages {
		if page.name == name || len(rest) > 0 && page.name == rest[0] {
			fmt.Fprint(p.Stdout, page.text)
			return 0, nil
		}
	}
	return 0, noCommand(rest[0])
}

func aboutMan() option.Command {
	return option.Command{Intro: manHelp, Words: append(commandNames(), "perf_analyzer"), Rows: new(manOptions).rows()}
}

// manPage is one manual page.
type manPage struct{ name, text string }

// manPages returns the pages of the program, of each command and of perf_analyzer mode.
func manPages(version string) []manPage {
	source := flags.VersionLine(flags.Redline, version)
	main := option.Command{Summary: "load inference servers and measure them", Intro: overview()}
	pages := []manPage{{"redline", main.ManPage("redline", source)}}
	for _, c := range described() {
		pages = append(pages, manPage{"redline-" + c.Name, c.ManPage("redline-"+c.Name, source)})
	}
	drop := flags.Command(flags.PerfAnalyzer, "")
	drop.Summary = "load an inference server with the options and the report of perf_analyzer"
	return append(pages, manPage{"perf_analyzer", drop.ManPage("perf_analyzer", source)})
}

const manHelp = `Usage: redline man [COMMAND]

Prints the manual page of a command, or of the program, in the format of man.

Examples
  redline man profile | man -l -
      read the page of 'redline profile'
  redline man --dir ~/.local/share/man/man1
      install all pages for this user; then use 'man redline-profile'
`
