// Package foreign converts the results of other tools to our result tree: perf_analyzer's CSV and export, GenAI-Perf's and
// AIPerf's JSON, CSV and records. Fields that a file does not have stay empty.
package foreign

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/redline-bench/redline/internal/result"
)

// ErrUnknown means that the file is of no known tool.
var ErrUnknown = errors.New("no result that can be read")

// inFolder are the files that identify a folder of another tool, the one with the most data first.
var inFolder = []string{"profile_export_aiperf.json", "profile_export_genai_perf.json", "profile_export.json", "profile_export.jsonl", "profile_export_aiperf.csv", "profile_export_genai_perf.csv"}

// Load reads a file, or the best file of a folder.
func Load(path string) (*result.Result, error) {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		for _, name := range inFolder {
			if _, err := os.Stat(filepath.Join(path, name)); err == nil {
				return Load(filepath.Join(path, name))
			}
		}
		return nil, fmt.Errorf("%s holds %w: none of %s is in it", path, ErrUnknown, strings.Join(inFolder, ", "))
	}
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read the result: %w", err)
	}
	return Decode(path, content)
}

// Decode reads a file's content; path is for errors.
func Decode(path string, content []byte) (*result.Result, error) {
	res, err := decode(content)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if len(res.Levels) == 0 {
		return nil, fmt.Errorf("%s has no measured level", path)
	}
	return res, nil
}

func decode(content []byte) (*result.Result, error) {
	trimmed := bytes.TrimSpace(bytes.TrimPrefix(content, []byte("\ufeff")))
	first, _, _ := bytes.Cut(trimmed, []byte("\n"))
	switch {
	case len(trimmed) == 0:
		return nil, errors.New("the file is empty")
	case bytes.HasPrefix(first, []byte("Concurrency,")), bytes.HasPrefix(first, []byte("Request Rate,")):
		return analyzerCSV(trimmed)
	case bytes.HasPrefix(first, []byte("Metric,")):
		return metricCSV(trimmed)
	case trimmed[0] != '{':
		return nil, fmt.Errorf("%w; use a result of redline, perf_analyzer's CSV or export, or a file of GenAI-Perf or AIPerf", ErrUnknown)
	}
	var line struct {
		Metadata json.RawMessage `json:"metadata"`
		Metrics  json.RawMessage `json:"metrics"`
	}
	if json.Unmarshal(first, &line) == nil && line.Metadata != nil && line.Metrics != nil {
		return records(trimmed)
	}
	var top map[string]json.RawMessage
	if err := json.Unmarshal(trimmed, &top); err != nil {
		return nil, fmt.Errorf("the JSON is damaged: %w", err)
	}
	if _, ok := top["experiments"]; ok {
		return export(trimmed)
	}
	return metricJSON(top)
}
