package cli

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/redline-bench/redline/internal/optset"
	"github.com/redline-bench/redline/internal/pacompat/flags"
	"github.com/redline-bench/redline/internal/plan"
)

// runVersion is `redline version`.
func runVersion(p *IO, args []string) (int, error) {
	if _, err := parse(&optset.Set{}, args, 0, 0, ""); err != nil {
		return exitError, err
	}
	fmt.Fprintf(p.Stdout, "%s (%s %s/%s)\n", flags.VersionLine(plan.Redline, p.version()), runtime.Version(), runtime.GOOS, runtime.GOARCH)
	return exitOK, nil
}

// version is what the linker was told, or else what Go stamped into the binary: a release, or a time and commit of
// development.
func (p *IO) version() string {
	if p.Version != "" {
		return p.Version
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return devVersion
	}
	return versionOf(info)
}

// devVersion names a build that knows nothing of its origin.
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
