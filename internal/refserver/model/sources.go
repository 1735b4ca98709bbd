package model

import (
	"embed"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"

	"github.com/redline-bench/redline/internal/proto/kserve"
)

// builtin is the repository of the built-in models. They have no folders of versions: each has version 1; those that serve more have three.
//
//go:embed builtin/*
var builtin embed.FS

// source is where a model's configuration comes from.
type source struct {
	config *kserve.ModelConfig
	have   []int64 // versions that are there
	err    error
}

// read adds the models of a repository: a folder for each, with a config.pbtxt and a folder for each version. A model whose configuration is
// wrong is kept with its error, as the index must show it. at is the repository's path; empty for the built-in models.
func (r *Repository) read(dir fs.FS, at string) error {
	items, err := fs.ReadDir(dir, ".")
	if err != nil {
		return fmt.Errorf("read model repository: %w", err)
	}
	for _, item := range items {
		name := item.Name()
		text, err := fs.ReadFile(dir, path.Join(name, "config.pbtxt"))
		if err != nil {
			continue // no model
		}
		s := source{have: versions(dir, name)}
		if s.config, s.err = ParseConfig(text); s.err == nil && s.config.GetName() != "" && s.config.GetName() != name {
			s.err = fmt.Errorf("unexpected directory name '%s' for model '%s', directory name must equal model name", name, s.config.GetName())
		}
		s.config.Name = name
		policy := s.config.GetVersionPolicy()
		if at == "" {
			s.have = []int64{1, 2, 3}[:1+2*min(1, policy.GetLatest().GetNumVersions()-1)]
		}
		if s.err == nil && len(chooseVersions(slices.Clone(s.have), policy)) == 0 {
			s.err = fmt.Errorf("at least one version must be available under the version policy of model '%s'", name)
		}
		if s.err != nil {
			s.err = fmt.Errorf("%s: %w", path.Join(at, name, "config.pbtxt"), s.err)
		}
		r.entries[name] = &entry{source: s}
	}
	return nil
}

func versions(dir fs.FS, model string) []int64 {
	items, _ := fs.ReadDir(dir, model) // a folder that cannot be read has no versions
	var out []int64
	for _, item := range items {
		if n, err := strconv.ParseInt(item.Name(), 10, 64); err == nil && n > 0 && item.Name()[0] != '0' {
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
