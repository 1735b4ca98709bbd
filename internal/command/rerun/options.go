package rerun

import (
	"fmt"
	"slices"
	"strings"

	"github.com/redline-bench/redline/internal/secret"
)

// perRun are options of files, pages and the terminal. They are not repeated.
var perRun = []string{
	"--json", "--csv", "--artifact-dir", "--report", "--records", "--histogram-log", "--junit", "--summary", "--dash", "--dash-listen",
	"--metrics-listen", "--prometheus-remote-write", "--otlp", "--otlp-header", "--otlp-ca", "--trace-requests", "--quiet", "--progress", "--no-history",
}

// commandLine is the command line of a run that is repeated: the options of its result, then more ones. Its error names the
// options whose values a result does not keep and more does not have.
func commandLine(stored, more []string) ([]string, error) {
	var args, missing []string
	masked := map[string]int{}
	for _, arg := range stored {
		name, _, _ := strings.Cut(arg, "=")
		switch {
		case slices.Contains(perRun, name):
		case !strings.Contains(arg, secret.Mask):
			args = append(args, arg)
		default:
			if masked[name]++; masked[name] > count(more, name) {
				missing = append(missing, arg)
			}
		}
	}
	if missing != nil {
		return nil, fmt.Errorf("the result keeps no secrets: give %s again", strings.Join(missing, ", "))
	}
	return append(args, more...), nil
}

// count tells how often a command line has an option, by its long name or by its letter.
func count(args []string, name string) int {
	letter := map[string]string{"--header": "-H", "--url": "-u"}[name]
	n := 0
	for _, a := range args {
		if a == name || strings.HasPrefix(a, name+"=") || letter != "" && strings.HasPrefix(a, letter) {
			n++
		}
	}
	return n
}
