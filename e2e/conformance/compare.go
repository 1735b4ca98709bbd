package conformance

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"sort"
	"strings"

	"github.com/google/go-cmp/cmp"
)

// refused is the exit code of a run that was refused, or that failed.
const refused = 99

// unclear says what is wrong with how a run tells that it was refused or failed: one line by the program, or one for each of its
// threads. Nobody relies on the wording, so it is not perf_analyzer's.
func unclear(o *Outcome) []string {
	said := map[string]bool{}
	for line := range strings.Lines(o.Stderr) {
		if text, ok := strings.CutPrefix(line, "perf_analyzer: "); ok && strings.TrimSpace(text) != "" {
			said[line] = true
		}
	}
	threads := failedThread.MatchString(o.Stderr)
	if len(said) == 1 || len(said) == 0 && threads {
		return nil
	}
	return []string{fmt.Sprintf("stderr has %d lines that tell why it failed, and should have one:\n%s", len(said), o.Stderr)}
}

var failedThread = regexp.MustCompile(`(?m)^Thread \[\d+\] had error: \S`)

// Compare returns how got differs from want in what programs rely on: of a run that was refused or failed, the exit code and
// one clear line; else text, CSV and JSON.
func Compare(want, got *Outcome) []string {
	var diffs []string
	add := func(format string, args ...any) { diffs = append(diffs, fmt.Sprintf(format, args...)) }
	if want.Code != got.Code {
		add("exit code %d instead of %d", got.Code, want.Code)
	}
	if want.Code == refused && got.Code == refused {
		return append(diffs, unclear(got)...)
	}
	if d := cmp.Diff(lines(want.Stdout), lines(got.Stdout)); d != "" {
		add("stdout (-perf_analyzer +redline):\n%s", d)
	}
	if missing := lacks(lines(want.Stderr), lines(got.Stderr)); len(missing) > 0 {
		add("stderr lacks:\n  %s", strings.Join(missing, "\n  "))
	}
	for name, text := range want.Files {
		ours, ok := got.Files[name]
		switch {
		case !ok:
			add("%s was not written", name)
		case strings.HasSuffix(name, ".csv"):
			if d := compareCSV(text, ours); d != "" {
				add("%s: %s", name, d)
			}
		case strings.HasSuffix(name, ".json"):
			if d := compareJSON(text, ours); d != "" {
				add("%s: %s", name, d)
			}
		}
	}
	for name := range got.Files {
		if _, ok := want.Files[name]; !ok {
			add("%s was written", name)
		}
	}
	return diffs
}

var number = regexp.MustCompile(`[-+]?\d+(\.\d+)?(e[-+]?\d+)?`)

// chance matches lines that come and go with the machine's load, are slips of perf_analyzer, or remarks about options, which ours
// words otherwise.
var chance = regexp.MustCompile(`is deprecated and will be removed|Overriding max_threads|sequence length must be|Avg send request rate|not able to keep up|Failed to update context stat|Timer not set correctly|only one request, so sample|accounted time was larger|latency is not stabilizing`)

// lines masks numbers, drops lines of chance and folds repeats whose count is chance (threads, passes).
func lines(text string) []string {
	var out []string
	for line := range strings.SplitSeq(strings.TrimSuffix(text, "\n"), "\n") {
		if chance.MatchString(line) {
			continue
		}
		line = Mask(line)
		repeats := strings.Contains(line, "Thread [") || strings.Contains(line, "Pass [")
		if repeats && len(out) > 0 && out[len(out)-1] == line {
			continue
		}
		out = append(out, line)
	}
	return out
}

// Mask replaces each number that is not part of a word by #.
func Mask(line string) string {
	var b strings.Builder
	at := 0
	for _, m := range number.FindAllStringIndex(line, -1) {
		if m[0] > 0 && isWord(line[m[0]-1]) {
			continue
		}
		b.WriteString(line[at:m[0]])
		b.WriteByte('#')
		at = m[1]
	}
	return b.String() + line[at:]
}

func isWord(c byte) bool { return c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }

func lacks(want, have []string) []string {
	have = slices.Clone(have)
	var missing []string
	for _, line := range want {
		if strings.TrimSpace(line) == "" {
			continue
		}
		if i := slices.Index(have, line); i >= 0 {
			have = slices.Delete(have, i, i+1)
		} else {
			missing = append(missing, line)
		}
	}
	return missing
}

var (
	whole   = regexp.MustCompile(`^\d+$`)
	decimal = regexp.MustCompile(`^-?\d+(\.\d+)?(e[-+]\d+)?$`)
)

// compareCSV wants the same header, as many rows, and numbers of the same form in each column.
func compareCSV(want, got string) string {
	w, err := csv.NewReader(strings.NewReader(want)).ReadAll()
	if err != nil {
		return fmt.Sprintf("perf_analyzer's CSV is broken: %v", err)
	}
	g, err := csv.NewReader(strings.NewReader(got)).ReadAll()
	if err != nil {
		return err.Error()
	}
	if len(w) != len(g) {
		return fmt.Sprintf("%d rows instead of %d", len(g), len(w))
	}
	if strings.HasSuffix(want, "\n") != strings.HasSuffix(got, "\n") {
		return "the line end at the end of the file differs"
	}
	for i := range w {
		if i == 0 {
			if !slices.Equal(w[0], g[0]) {
				return fmt.Sprintf("header %v instead of %v", g[0], w[0])
			}
			continue
		}
		for j := range w[i] {
			form := decimal
			if j > 1 && whole.MatchString(w[i][j]) {
				form = whole
			}
			if decimal.MatchString(w[i][j]) && !form.MatchString(g[i][j]) {
				return fmt.Sprintf("row %d, %s: %q is not written like %q", i, w[0][j], g[i][j], w[i][j])
			}
		}
	}
	return ""
}

// compareJSON wants the same keys, types and nesting. A file that perf_analyzer itself broke is not compared.
func compareJSON(want, got string) string {
	w, err := shapeOf(want)
	if err != nil {
		return ""
	}
	g, err := shapeOf(got)
	if err != nil {
		return err.Error()
	}
	if w != g {
		return fmt.Sprintf("shape\n    %s\n  instead of\n    %s", g, w)
	}
	if strings.HasSuffix(want, "\n") != strings.HasSuffix(got, "\n") {
		return "the line end at the end of the file differs"
	}
	return ""
}

func shapeOf(text string) (string, error) {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return "", fmt.Errorf("invalid JSON: %w", err)
	}
	return shape(v), nil
}

// shape writes a value's keys and types; the elements of a list count as the set of their shapes.
func shape(v any) string {
	switch v := v.(type) {
	case map[string]any:
		var parts []string
		for k, x := range v {
			parts = append(parts, k+":"+shape(x))
		}
		sort.Strings(parts)
		return "{" + strings.Join(parts, " ") + "}"
	case []any:
		set := map[string]bool{}
		for _, x := range v {
			set[shape(x)] = true
		}
		var parts []string
		for s := range set {
			parts = append(parts, s)
		}
		sort.Strings(parts)
		return "[" + strings.Join(parts, "|") + "]"
	case json.Number:
		if strings.ContainsAny(v.String(), ".eE") {
			return "float"
		}
		return "int"
	case nil:
		return "null"
	default:
		return fmt.Sprintf("%T", v)
	}
}
