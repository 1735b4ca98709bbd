package option

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// checkWrites refuses to write over a file that the command line also reads, and to write one file twice. strays are the
// arguments that belong to no option.
func (t *Table) checkWrites(strays []string) error {
	for i, out := range t.given {
		if !out.row.Writes || out.value == "" {
			continue
		}
		for j, other := range t.given {
			switch {
			case other.row == out.row || other.row.Writes && j < i:
			case other.row.Writes && sameFile(out.value, other.value):
				return fmt.Errorf("%s and %s would both write %s: give two names", out.form, other.form, out.value)
			case !other.row.Writes && readsFile(out.value, other.value):
				return fmt.Errorf("%s would write over %s, which %s reads: give another name", out.form, out.value, other.form)
			}
		}
		for _, stray := range strays {
			if readsFile(out.value, stray) {
				return fmt.Errorf("%s would write over %s, which is also read: give another name", out.form, out.value)
			}
		}
	}
	return nil
}

// readsFile tells whether a value names an existing file that out would write over: as a whole, in a list, or behind a prefix
// as in payload:FILE.
func readsFile(out, value string) bool {
	info, err := os.Stat(out)
	if err != nil || !info.Mode().IsRegular() {
		return false
	}
	names := append(strings.Split(value, ","), value)
	if _, name, ok := strings.Cut(value, ":"); ok {
		names = append(names, name)
	}
	for _, name := range names {
		if other, err := os.Stat(name); err == nil && os.SameFile(info, other) {
			return true
		}
	}
	return false
}

// sameFile tells whether two names mean one file, which need not exist. Devices may be written twice.
func sameFile(a, b string) bool {
	if info, err := os.Stat(a); err == nil {
		return info.Mode().IsRegular() && readsFile(a, b)
	}
	fullA, errA := filepath.Abs(a)
	fullB, errB := filepath.Abs(b)
	return errA == nil && errB == nil && fullA == fullB
}
