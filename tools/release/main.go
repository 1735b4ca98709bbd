// Command release makes the files of a release from a source tree:
//
//	release [-dir TREE] [-out FOLDER] [-version V] [-commit C] [-platforms OS/ARCH,...] PART...
//
// The parts are archives (with third-party notices, a software bill of materials and a Homebrew formula), packages (.deb and
// .rpm), image (an OCI archive of the Containerfile) and wheels (Python). SHA256SUMS has the checksums of all of them. Two runs
// on equal trees with the same Go release write equal bytes, in any folder.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// platforms are those that a release is made for.
const platforms = "linux/amd64,linux/arm64,darwin/amd64,darwin/arm64,windows/amd64,windows/arm64"

// parts are what a release can consist of, by name.
var parts = map[string]func(context.Context, *release) error{
	"archives": writeArchives, "packages": writePackages, "image": writeImage, "wheels": writeWheels,
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	r := &release{}
	flag.StringVar(&r.dir, "dir", ".", "source tree")
	flag.StringVar(&r.out, "out", "dist", "folder for the files, within the source tree or absolute")
	version := flag.String("version", "", "version, such as v0.1.0 (default: of the git tag, or dev)")
	flag.StringVar(&r.commit, "commit", "", "commit (default: of the git repository, if there is one)")
	list := flag.String("platforms", platforms, "platforms, as OS/ARCH separated by commas")
	flag.Parse()
	if err := r.open(ctx, *version, *list); err != nil {
		return err
	}
	defer r.close()
	if flag.NArg() == 0 {
		return errors.New("name a part: archives, packages, image or wheels")
	}
	for _, name := range flag.Args() {
		part, ok := parts[name]
		if !ok {
			return fmt.Errorf("unknown part %q; the parts are archives, packages, image and wheels", name)
		}
		if err := part(ctx, r); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return r.writeSums()
}

// release is what all parts share.
type release struct {
	dir, out  string
	work      string // folder for intermediate files, removed at the end
	version   version
	commit    string
	when      time.Time // of the commit; the time of every file
	platforms []platform
	built     map[platform][]byte
	common    []file
	modules   []module
}

// platform is an operating system and an architecture in Go's names.
type platform struct{ os, arch string }

func (p platform) String() string { return p.os + "/" + p.arch }

// program is the name of the program's file on the platform.
func (p platform) program() string {
	if p.os == "windows" {
		return "redline.exe"
	}
	return "redline"
}

func (r *release) open(ctx context.Context, named, list string) error {
	var err error
	if r.dir, err = filepath.Abs(r.dir); err != nil {
		return err
	}
	if !filepath.IsAbs(r.out) {
		r.out = filepath.Join(r.dir, r.out)
	}
	for item := range strings.SplitSeq(list, ",") {
		goos, arch, ok := strings.Cut(item, "/")
		if !ok {
			return fmt.Errorf("platform %q is not OS/ARCH", item)
		}
		r.platforms = append(r.platforms, platform{goos, arch})
	}
	r.built = map[platform][]byte{}
	if named == "" {
		named = r.git(ctx, "describe", "--tags", "--always", "--dirty")
	}
	r.version = parseVersion(named)
	if r.commit == "" {
		r.commit = r.git(ctx, "rev-parse", "HEAD")
	}
	if r.when, err = r.date(ctx); err != nil {
		return err
	}
	if err := os.MkdirAll(r.out, 0o755); err != nil {
		return err
	}
	r.work, err = os.MkdirTemp("", "redline-release-")
	return err
}

func (r *release) close() { _ = os.RemoveAll(r.work) }

// date is SOURCE_DATE_EPOCH, or the time of the commit, or 1980 (the earliest time of a ZIP file).
func (r *release) date(ctx context.Context) (time.Time, error) {
	text := os.Getenv("SOURCE_DATE_EPOCH")
	if text == "" {
		text = r.git(ctx, "log", "-1", "--format=%ct")
	}
	earliest := time.Date(1980, 1, 1, 0, 0, 0, 0, time.UTC)
	if text == "" {
		return earliest, nil
	}
	seconds, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return earliest, fmt.Errorf("SOURCE_DATE_EPOCH is a number of seconds, not %q", text)
	}
	if when := time.Unix(seconds, 0).UTC(); when.After(earliest) {
		return when, nil
	}
	return earliest, nil
}

// git asks git about the source tree; empty where the tree is no repository of its own.
func (r *release) git(ctx context.Context, args ...string) string {
	if _, err := os.Stat(filepath.Join(r.dir, ".git")); err != nil {
		return ""
	}
	out, err := exec.CommandContext(ctx, "git", append([]string{"-C", r.dir}, args...)...).Output()
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(out))
}

// write puts a file of the release into its folder and names it on the console.
func (r *release) write(name string, data []byte) error {
	fmt.Println(name)
	return os.WriteFile(filepath.Join(r.out, name), data, 0o644)
}
