package history

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/redline-bench/redline/internal/result"
)

// Find returns the path of the result that ref names: a file, a folder with a result, an id of the store, the unique start of
// an id, a label (the newest run of that name), "last", or "last~2" for two runs before the last.
func (s *Store) Find(ref string) (string, error) {
	if info, err := os.Stat(ref); err == nil {
		if !info.IsDir() {
			return ref, nil
		}
		inside := filepath.Join(ref, resultFile)
		if exists(inside) {
			return inside, nil
		}
		return ref, nil // a folder of another tool; the caller reads it
	}
	list, err := s.List()
	if err != nil {
		return "", err
	}
	id, err := pick(list, ref)
	if err != nil {
		return "", err
	}
	return filepath.Join(s.Dir, id, resultFile), nil
}

func pick(list []Entry, ref string) (string, error) {
	if back, ok := strings.CutPrefix(ref, "last"); ok && (back == "" || back[0] == '~') {
		n, err := strconv.Atoi(strings.TrimPrefix(back, "~"))
		if back != "" && (err != nil || n < 0) {
			return "", fmt.Errorf("%q is not a run; use last~1 for the run before the last", ref)
		}
		if n >= len(list) {
			return "", fmt.Errorf("%q is not a run: the history has %d runs", ref, len(list))
		}
		return list[len(list)-1-n].ID, nil
	}
	var begins []string
	label := ""
	for _, e := range list {
		if e.ID == ref {
			return ref, nil
		}
		if strings.HasPrefix(e.ID, ref) {
			begins = append(begins, e.ID)
		}
		if e.Label == ref {
			label = e.ID
		}
	}
	switch {
	case ref == "":
	case label != "":
		return label, nil
	case len(begins) == 1:
		return begins[0], nil
	case len(begins) > 1:
		return "", fmt.Errorf("%q matches %s and %s; give more characters", ref, begins[0], begins[1])
	}
	return "", fmt.Errorf("%q is neither a file nor a run of the history; 'redline history' lists the runs", ref)
}

// Get reads the run with this id. It reads only runs of the store.
func (s *Store) Get(id string) (*result.Result, error) {
	list, err := s.List()
	if err != nil {
		return nil, err
	}
	if !slices.ContainsFunc(list, func(e Entry) bool { return e.ID == id }) {
		return nil, fmt.Errorf("no run %s in the history", id)
	}
	return Load(filepath.Join(s.Dir, id, resultFile))
}

// Load reads a result of ours.
func Load(path string) (*result.Result, error) {
	content, err := readBounded(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("file %s does not exist", path)
	}
	if err != nil {
		return nil, fmt.Errorf("read the result: %w", err)
	}
	return Decode(path, content)
}

// ErrForeign means that a file is not a result of redline; it may be another tool's.
var ErrForeign = errors.New("not a redline result")

// Decode reads a result of redline from a file's content; path is for the error.
func Decode(path string, content []byte) (*result.Result, error) {
	var probe struct {
		Schema *int   `json:"schema"`
		Tool   string `json:"tool"`
	}
	if json.Unmarshal(content, &probe) != nil || probe.Schema == nil || probe.Tool != "redline" {
		return nil, fmt.Errorf("%s: %w (the file of --json, or a run of redline history)", path, ErrForeign)
	}
	if *probe.Schema > result.Schema {
		return nil, fmt.Errorf("%s was written by a newer redline (schema %d, this one reads up to %d): update redline", path, *probe.Schema, result.Schema)
	}
	if err := checkSize(content); err != nil {
		return nil, fmt.Errorf("%s: the result is damaged: %w", path, err)
	}
	res := &result.Result{}
	if err := json.Unmarshal(content, res); err != nil {
		return nil, fmt.Errorf("%s: the result is damaged: %w", path, err)
	}
	return res, nil
}
