package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// writePackages writes .deb and .rpm packages for Linux, with nfpm.
func writePackages(ctx context.Context, r *release) error {
	nfpm, err := exec.CommandContext(ctx, filepath.Join(r.dir, "scripts", "nfpm.sh")).Output()
	if err != nil {
		return fmt.Errorf("scripts/nfpm.sh: %w%s", err, stderrOf(err))
	}
	for _, p := range r.platforms {
		if p.os != "linux" {
			continue
		}
		dir, err := r.stage(ctx, p)
		if err != nil {
			return err
		}
		for _, kind := range []string{"deb", "rpm"} {
			name := fmt.Sprintf("redline-%s-%s.%s", r.version.tag, p.arch, kind)
			cmd := exec.CommandContext(ctx, strings.TrimSpace(string(nfpm)), "package",
				"--config", filepath.Join(r.dir, "packaging", "nfpm.yaml"), "--packager", kind, "--target", filepath.Join(r.out, name))
			cmd.Dir = dir
			cmd.Env = append(os.Environ(), "GOARCH="+p.arch, "VERSION="+r.version.semver, fmt.Sprintf("SOURCE_DATE_EPOCH=%d", r.when.Unix()))
			if out, err := cmd.CombinedOutput(); err != nil {
				return fmt.Errorf("%s: %w\n%s", name, err, out)
			}
			fmt.Println(name)
		}
	}
	return nil
}

// stage writes the files of a platform's archive to a folder. Their times are that of the commit.
func (r *release) stage(ctx context.Context, p platform) (string, error) {
	program, err := r.binary(ctx, p)
	if err != nil {
		return "", err
	}
	list, err := r.commonFiles(ctx)
	if err != nil {
		return "", err
	}
	dir := filepath.Join(r.work, "stage-"+p.os+"-"+p.arch)
	for _, f := range append([]file{{name: p.program(), data: program, mode: 0o755}}, list...) {
		path := filepath.Join(dir, filepath.FromSlash(f.name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return "", err
		}
		if err := os.WriteFile(path, f.data, f.mode); err != nil {
			return "", err
		}
		if err := os.Chtimes(path, r.when, r.when); err != nil {
			return "", err
		}
	}
	return dir, nil
}

func stderrOf(err error) string {
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return "\n" + string(exit.Stderr)
	}
	return ""
}
