// Package release tells which release this program is: what the linker was told, else what Go recorded in the binary.
package release

import (
	"cmp"
	"runtime/debug"
)

// The linker sets version and commit in release builds; nothing else does.
var version, commit string

// development is the version of a build without release or commit.
const development = "dev"

// Version is a release, such as v0.1.0, or "dev" and the commit.
func Version() string { return cmp.Or(version, versionOf(recorded())) }

// Commit is the commit that this program was built from; empty if it is not known.
func Commit() string { return cmp.Or(commit, commitOf(recorded())) }

// Agent is how this program names itself to servers.
func Agent() string { return "redline/" + Version() }

func recorded() *debug.BuildInfo {
	if info, ok := debug.ReadBuildInfo(); ok {
		return info
	}
	return &debug.BuildInfo{}
}

func versionOf(info *debug.BuildInfo) string {
	own := info.Main
	for _, dep := range info.Deps { // of a program that imports the Go package
		if dep.Path == "github.com/redline-bench/redline" {
			own = *dep
		}
	}
	if own.Version != "" && own.Version != "(devel)" {
		return own.Version
	}
	if commit := commitOf(info); commit != "" {
		return development + "-" + commit[:min(len(commit), 12)]
	}
	return development
}

func commitOf(info *debug.BuildInfo) string {
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			return s.Value
		}
	}
	return ""
}
