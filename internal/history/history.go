// Package history keeps runs as folders of plain files, for reports, comparisons and baselines.
//
// A store is a folder with one folder per run and an index of one JSON object per line. A lost or damaged index is created
// again from the runs. No secret is written. When the store exceeds its limit, the oldest runs are deleted.
package history

import (
	"bytes"
	"cmp"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/redline-bench/redline/internal/pending"
	"github.com/redline-bench/redline/internal/result"
	"github.com/redline-bench/redline/internal/unit"
)

// The files of a store and of a run.
const (
	indexFile  = "index.jsonl"
	resultFile = "result.json"
	entryFile  = "run.json"
)

// DefaultLimit is the size limit of all runs together, in bytes.
const DefaultLimit = 512 << 20

// Entry is one run in the index.
type Entry struct {
	ID       string       `json:"id"`
	Start    time.Time    `json:"start"`
	Command  string       `json:"command"`
	Label    string       `json:"label,omitempty"`
	Model    string       `json:"model,omitempty"`
	Version  string       `json:"version"`
	Workload string       `json:"workload,omitempty"`
	Verdict  result.State `json:"verdict"`
	// MissedRules is how many checks of the run failed: a rule at a level, or the comparison with its baseline.
	MissedRules int `json:"missed_rules,omitempty"`
	Levels      int `json:"levels"`
	// Best is the highest throughput of a level, or that of all classes of a scenario together; P99Ms the p99 latency there, 0 if too few
	// requests were measured.
	Best  float64 `json:"best_throughput"`
	P99Ms float64 `json:"best_p99_ms"`
	// Capacity is what a search found, as "512 /s"; empty for other runs.
	Capacity string `json:"capacity,omitempty"`
	Host     string `json:"host,omitempty"`
	// System, Go and CPUs are the machine that made the load.
	System string `json:"system,omitempty"`
	Go     string `json:"go,omitempty"`
	CPUs   int    `json:"cpus,omitempty"`
	Bytes  int64  `json:"bytes"`
}

// Did is the command of the run, and the capacity that it found.
func (e *Entry) Did() string {
	if e.Capacity == "" {
		return e.Command
	}
	return e.Command + ": " + e.Capacity
}

// Store is a folder of runs.
type Store struct {
	Dir    string
	Limit  int64 // bytes; 0 for no limit
	Output *pending.Output
}

// Encode returns the form in which the store keeps a result.
type Encode func(*result.Result) ([]byte, error)

// Add keeps a run and returns its entry. The folder appears only when it is complete.
func (s *Store) Add(res *result.Result, encode Encode) (Entry, error) {
	content, err := encode(res)
	if err != nil {
		return Entry{}, err
	}
	e := describe(res)
	if err := os.MkdirAll(s.Dir, 0o777); err != nil {
		return e, fmt.Errorf("keep the run: %w", err)
	}
	tmp := filepath.Join(s.Dir, ".new-"+rand.Text())
	if err := os.Mkdir(tmp, 0o777); err != nil {
		return e, fmt.Errorf("keep the run: %w", err)
	}
	defer os.RemoveAll(tmp)
	e.Bytes = int64(len(content))
	if err := s.Output.WriteFile(filepath.Join(tmp, resultFile), content); err != nil {
		return e, fmt.Errorf("keep the run: %w", err)
	}
	base := e.ID
	for n := 2; ; n++ {
		line, err := json.Marshal(e)
		if err != nil {
			return e, fmt.Errorf("keep the run: %w", err)
		}
		err = s.Output.WriteFile(filepath.Join(tmp, entryFile), line)
		if err == nil {
			err = os.Rename(tmp, filepath.Join(s.Dir, e.ID))
		}
		if err == nil {
			return e, errors.Join(s.index(line), s.Prune(0, s.Limit))
		}
		if !errors.Is(err, fs.ErrExist) && !exists(filepath.Join(s.Dir, e.ID)) || n > 1000 {
			return e, fmt.Errorf("keep the run: %w", err)
		}
		e.ID = fmt.Sprintf("%s-%d", base, n)
	}
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func describe(res *result.Result) Entry {
	start := time.Unix(0, res.StartUnixNs).UTC()
	e := Entry{
		Start: start, Command: res.Command, Label: res.Label, Version: res.Version, Workload: res.Workload,
		Verdict: res.Verdict.State, Levels: len(res.Levels), Host: res.Environment.Hostname,
		System: res.Environment.OS + "/" + res.Environment.Arch, Go: res.Environment.Go, CPUs: res.Environment.CPUs,
	}
	if res.Plan != nil {
		e.Model = res.Plan.Target.Model
	}
	if n := len(res.Classes); n > 1 {
		e.Model = cmp.Or(res.Scenario, fmt.Sprintf("%d classes", n))
	}
	if res.Verdict.State.Judged() {
		e.MissedRules = missedRules(res.Checks)
	}
	if res.Find != nil && res.Find.Capacity != nil {
		e.Capacity = unit.Digits(res.Find.Capacity.Value, 4) + " " + res.Find.Unit()
	}
	levels := res.Levels
	if res.Whole != nil { // a scenario: its classes ran at the same time
		levels = []result.Level{*res.Whole}
	}
	for i := range levels {
		lv := &levels[i]
		if lv.Client.InferPerSec > e.Best {
			e.Best, e.P99Ms = lv.Client.InferPerSec, 0
			if result.Enough(99, lv.Client.Requests) {
				e.P99Ms = float64(lv.Client.Latency.At(99)) / 1e6
			}
		}
	}
	e.ID = start.Format("20060102-150405") + "-" + slug(cmp.Or(e.Label, e.Model, e.Command))
	return e
}

// missedRules counts the rules that a level at least missed. A rule has a check for each of its levels.
func missedRules(checks []result.Check) int {
	missed := map[string]bool{}
	for _, c := range checks {
		if !c.OK && !c.Unknown {
			missed[c.Rule] = true
		}
	}
	return len(missed)
}

// slug makes a name that is safe in a path and on a command line.
func slug(text string) string {
	const longest = 40
	var b strings.Builder
	for _, c := range strings.ToLower(text) {
		switch {
		case c >= 'a' && c <= 'z', c >= '0' && c <= '9', c == '_':
			b.WriteRune(c)
		case b.Len() > 0 && !strings.HasSuffix(b.String(), "-"):
			b.WriteByte('-')
		}
		if b.Len() >= longest {
			break
		}
	}
	return cmp.Or(strings.Trim(b.String(), "-"), "run")
}

// index appends one line with a single write, so that lines of runs that end at the same time do not mix.
func (s *Store) index(line []byte) error {
	if err := s.Output.AppendFile(filepath.Join(s.Dir, indexFile), append(line, '\n')); err != nil {
		return fmt.Errorf("keep the run in the index: %w", err)
	}
	return nil
}

// List is the runs, oldest first. A store that does not exist yet is empty.
func (s *Store) List() ([]Entry, error) {
	folders, err := os.ReadDir(s.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the history: %w", err)
	}
	known := s.readIndex()
	var out []Entry
	for _, d := range folders {
		if !d.IsDir() || strings.HasPrefix(d.Name(), ".") {
			continue
		}
		e, ok := known[d.Name()]
		if !ok {
			if e, ok = s.readEntry(d.Name()); !ok {
				continue // not a run of redline
			}
		}
		out = append(out, e)
	}
	slices.SortStableFunc(out, func(a, b Entry) int { return a.Start.Compare(b.Start) })
	return out, nil
}

// readIndex reads the index. It skips invalid lines: List reads their folders instead.
func (s *Store) readIndex() map[string]Entry {
	known := map[string]Entry{}
	content, err := os.ReadFile(filepath.Join(s.Dir, indexFile))
	if err != nil {
		return known
	}
	for line := range bytes.Lines(content) {
		var e Entry
		if json.Unmarshal(line, &e) == nil && e.ID != "" {
			known[e.ID] = e
		}
	}
	return known
}

func (s *Store) readEntry(id string) (Entry, bool) {
	var e Entry
	content, err := os.ReadFile(filepath.Join(s.Dir, id, entryFile))
	if err != nil || json.Unmarshal(content, &e) != nil || e.Start.IsZero() {
		return e, false
	}
	e.ID = id
	return e, true
}

// Prune removes the oldest runs until at most keep runs are left (0 for any number) with at most limit bytes (0 for any size).
// The newest run always stays.
func (s *Store) Prune(keep int, limit int64) error {
	list, err := s.List()
	if err != nil {
		return err
	}
	var total int64
	for _, e := range list {
		total += e.Bytes
	}
	removed := false
	for len(list) > 1 && (limit > 0 && total > limit || keep > 0 && len(list) > keep) {
		if err := os.RemoveAll(filepath.Join(s.Dir, list[0].ID)); err != nil {
			return fmt.Errorf("prune the history: %w", err)
		}
		total -= list[0].Bytes
		list, removed = list[1:], true
	}
	if !removed {
		return nil
	}
	return s.rewrite(list)
}

// Remove deletes one run: an id, its unique start, a label, "last" or "last~1".
func (s *Store) Remove(ref string) error {
	list, err := s.List()
	if err != nil {
		return err
	}
	id, err := pick(list, ref)
	if err != nil {
		return err
	}
	if err := os.RemoveAll(filepath.Join(s.Dir, id)); err != nil {
		return fmt.Errorf("remove the run: %w", err)
	}
	return s.rewrite(slices.DeleteFunc(list, func(e Entry) bool { return e.ID == id }))
}

// rewrite replaces the index.
func (s *Store) rewrite(list []Entry) error {
	var b bytes.Buffer
	for _, e := range list {
		line, err := json.Marshal(e)
		if err != nil {
			return err
		}
		b.Write(append(line, '\n'))
	}
	if err := s.Output.WriteFile(filepath.Join(s.Dir, indexFile), b.Bytes()); err != nil {
		return fmt.Errorf("write the index of the history: %w", err)
	}
	return nil
}
