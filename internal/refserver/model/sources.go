package model

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/redline-bench/redline/internal/proto/kserve"
)

//go:embed builtin/*.pbtxt
var builtinFiles embed.FS

// builtins reads the embedded configurations. Each has version 1; those that serve more have three.
func builtins() (map[string]source, error) {
	files, err := fs.Glob(builtinFiles, "builtin/*.pbtxt")
	if err != nil {
		return nil, err
	}
	out := map[string]source{}
	for _, file := range files {
		text, err := fs.ReadFile(builtinFiles, file)
		if err != nil {
			return nil, err
		}
		cfg, err := ParseConfig(text)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		have := []int64{1}
		if cfg.GetVersionPolicy().GetLatest().GetNumVersions() > 1 {
			have = []int64{1, 2, 3}
		}
		out[cfg.GetName()] = source{config: cfg, have: have}
	}
	return out, nil
}

// readDir reads a model repository: a folder for each model, with a config.pbtxt and a folder for each version. A model
// whose configuration is wrong is kept with its error, as the index must show it.
func readDir(dir string) (map[string]source, error) {
	items, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("read model repository: %w", err)
	}
	out := map[string]source{}
	for _, item := range items {
		folder := filepath.Join(dir, item.Name())
		if info, err := os.Stat(folder); err != nil || !info.IsDir() {
			continue
		}
		s, err := readModel(folder, item.Name())
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		s.err = err
		out[item.Name()] = s
	}
	return out, nil
}

func readModel(folder, name string) (source, error) {
	text, err := os.ReadFile(filepath.Join(folder, "config.pbtxt"))
	if err != nil {
		return source{}, err
	}
	cfg, err := ParseConfig(text)
	if err != nil {
		return source{config: cfg}, fmt.Errorf("%s: %w", filepath.Join(folder, "config.pbtxt"), err)
	}
	switch cfg.GetName() {
	case "", name:
		cfg.Name = name
	default:
		return source{config: cfg}, fmt.Errorf("unexpected directory name '%s' for model '%s', directory name must equal model name", name, cfg.GetName())
	}
	s := source{config: cfg, have: versionFolders(folder)}
	if len(chooseVersions(slices.Clone(s.have), cfg.GetVersionPolicy())) == 0 {
		return s, fmt.Errorf("at least one version must be available under the version policy of model '%s'", name)
	}
	return s, nil
}

func versionFolders(folder string) []int64 {
	items, _ := os.ReadDir(folder) // a folder that cannot be read has no versions
	var out []int64
	for _, item := range items {
		if n, err := strconv.ParseInt(item.Name(), 10, 64); err == nil && n > 0 && !strings.HasPrefix(item.Name(), "0") {
			out = append(out, n)
		}
	}
	slices.Sort(out)
	return out
}

// chooseVersions applies a version policy to the versions that are there, oldest first.
func chooseVersions(have []int64, policy *kserve.ModelVersionPolicy) []int64 {
	switch p := policy.GetPolicyChoice().(type) {
	case *kserve.ModelVersionPolicy_All_:
		return have
	case *kserve.ModelVersionPolicy_Specific_:
		return slices.DeleteFunc(have, func(v int64) bool { return !slices.Contains(p.Specific.GetVersions(), v) })
	default:
		n := max(int(policy.GetLatest().GetNumVersions()), 1)
		return have[max(0, len(have)-n):]
	}
}
