package rerun

import (
	"slices"
	"strings"

	"github.com/redline-bench/redline/internal/secret"
)

// perRun are options of files, pages and the terminal. They are not repeated.
var perRun = []string{
	"--json", "--csv", "--artifact-dir", "--report", "--records", "--histogram-log", "--junit", "--summary", "--dash", "--dash-listen",
	"--metrics-listen", "--prometheus-remote-write", "--otlp", "--otlp-header", "--otlp-ca", "--trace-requests", "--quiet", "--progress", "--no-history",
}

// commandLine is the command line of a run that is repeated: the options of its result, then more ones. hidden are the options whose
// secrets the result does not keep.
func commandLine(stored, more []string) (line, hidden []string) {
	for _, arg := range stored {
		name, _, _ := strings.Cut(arg, "=")
		switch {
		case slices.Contains(perRun, name):
		case !strings.Contains(arg, secret.Mask):
			line = append(line, arg)
		default:
			hidden = append(hidden, arg)
		}
	}
	return append(line, more...), hidden
}

// complete returns an error that names the options of hidden that more does not have.
func complete(hidden, more []string) error {
	var given []string
	for _, arg := range hidden {
		name, _, _ := strings.Cut(arg, "=")
		if !slices.Contains(given, name) {
			given = append(given, slices.Repeat([]string{name}, count(more, name))...)
		}
	}
	return secret.Missing(hidden, given)
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
