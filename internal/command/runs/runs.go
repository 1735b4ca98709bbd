// Package runs finds the runs that are kept on this machine, or in files of this and other tools, and shows them as pages.
package runs

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"github.com/redline-bench/redline/internal/command"
	"github.com/redline-bench/redline/internal/compare"
	"github.com/redline-bench/redline/internal/compare/foreign"
	"github.com/redline-bench/redline/internal/history"
	"github.com/redline-bench/redline/internal/result"
)

// LoadAll reads several runs.
func LoadAll(p *command.IO, refs []string) ([]compare.Side, error) {
	out := make([]compare.Side, len(refs))
	for i, ref := range refs {
		run, name, err := Load(p, ref)
		if err != nil {
			return nil, err
		}
		out[i] = compare.Side{Name: name, Run: run}
	}
	return out, nil
}

// Load reads a run of ours or of another tool, and gives it a name for people.
func Load(p *command.IO, ref string) (*result.Result, string, error) {
	store := Store(p)
	if store == nil {
		if _, err := os.Stat(ref); err != nil {
			return nil, "", fmt.Errorf("%q is not a file, and no history is kept: name a result file, or set REDLINE_HISTORY to a folder", ref)
		}
		store = &history.Store{Dir: os.DevNull}
	}
	path, err := store.Find(ref)
	if err != nil {
		return nil, "", err
	}
	name := ref
	if filepath.Dir(filepath.Dir(path)) == filepath.Clean(store.Dir) {
		name = filepath.Base(filepath.Dir(path))
	}
	if info, serr := os.Stat(path); serr == nil && info.IsDir() {
		run, err := foreign.Load(path)
		return run, name, err
	}
	run, err := history.Load(path)
	if errors.Is(err, history.ErrForeign) {
		run, err = foreign.Load(path)
	}
	return run, name, err
}

// Store is where runs are kept: REDLINE_HISTORY, else the user's data folder. It is nil when that is "off" or
// there is no place.
func Store(p *command.IO) *history.Store {
	dir := p.Getenv("REDLINE_HISTORY")
	switch data := p.DataFolder(); {
	case dir == "off", dir == "" && data == "":
		return nil
	case dir == "":
		dir = filepath.Join(data, "runs")
	}
	limit := int64(history.DefaultLimit)
	if mib, err := strconv.ParseInt(p.Getenv("REDLINE_HISTORY_MIB"), 10, 64); err == nil && mib > 0 {
		limit = mib << 20
	}
	return &history.Store{Dir: dir, Limit: limit, Output: p.Files}
}
