package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// file is one file of an archive. A file with a link is a symbolic link.
type file struct {
	name string
	data []byte
	mode fs.FileMode
	link string
}

// common are the files that archives and packages of all platforms have: licenses, manual, manual pages, completion.
func (r *release) commonFiles(ctx context.Context) ([]file, error) {
	if r.common != nil {
		return r.common, nil
	}
	var list []file
	for _, name := range []string{"LICENSE", "README.md", "CHANGELOG.md", "SECURITY.md"} {
		data, err := os.ReadFile(filepath.Join(r.dir, name))
		if err != nil {
			return nil, err
		}
		list = append(list, file{name: name, data: data, mode: 0o644})
	}
	err := filepath.WalkDir(filepath.Join(r.dir, "docs"), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) == ".go" {
			return err
		}
		data, err := os.ReadFile(path)
		name, _ := filepath.Rel(r.dir, path)
		list = append(list, file{name: filepath.ToSlash(name), data: data, mode: 0o644})
		return err
	})
	if err != nil {
		return nil, err
	}
	for _, make := range []func(context.Context) ([]file, error){r.notices, r.manual, r.completions} {
		more, err := make(ctx)
		if err != nil {
			return nil, err
		}
		list = append(list, more...)
	}
	r.common = list
	return list, nil
}

// manual are the manual pages.
func (r *release) manual(ctx context.Context) ([]file, error) {
	dir := filepath.Join(r.work, "man")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	if _, err := r.host(ctx, "man", "--dir", dir); err != nil {
		return nil, err
	}
	pages, err := filepath.Glob(filepath.Join(dir, "*.1"))
	if err != nil {
		return nil, err
	}
	var list []file
	for _, path := range pages {
		data, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		list = append(list, file{name: "man/man1/" + filepath.Base(path), data: data, mode: 0o644})
	}
	return list, nil
}

// completions are the completion scripts under the names that shells look for.
func (r *release) completions(ctx context.Context) ([]file, error) {
	var list []file
	for _, c := range []struct{ shell, name string }{{"bash", "redline.bash"}, {"zsh", "_redline"}, {"fish", "redline.fish"}} {
		data, err := r.host(ctx, "completion", c.shell)
		if err != nil {
			return nil, err
		}
		list = append(list, file{name: "completions/" + c.name, data: data, mode: 0o644})
	}
	return list, nil
}

// below are files within a folder.
func below(folder string, list []file) []file {
	list = slices.Clone(list)
	for i := range list {
		list[i].name = folder + "/" + list[i].name
	}
	return list
}

func sortFiles(list []file) {
	slices.SortFunc(list, func(a, b file) int { return cmp.Compare(a.name, b.name) })
}

// tarball is a tar file of the list, sorted by name. All files belong to root and have one time.
func tarball(list []file, when time.Time) ([]byte, error) {
	sortFiles(list)
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, f := range list {
		h := &tar.Header{Name: f.name, Mode: int64(f.mode.Perm()), Size: int64(len(f.data)), ModTime: when, Typeflag: tar.TypeReg, Format: tar.FormatUSTAR}
		switch {
		case f.link != "":
			h.Typeflag, h.Linkname = tar.TypeSymlink, f.link
		case strings.HasSuffix(f.name, "/"):
			h.Typeflag = tar.TypeDir
		}
		if err := w.WriteHeader(h); err != nil {
			return nil, err
		}
		if _, err := w.Write(f.data); err != nil {
			return nil, err
		}
	}
	err := w.Close()
	return b.Bytes(), err
}

// gzipped compresses data. The header has neither a name nor a time.
func gzipped(data []byte) ([]byte, error) {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write(data); err != nil {
		return nil, err
	}
	err := w.Close()
	return b.Bytes(), err
}

// zipped is a ZIP file of the list, in its order. Symbolic links are omitted.
func zipped(list []file, when time.Time) ([]byte, error) {
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, f := range list {
		if f.link != "" {
			continue
		}
		h := &zip.FileHeader{Name: f.name, Method: zip.Deflate, Modified: when}
		h.SetMode(f.mode)
		out, err := w.CreateHeader(h)
		if err != nil {
			return nil, err
		}
		if _, err := out.Write(f.data); err != nil {
			return nil, err
		}
	}
	err := w.Close()
	return b.Bytes(), err
}
