package cli

import (
	"fmt"
	"runtime"

	"github.com/redline-bench/redline/internal/command"
	"github.com/redline-bench/redline/internal/option"
	"github.com/redline-bench/redline/internal/pacompat/flags"
	"github.com/redline-bench/redline/internal/result"
)

// versionOptions are the options of `redline version`.
type versionOptions struct{ json bool }

func (o *versionOptions) rows() []option.Row {
	return option.Group("Options", []option.Row{
		{Long: "json", Help: "print a JSON object, for programs", To: option.Switch(&o.json)},
	})
}

func aboutVersion() option.Command {
	return option.Command{Intro: versionHelp, Rows: new(versionOptions).rows()}
}

// versionReport is what `redline version --json` prints.
type versionReport struct {
	Version string `json:"version"`
	Commit  string `json:"commit,omitempty"`
	Go      string `json:"go"`
	OS      string `json:"os"`
	Arch    string `json:"arch"`
	// Native: this build can load shared libraries.
	Native bool `json:"native"`
	// ResultSchema is the version of the JSON that --json of the measuring commands writes.
	ResultSchema int `json:"result_schema"`
}

// runVersion is `redline version`.
func runVersion(p *command.IO, args []string) (int, error) {
	var o versionOptions
	if _, err := command.Parse(&option.Table{Rows: o.rows()}, args, 0, 0, ""); err != nil {
		return 0, err
	}
	if o.json {
		return 0, p.PrintJSON(versionReport{
			Version: p.Version, Commit: p.Commit, Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH,
			Native: p.Native, ResultSchema: result.Schema,
		})
	}
	fmt.Fprintf(p.Stdout, "%s (%s %s/%s)\n", flags.VersionLine(flags.Redline, p.Version), runtime.Version(), runtime.GOOS, runtime.GOARCH)
	return 0, nil
}
