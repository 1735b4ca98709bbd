//go:build linux

package dist

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/redline-bench/redline/e2e/peers"
	"github.com/redline-bench/redline/internal/testkit/outcome"
)

// load is a small run that needs the embedded server.
var load = []string{"profile", "--embedded", "-m", "simple", "--request-count", "20", "--no-history"}

// command is a command of a program within a root file system that has no /proc, no libraries and no other user.
func command(t *testing.T, root string, user int, name string, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir, cmd.Env = "/", []string{}
	cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: root}
	if os.Geteuid() == 0 {
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: uint32(user), Gid: uint32(user)}
	} else {
		cmd.SysProcAttr.Cloneflags = syscall.CLONE_NEWUSER
		cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: user, HostID: os.Getuid(), Size: 1}}
		cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: user, HostID: os.Getgid(), Size: 1}}
	}
	return cmd
}

// valid runs a command of a measurement and holds that it measured.
func valid(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	out, err := cmd.CombinedOutput()
	if errors.Is(err, syscall.EPERM) {
		outcome.NotTested(t, "programs in a root file system of their own", err, "permission for user namespaces, or run as root")
	}
	if err != nil || !strings.Contains(string(out), "Request count: 20") {
		t.Errorf("%s: %v\n%s", strings.Join(cmd.Args, " "), err, out)
	}
}

// mkdir makes a folder that every user can enter.
func mkdir(t *testing.T, path ...string) string {
	t.Helper()
	dir := filepath.Join(path...)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

// newRoot makes a root file system in which every user can enter.
func newRoot(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, path := range []string{dir, filepath.Dir(dir)} {
		if err := os.Chmod(path, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// The program needs no file except itself: it measures in an empty root file system, as a user without rights.
func TestEmptyRoot(t *testing.T) {
	t.Parallel()
	root := newRoot(t)
	if err := os.Rename(unpackedProgram(t), filepath.Join(root, "redline")); err != nil {
		t.Fatal(err)
	}
	valid(t, command(t, root, 65532, "/redline", load...))
}

func TestDeb(t *testing.T) {
	t.Parallel()
	if err := nfpm(); err != nil {
		outcome.NotTested(t, "the .deb package", err, "")
	}
	dpkg, err := exec.LookPath("dpkg")
	if err != nil {
		outcome.NotTested(t, "the .deb package", err, "dpkg")
	}
	root := newRoot(t)
	mkdir(t, root, "var/lib/dpkg/updates")
	mkdir(t, root, "var/lib/dpkg/info")
	if err := os.WriteFile(filepath.Join(root, "var/lib/dpkg/status"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	admin := []string{"--root=" + root, "--force-not-root", "--force-script-chrootless", "--log=/dev/null"}
	run(t, dpkg, append(admin, "-i", find(t, "*.deb"))...)
	installed(t, root)
	run(t, dpkg, append(admin, "-r", "redline")...)
	if _, err := os.Stat(filepath.Join(root, "usr/bin/redline")); err == nil {
		t.Error("the program is still there after it was removed")
	}
}

func TestRPM(t *testing.T) {
	t.Parallel()
	if err := nfpm(); err != nil {
		outcome.NotTested(t, "the .rpm package", err, "")
	}
	rpm := install(t, peers.InstallRPM, func(err error) { outcome.NotTested(t, "the .rpm package", err, "rpm") })
	root := newRoot(t)
	if os.Geteuid() != 0 {
		outcome.NotTested(t, "the .rpm package", errors.New("rpm installs into another root file system only for root"), "nothing; run as root")
	}
	run(t, rpm, "--root", root, "-i", find(t, "*.rpm"))
	installed(t, root)
	run(t, rpm, "--root", root, "-V", "redline")
	run(t, rpm, "--root", root, "-e", "redline")
	if _, err := os.Stat(filepath.Join(root, "usr/bin/redline")); err == nil {
		t.Error("the program is still there after it was removed")
	}
}

// installed holds that a package has put everything into its place.
func installed(t *testing.T, root string) {
	t.Helper()
	for _, name := range []string{"usr/share/man/man1/redline.1", "usr/share/bash-completion/completions/redline", "usr/share/doc/redline/copyright", "usr/share/doc/redline/THIRD_PARTY_NOTICES.txt"} {
		if _, err := os.Stat(filepath.Join(root, name)); err != nil {
			t.Error(err)
		}
	}
	valid(t, command(t, root, 65532, "/usr/bin/redline", load...))
	out, err := command(t, root, 65532, "/usr/lib/redline/perf_analyzer", "--version").CombinedOutput()
	if err != nil || !strings.Contains(string(out), "Perf Analyzer Version") {
		t.Errorf("perf_analyzer --version: %v\n%s", err, out)
	}
}

// descriptor names a blob of an image.
type descriptor struct {
	Digest string `json:"digest"`
	Size   int    `json:"size"`
}

// The image starts, without an engine, as its configuration says: a user without rights, in a root file system that has only
// the program and licenses.
func TestImage(t *testing.T) {
	t.Parallel()
	layout, root := t.TempDir(), newRoot(t)
	unpack(t, layout, read(t, find(t, "*-oci.tar")))
	var index, versions struct{ Manifests []descriptor }
	decode(t, read(t, filepath.Join(layout, "index.json")), &index)
	decode(t, blob(t, layout, index.Manifests[0]), &versions)
	var manifest struct {
		Config descriptor
		Layers []descriptor
	}
	decode(t, blob(t, layout, versions.Manifests[0]), &manifest)
	var image struct {
		Config struct {
			User, WorkingDir string
			Entrypoint, Env  []string
		}
	}
	decode(t, blob(t, layout, manifest.Config), &image)
	for _, layer := range manifest.Layers {
		unpack(t, root, gunzip(t, blob(t, layout, layer)))
	}
	user, _, _ := strings.Cut(image.Config.User, ":")
	id, err := strconv.Atoi(user)
	if err != nil || id == 0 {
		t.Fatalf("the image runs as user %q", image.Config.User)
	}
	cmd := command(t, root, id, image.Config.Entrypoint[0], load...)
	cmd.Dir, cmd.Env = image.Config.WorkingDir, image.Config.Env
	valid(t, cmd)
	worker := command(t, root, id, image.Config.Entrypoint[0], "worker", "--help")
	worker.Dir, worker.Env = image.Config.WorkingDir, image.Config.Env
	if out, err := worker.CombinedOutput(); err != nil || !strings.HasPrefix(string(out), "Usage: redline worker") {
		t.Errorf("redline worker --help: %v\n%s", err, out)
	}
}

// blob reads a blob of an image and checks its digest.
func blob(t *testing.T, layout string, d descriptor) []byte {
	t.Helper()
	data := read(t, filepath.Join(layout, "blobs", strings.Replace(d.Digest, ":", "/", 1)))
	if got := sum(data); got != d.Digest || len(data) != d.Size {
		t.Errorf("blob %s has the digest %s and %d bytes, not %d", d.Digest, got, len(data), d.Size)
	}
	return data
}

func decode(t *testing.T, data []byte, to any) {
	t.Helper()
	if err := json.Unmarshal(data, to); err != nil {
		t.Fatal(fmt.Errorf("%w\n%s", err, data))
	}
}
