package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

// buildTags are the tags of a release build, which the Makefile explains.
func (p platform) buildTags() string {
	if p.os == "linux" {
		return "grpcnotrace,netgo,osusergo"
	}
	return "grpcnotrace"
}

// binary is the static program for a platform. It is built once.
func (r *release) binary(ctx context.Context, p platform) ([]byte, error) {
	if data, ok := r.built[p]; ok {
		return data, nil
	}
	path, err := r.build(ctx, p)
	if err != nil {
		return nil, err
	}
	data, err := os.ReadFile(path)
	r.built[p] = data
	return data, err
}

// build compiles the program for a platform into the folder for intermediate files.
func (r *release) build(ctx context.Context, p platform) (string, error) {
	path := filepath.Join(r.work, p.os+"-"+p.arch, p.program())
	link := fmt.Sprintf("-s -w -buildid= -X %[1]s.version=%[2]s -X %[1]s.commit=%[3]s", "github.com/redline-bench/redline/internal/release", r.version.tag, r.commit)
	// Without buildvcs=false, a build in a folder without a repository would differ. GOGC has the compiler use less CPU time and more memory.
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-buildvcs=false", "-tags", p.buildTags(), "-ldflags", link, "-o", path, "./cmd/redline")
	cmd.Dir = r.dir
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+p.os, "GOARCH="+p.arch, "GOFLAGS=", "GOAMD64=v1", "GOARM64=v8.0", "GOEXPERIMENT=", "GOGC=400")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build for %s: %w\n%s", p, err, out)
	}
	return path, nil
}

// host runs the program of this machine's platform and returns what it prints.
func (r *release) host(ctx context.Context, args ...string) ([]byte, error) {
	p := platform{runtime.GOOS, runtime.GOARCH}
	path := filepath.Join(r.work, p.os+"-"+p.arch, p.program())
	if _, err := os.Stat(path); err != nil {
		if _, err := r.binary(ctx, p); err != nil {
			return nil, err
		}
	}
	out, err := exec.CommandContext(ctx, path, args...).Output()
	if err != nil {
		return nil, fmt.Errorf("redline %s: %w", strings.Join(args, " "), err)
	}
	return out, nil
}
