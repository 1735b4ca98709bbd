package fleet

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/redline-bench/redline/internal/plan"
)

// inputs are the files and folders of a plan that every worker needs.
func inputs(p *plan.Plan) []string {
	list := slices.Clone(p.Input.Paths)
	if p.Load.Intervals != "" {
		list = append(list, p.Load.Intervals)
	}
	return append(list, p.Target.Protos...)
}

// upload puts input files, and those in input folders, into the object store, each content once.
func upload(ctx context.Context, store jetstream.ObjectStore, roots []string) ([]File, error) {
	var out []File
	known, listed := map[string]bool{}, map[string]bool{}
	for _, root := range roots {
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || listed[path] {
				return err
			}
			listed[path] = true
			file, err := describe(path)
			if err != nil {
				return err
			}
			out = append(out, file)
			if known[file.Hash] {
				return nil
			}
			known[file.Hash] = true
			return put(ctx, store, file)
		})
		if err != nil {
			return nil, fmt.Errorf("send the input data to the workers: %w", err)
		}
	}
	return out, nil
}

func describe(path string) (File, error) {
	f, err := os.Open(path)
	if err != nil {
		return File{}, err
	}
	defer f.Close()
	sum := sha256.New()
	n, err := io.Copy(sum, f)
	return File{Path: path, Hash: hex.EncodeToString(sum.Sum(nil)), Size: n}, err
}

func put(ctx context.Context, store jetstream.ObjectStore, file File) error {
	f, err := os.Open(file.Path)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = store.Put(ctx, jetstream.ObjectMeta{Name: file.Hash}, f)
	return err
}

// files are the input files of a run on a worker.
type files struct {
	folder string            // empty if there are none
	have   map[string]string // a path of each content, by its hash
}

// fetch brings the input files of a job to this machine.
func (w *Worker) fetch(ctx context.Context, job *Job) (*files, error) {
	if len(job.Files) == 0 {
		return &files{}, nil
	}
	var need int64
	seen := map[string]bool{}
	for _, f := range job.Files {
		if !seen[f.Hash] {
			need += f.Size
		}
		seen[f.Hash] = true
	}
	room, err := w.Free(w.Folder)
	if err != nil {
		return nil, fmt.Errorf("look for room for the input data in %s: %w", w.Folder, err)
	}
	if need > room {
		return nil, fmt.Errorf("no room for the input data: it takes %s, and %s has %s left; free some, or choose another folder with --data-dir", size(need), w.Folder, size(room))
	}
	store, err := w.Bus.js.ObjectStore(ctx, storeName(job.Run))
	if err != nil {
		return nil, w.Bus.explainJetStream("find the input data", err)
	}
	folder, err := os.MkdirTemp(w.Folder, "redline-input-")
	if err != nil {
		return nil, fmt.Errorf("make a folder for the input data: %w", err)
	}
	out := &files{folder: folder, have: map[string]string{}}
	for _, f := range job.Files {
		if err := out.get(ctx, store, f); err != nil {
			out.remove()
			return nil, fmt.Errorf("fetch the input file %s: %w", f.Path, err)
		}
	}
	return out, nil
}

func size(n int64) string {
	const kib = 1024
	units := []string{"bytes", "KiB", "MiB", "GiB", "TiB"}
	v, i := float64(n), 0
	for ; v >= kib && i < len(units)-1; i++ {
		v /= kib
	}
	return fmt.Sprintf("%.4g %s", v, units[i])
}

// path is where a path of the plan is on this machine. Different paths stay different.
func (f *files) path(original string) string {
	clean := strings.TrimLeft(strings.ReplaceAll(filepath.ToSlash(filepath.Clean(original)), "..", "_up"), "/")
	return filepath.Join(f.folder, filepath.FromSlash(strings.ReplaceAll(clean, ":", "_")))
}

// get brings a file to this machine. A content that is there already is linked.
func (f *files) get(ctx context.Context, store jetstream.ObjectStore, file File) error {
	path := f.path(file.Path)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	if same := f.have[file.Hash]; same != "" && os.Link(same, path) == nil { // some file systems have no links
		return nil
	}
	from, err := store.Get(ctx, file.Hash)
	if err != nil {
		return err
	}
	defer from.Close()
	to, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	n, err := io.Copy(to, io.LimitReader(from, file.Size+1)) // the object store checks its digest
	if cerr := to.Close(); err == nil {
		err = cerr
	}
	if err == nil && n != file.Size {
		err = fmt.Errorf("it does not have the %d bytes that were announced", file.Size)
	}
	f.have[file.Hash] = path
	return err
}

// place puts the paths of this machine into a job.
func (f *files) place(job *Job) {
	if job.files = f; f.folder != "" && job.Plan != nil {
		job.Plan = f.placePlan(job.Plan)
	}
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func (f *files) placePlan(p *plan.Plan) *plan.Plan {
	return p.With(func(p *plan.Plan) {
		move := func(list []string) []string {
			out := slices.Clone(list)
			for i := range out {
				out[i] = f.path(out[i])
			}
			return out
		}
		p.Input.Paths, p.Target.Protos = move(p.Input.Paths), move(p.Target.Protos)
		if p.Load.Intervals != "" {
			p.Load.Intervals = f.path(p.Load.Intervals)
		}
	})
}

func (f *files) remove() {
	if f.folder != "" {
		_ = os.RemoveAll(f.folder) // what is left is in the folder of temporary files
	}
}
