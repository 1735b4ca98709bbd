//go:build linux

package dist

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	built "github.com/redline-bench/redline/e2e/binary"
	"github.com/redline-bench/redline/e2e/peers"
	"github.com/redline-bench/redline/internal/testkit/outcome"
)

// all are the platforms of a release.
const all = "linux/amd64,linux/arm64,darwin/amd64,darwin/arm64,windows/amd64,windows/arm64"

// The whole release can be made here: every platform, with a Homebrew formula that Ruby can read, and a program for ARM that an
// emulator can run.
func TestAllPlatforms(t *testing.T) {
	outcome.HeavyOnly(t, "the release of all platforms")
	dir := t.TempDir()
	if err := releaseOf(built.Root(), dir, all, nil, parts...); err != nil {
		t.Fatal(err)
	}
	archives, err := filepath.Glob(filepath.Join(dir, "redline-"+version+"-*-*"))
	if err != nil || len(archives) != 6 {
		t.Errorf("%d archives of platforms: %v (%v)", len(archives), archives, err)
	}
	wheels, err := filepath.Glob(filepath.Join(dir, "*.whl"))
	if err != nil || len(wheels) != 7 {
		t.Errorf("%d wheels: %v (%v)", len(wheels), wheels, err)
	}
	t.Run("formula", func(t *testing.T) {
		ruby := install(t, peers.InstallRuby, func(err error) { outcome.NotTested(t, "the Homebrew formula", err, "ruby") })
		formula := filepath.Join(dir, "redline.rb")
		run(t, ruby, "-c", formula)
		if n := strings.Count(string(read(t, formula)), "sha256 \""); n != 4 {
			t.Errorf("the formula has %d archives, not 4", n)
		}
	})
	t.Run("arm64", func(t *testing.T) { onARM(t, dir) })
}

// The code of other operating systems passes go vet. The flags are those of a release, so that what TestAllPlatforms compiled is used again.
func TestVetOtherSystems(t *testing.T) {
	outcome.HeavyOnly(t, "go vet for macOS and Windows")
	for _, system := range []string{"darwin", "windows"} {
		cmd := exec.CommandContext(t.Context(), "go", "vet", "-trimpath", "-tags", "grpcnotrace", "./cmd/...", "./internal/...", ".")
		cmd.Dir = built.Root()
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=", "GOOS="+system, "GOARCH=arm64")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", system, err, out)
		}
	}
}

// onARM measures with the program for a 64-bit ARM processor, in an emulator.
func onARM(t *testing.T, dir string) {
	root := t.TempDir()
	unpack(t, root, gunzip(t, read(t, filepath.Join(dir, "redline-"+version+"-linux-arm64.tar.gz"))))
	emulator := install(t, peers.InstallQEMU, func(err error) { outcome.NotTested(t, "the program for linux/arm64", err, "qemu-user-static") })
	server, err := built.StartServer(root, program(t))
	if err != nil {
		t.Fatal(err)
	}
	defer server.Stop()
	emulated := filepath.Join(root, "redline-"+version+"-linux-arm64", "redline")
	for _, protocol := range []string{"http", "grpc"} {
		out := run(t, emulator, emulated, "profile", "-m", "simple", "-i", protocol, "-u", server.Address(protocol), "--request-count", "20", "--no-history")
		if !strings.Contains(out, "Request count: 20") {
			t.Errorf("%s:\n%s", protocol, out)
		}
	}
}

// program is the folder with the program for this machine.
func program(t *testing.T) string {
	t.Helper()
	dir, err := built.Build(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return dir
}
