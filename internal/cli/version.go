package cli

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/redline-bench/redline/internal/command"
	"github.com/redline-bench/redline/internal/option"
	"github.com/redline-bench/redline/internal/pacompat/flags"
	"github.com/redline-bench/redline/internal/plan"
)

// runVersion is `redline version`.
func runVersion(p *command.IO, args []string) (int, error) {
	if _, err := command.Parse(&option.Table{}, args, 0, 0, ""); err != nil {
		return 0, err
	}
	fmt.Fprintf(p.Stdout, "%s (%s %s/%s)\n", flags.VersionLine(plan.Redline, p.Version), runtime.Version(), runtime.GOOS, runtime.GOARCH)
	return 0, nil
}

// builtVersion returns the version that Go stamped into the binary: a release, or "dev" and the commit.
func builtVersion() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return devVersion
	}
	return versionOf(info)
}

// devVersion is the version of a build without release or commit.
const devVersion = "dev"

func versionOf(info *debug.BuildInfo) string {
	if v := info.Main.Version; v != "" && v != "(devel)" {
		return v
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" && s.Value != "" {
			return devVersion + "-" + s.Value[:min(len(s.Value), 12)]
		}
	}
	return devVersion
}
