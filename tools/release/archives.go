package main

import (
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"text/template"
)

// writeArchives writes an archive for each platform, the software bill of materials and the Homebrew formula.
func writeArchives(ctx context.Context, r *release) error {
	bill, err := r.bill(ctx)
	if err != nil {
		return err
	}
	if err := r.write("redline-"+r.version.tag+".cdx.json", bill); err != nil {
		return err
	}
	sums := map[string]string{}
	for _, p := range r.platforms {
		data, name, err := r.archive(ctx, p)
		if err != nil {
			return err
		}
		sums[name] = fmt.Sprintf("%x", sha256.Sum256(data))
		if err := r.write(name, data); err != nil {
			return err
		}
	}
	return r.writeFormula(sums)
}

// archiveName is the name of an archive without its ending.
func (r *release) archiveName(p platform) string {
	return fmt.Sprintf("redline-%s-%s-%s", r.version.tag, p.os, p.arch)
}

func (r *release) archive(ctx context.Context, p platform) (data []byte, name string, err error) {
	program, err := r.binary(ctx, p)
	if err != nil {
		return nil, "", err
	}
	list, err := r.commonFiles(ctx)
	if err != nil {
		return nil, "", err
	}
	list = append([]file{{name: p.program(), data: program, mode: 0o755}, {name: "perf_analyzer", link: "redline", mode: 0o777}, {name: "llm_perf", link: "redline", mode: 0o777}}, list...)
	name = r.archiveName(p)
	list = below(name, list)
	if p.os == "windows" {
		sortFiles(list)
		data, err = zipped(list, r.when)
		return data, name + ".zip", err
	}
	if data, err = tarball(list, r.when); err == nil {
		data, err = gzipped(data)
	}
	return data, name + ".tar.gz", err
}

// formula is the data of the Homebrew formula. Systems and Processors map Homebrew's names to Go's.
type formula struct {
	Tag, Version        string
	Systems, Processors map[string]string
}

// writeFormula writes the Homebrew formula, which downloads the archives of a release.
func (r *release) writeFormula(sums map[string]string) error {
	text, err := os.ReadFile(filepath.Join(r.dir, "packaging", "redline.rb.tmpl"))
	if err != nil {
		return err
	}
	missing := ""
	t, err := template.New("formula").Funcs(template.FuncMap{
		"archive": func(goos, arch string) string { return r.archiveName(platform{goos, arch}) + ".tar.gz" },
		"sum": func(name string) string {
			if sums[name] == "" {
				missing = name
			}
			return sums[name]
		},
	}).Parse(string(text))
	if err != nil {
		return err
	}
	var b strings.Builder
	if err := t.Execute(&b, formula{
		Tag: r.version.tag, Version: r.version.semver,
		Systems:    map[string]string{"linux": "linux", "macos": "darwin"},
		Processors: map[string]string{"arm": "arm64", "intel": "amd64"},
	}); err != nil {
		return err
	}
	if missing != "" {
		fmt.Printf("no Homebrew formula: it needs %s\n", missing)
		return nil
	}
	return r.write("redline.rb", []byte(b.String()))
}
