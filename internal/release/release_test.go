package release

import (
	"runtime/debug"
	"testing"
)

func TestVersion(t *testing.T) {
	f := func(want string, info debug.BuildInfo) {
		t.Helper()
		if got := versionOf(&info); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	rev := []debug.BuildSetting{{Key: "vcs.revision", Value: "0123456789abcdef"}}
	f("v1.2.3", debug.BuildInfo{Main: debug.Module{Version: "v1.2.3"}, Settings: rev})
	f("dev-0123456789ab", debug.BuildInfo{Main: debug.Module{Version: "(devel)"}, Settings: rev})
	f("dev", debug.BuildInfo{})
	own := debug.Module{Path: "github.com/redline-bench/redline", Version: "v1.2.4"}
	f("v1.2.4", debug.BuildInfo{Main: debug.Module{Version: "v9.9.9"}, Deps: []*debug.Module{{Path: "example.com/x", Version: "v7"}, &own}})
}
