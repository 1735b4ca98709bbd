package option

import (
	"slices"
	"strings"
)

// Split takes the options of some rows, by their full names, out of a command line whose other options belong to another
// table.
func Split(rows []Row, args []string) (own, rest []string) {
	for i := 0; i < len(args); i++ {
		name, _, value := strings.Cut(args[i], "=")
		at := slices.IndexFunc(rows, func(r Row) bool { return "--"+r.Long == name })
		if at < 0 {
			rest = append(rest, args[i])
			continue
		}
		own = append(own, args[i])
		if !value && rows[at].Arg != "" && i+1 < len(args) {
			i++
			own = append(own, args[i])
		}
	}
	return own, rest
}
