package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// module is foreign code in the program: a Go module, the Go standard library, or vendored JavaScript.
type module struct {
	Name, Version string
	Texts         []string // license texts
	License       string   // SPDX identifier
	PURL          string   // package URL
}

// uplot is the vendored script that draws the charts of the report.
const uplot = "internal/report/page/assets/uPlot."

// linked are the modules that the program contains on any platform, with their licenses, sorted by name.
func (r *release) linked(ctx context.Context) ([]module, error) {
	if r.modules != nil {
		return r.modules, nil
	}
	found := map[string]string{} // folder by name and version
	for _, p := range r.platforms {
		if err := listModules(ctx, r.dir, p, found); err != nil {
			return nil, err
		}
	}
	var list []module
	for key, dir := range found {
		name, version, _ := strings.Cut(key, "@")
		m, err := newModule(name, version, dir)
		if err != nil {
			return nil, err
		}
		m.PURL = "pkg:golang/" + key
		list = append(list, m)
	}
	more, err := withoutModule(ctx, r.dir)
	if err != nil {
		return nil, err
	}
	list = append(list, more...)
	slices.SortFunc(list, func(a, b module) int { return cmp.Compare(a.Name, b.Name) })
	r.modules = list
	return list, nil
}

// listModules adds the modules of the packages that the program has on a platform.
func listModules(ctx context.Context, dir string, p platform, found map[string]string) error {
	cmd := exec.CommandContext(ctx, "go", "list", "-deps", "-tags", p.buildTags(), "-json=Module", "./cmd/redline")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+p.os, "GOARCH="+p.arch)
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("list the modules: %w\n%s", err, errs.String())
	}
	type pkg struct {
		Module *struct {
			Path, Version, Dir string
			Main               bool
		}
	}
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var one pkg
		if err := d.Decode(&one); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		if m := one.Module; m != nil && !m.Main {
			found[m.Path+"@"+m.Version] = m.Dir
		}
	}
}

// withoutModule are the parts that no module has: the Go standard library and uPlot.
func withoutModule(ctx context.Context, dir string) ([]module, error) {
	out, err := exec.CommandContext(ctx, "go", "env", "GOROOT", "GOVERSION").Output()
	if err != nil {
		return nil, err
	}
	root, version, _ := strings.Cut(strings.TrimSpace(string(out)), "\n")
	std, err := newModule("Go standard library", strings.TrimPrefix(version, "go"), root)
	if err != nil {
		return nil, err
	}
	std.PURL = "pkg:golang/std@" + std.Version
	license, err := os.ReadFile(filepath.Join(dir, uplot+"LICENSE"))
	if err != nil {
		return nil, err
	}
	script, err := os.ReadFile(filepath.Join(dir, uplot+"iife.min.js"))
	if err != nil {
		return nil, err
	}
	m := regexp.MustCompile(`uPlot.*\(v([0-9.]+)\)`).FindSubmatch(script)
	if m == nil {
		return nil, fmt.Errorf("%siife.min.js names no version", uplot)
	}
	chart := module{Name: "uPlot", Version: string(m[1]), Texts: []string{string(license)}, PURL: "pkg:npm/uplot@" + string(m[1])}
	chart.License, err = licenseOf("uPlot", chart.Texts)
	return []module{std, chart}, err
}

var licenseFile = regexp.MustCompile(`(?i)^(licen[cs]e|copying|notice|patents)([.-].*)?$`)

// newModule reads the license files of a module's folder.
func newModule(name, version, dir string) (module, error) {
	m := module{Name: name, Version: version}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return m, fmt.Errorf("%s: %w; run 'go mod download'", name, err)
	}
	for _, e := range entries {
		if e.Type().IsRegular() && licenseFile.MatchString(e.Name()) {
			text, err := os.ReadFile(filepath.Join(dir, e.Name()))
			if err != nil {
				return m, err
			}
			m.Texts = append(m.Texts, string(text))
		}
	}
	m.License, err = licenseOf(name, m.Texts)
	return m, err
}

// licenses are the licenses that the program may contain: identifier, and phrases that only this license has.
var licenses = []struct {
	id      string
	phrases []string
}{
	{"Apache-2.0", []string{"Apache License", "Version 2.0, January 2004"}},
	{"MIT", []string{"Permission is hereby granted, free of charge, to any person obtaining a copy"}},
	{"BSD-3-Clause", []string{"Redistribution and use in source and binary forms", "Neither the name"}},
	{"BSD-3-Clause", []string{"Redistribution and use in source and binary forms", "be used to endorse or promote products"}},
	{"BSD-2-Clause", []string{"Redistribution and use in source and binary forms"}},
	{"ISC", []string{"Permission to use, copy, modify, and/or distribute this software for any purpose with or without fee"}},
}

// licenseOf returns the SPDX expression of license texts. A license that is not in the table is an error: someone must read it.
func licenseOf(name string, texts []string) (string, error) {
	var ids []string
	for _, text := range texts {
		text = strings.Join(strings.Fields(text), " ")
		for _, l := range licenses {
			if !slices.ContainsFunc(l.phrases, func(p string) bool { return !strings.Contains(text, p) }) {
				ids = append(ids, l.id)
			}
		}
	}
	if slices.Contains(ids, "BSD-3-Clause") { // it begins like the shorter license
		ids = slices.DeleteFunc(ids, func(id string) bool { return id == "BSD-2-Clause" })
	}
	if len(ids) == 0 {
		return "", fmt.Errorf("%s has no license of the table in tools/release/modules.go: read its license and add it", name)
	}
	slices.Sort(ids)
	return strings.Join(slices.Compact(ids), " AND "), nil
}

// notices is the file with the licenses of all foreign code.
func (r *release) notices(ctx context.Context) ([]file, error) {
	list, err := r.linked(ctx)
	if err != nil {
		return nil, err
	}
	var b strings.Builder
	b.WriteString("Redline contains the following software of others, under the licenses below.\n")
	for _, m := range list {
		fmt.Fprintf(&b, "\n%s\n%s %s (%s)\n\n", strings.Repeat("=", 80), m.Name, m.Version, m.License)
		for _, text := range m.Texts {
			b.WriteString(strings.TrimSpace(text) + "\n")
		}
	}
	return []file{{name: "THIRD_PARTY_NOTICES.txt", data: []byte(b.String()), mode: 0o644}}, nil
}
