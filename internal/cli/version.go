package cli

import (
	"fmt"
	"io"
	"runtime"
	"runtime/debug"

	"github.com/redline-bench/redline/internal/pacompat/flags"
	"github.com/redline-bench/redline/internal/plan"
)

// runVersion is `redline version`.
func runVersion(args []string, stdout io.Writer) int {
	if len(args) > 0 && (args[0] == "-h" || args[0] == "--help") {
		fmt.Fprint(stdout, versionHelp)
		return exitOK
	}
	fmt.Fprintf(stdout, "%s (%s %s/%s)\n", flags.VersionLine(plan.Redline, versionString()), runtime.Version(), runtime.GOOS, runtime.GOARCH)
	return exitOK
}

// versionString is the version that Go stamped into the binary: a release, or a time and commit of development.
func versionString() string {
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
