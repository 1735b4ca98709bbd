package main

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// The names of the Python packages. The module is called redline.
const (
	pythonPackage = "redline_bench"
	dropInPackage = "redline_bench_perf_analyzer"
)

// wheelTags are the platforms in the words of Python. A static program runs with every C library.
var wheelTags = map[platform]string{
	{"linux", "amd64"}:   "manylinux_2_17_x86_64.manylinux2014_x86_64.musllinux_1_1_x86_64",
	{"linux", "arm64"}:   "manylinux_2_17_aarch64.manylinux2014_aarch64.musllinux_1_1_aarch64",
	{"darwin", "amd64"}:  "macosx_12_0_x86_64",
	{"darwin", "arm64"}:  "macosx_12_0_arm64",
	{"windows", "amd64"}: "win_amd64",
	{"windows", "arm64"}: "win_arm64",
}

// writeWheels writes a wheel with the program and the module for each platform, and a wheel that adds the command perf_analyzer.
func writeWheels(ctx context.Context, r *release) error {
	module, err := r.pythonModule()
	if err != nil {
		return err
	}
	about, err := r.pythonAbout(ctx)
	if err != nil {
		return err
	}
	for _, p := range r.platforms {
		tags, ok := wheelTags[p]
		if !ok {
			return fmt.Errorf("no Python platform for %s", p)
		}
		program, err := r.binary(ctx, p)
		if err != nil {
			return err
		}
		w := wheel{name: pythonPackage, version: r.version.python, tags: "py3-none-" + tags}
		w.files = append(w.files, module...)
		w.files = append(w.files, file{name: w.folder("data") + "/scripts/" + p.program(), data: program, mode: 0o755})
		if err := r.writeWheel(&w, about); err != nil {
			return err
		}
	}
	extra := wheel{name: dropInPackage, version: r.version.python, tags: "py3-none-any"}
	return r.writeWheel(&extra, []file{
		{name: "METADATA", data: []byte(r.dropInMetadata())},
		{name: "entry_points.txt", data: []byte("[console_scripts]\nperf_analyzer = redline._program:perf_analyzer\n")},
	})
}

// wheel is a Python package in the binary format.
type wheel struct {
	name, version, tags string
	files               []file
}

// folder is the folder of the wheel for data or dist-info.
func (w *wheel) folder(kind string) string { return w.name + "-" + w.version + "." + kind }

// writeWheel adds the files of dist-info, the tags and the list of files with checksums, and writes the wheel.
func (r *release) writeWheel(w *wheel, about []file) error {
	info := slices.Clone(about)
	var tags strings.Builder
	python, rest, _ := strings.Cut(w.tags, "-none-")
	for tag := range strings.SplitSeq(rest, ".") {
		fmt.Fprintf(&tags, "Tag: %s-none-%s\n", python, tag)
	}
	pure := strings.HasSuffix(w.tags, "-any")
	info = append(info, file{name: "WHEEL", data: fmt.Appendf(nil, "Wheel-Version: 1.0\nGenerator: redline release\nRoot-Is-Purelib: %t\n%s", pure, tags.String())})
	for i := range info {
		info[i].mode = 0o644
	}
	// Readers find dist-info faster at the end.
	sortFiles(w.files)
	sortFiles(info)
	w.files = append(w.files, below(w.folder("dist-info"), info)...)
	var record strings.Builder
	for _, f := range w.files {
		sum := sha256.Sum256(f.data)
		fmt.Fprintf(&record, "%s,sha256=%s,%d\n", f.name, base64.RawURLEncoding.EncodeToString(sum[:]), len(f.data))
	}
	list := w.folder("dist-info") + "/RECORD"
	fmt.Fprintf(&record, "%s,,\n", list)
	data, err := zipped(append(w.files, file{name: list, data: []byte(record.String()), mode: 0o644}), r.when)
	if err != nil {
		return err
	}
	return r.write(fmt.Sprintf("%s-%s-%s.whl", w.name, w.version, w.tags), data)
}

// pythonModule are the files of the module redline.
func (r *release) pythonModule() ([]file, error) {
	root := filepath.Join(r.dir, "python")
	var list []file
	err := filepath.WalkDir(filepath.Join(root, "redline"), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".py") && d.Name() != "py.typed" {
			return err
		}
		data, err := os.ReadFile(path)
		name, _ := filepath.Rel(root, path)
		list = append(list, file{name: filepath.ToSlash(name), data: data, mode: 0o644})
		return err
	})
	return list, err
}

// pythonAbout are the files that describe the wheel with the program, and its licenses.
func (r *release) pythonAbout(ctx context.Context) ([]file, error) {
	list, err := r.notices(ctx)
	if err != nil {
		return nil, err
	}
	license, err := os.ReadFile(filepath.Join(r.dir, "LICENSE"))
	if err != nil {
		return nil, err
	}
	metadata, err := r.metadata()
	list = below("licenses", append(list, file{name: "LICENSE", data: license}))
	return append(list, file{name: "METADATA", data: metadata}), err
}

// metadata describes the package with the program. Its description is python/README.md.
func (r *release) metadata() ([]byte, error) {
	readme, err := os.ReadFile(filepath.Join(r.dir, "python", "README.md"))
	return fmt.Appendf(nil, `Metadata-Version: 2.4
Name: redline-bench
Version: %[1]s
Summary: Load inference servers and measure throughput, latency and failures
License-Expression: Apache-2.0
License-File: LICENSE
License-File: THIRD_PARTY_NOTICES.txt
Project-URL: Source, https://github.com/redline-bench/redline
Requires-Python: >=3.8
Provides-Extra: frames
Requires-Dist: pandas; extra == "frames"
Requires-Dist: pyarrow; extra == "frames"
Provides-Extra: perf-analyzer
Requires-Dist: redline-bench-perf-analyzer==%[1]s; extra == "perf-analyzer"
Description-Content-Type: text/markdown

%[2]s`, r.version.python, readme), err
}

// dropInMetadata describes the package that adds the command perf_analyzer.
func (r *release) dropInMetadata() string {
	return fmt.Sprintf(`Metadata-Version: 2.1
Name: redline-bench-perf-analyzer
Version: %[1]s
Summary: The command perf_analyzer, provided by Redline
License: Apache-2.0
Requires-Python: >=3.8
Requires-Dist: redline-bench==%[1]s
`, r.version.python)
}
