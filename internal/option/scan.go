package option

import (
	"fmt"
	"slices"
	"strings"
)

// scanner reads a command line by the rules of GNU getopt_long. Short options cluster (-va) and take their value attached
// (-p2000) or as the next argument (-p 2000). Long options take theirs after an equals sign or as the next argument, and may
// be shortened to any prefix that no other option has; an exact name always wins. Arguments that belong to no option may
// stand anywhere; "--" ends the options. One rule differs from GNU's: -u=host means -u host, because many people write it.
//
// The scanner returns one option at a time, in the order of the command line: a program may act on an option, such as
// --version, before it reads a later one that is wrong.
type scanner struct {
	rows    []Row
	getopt  bool // one dash never starts a long name, as in GNU getopt
	args    []string
	at      int    // the next argument
	cluster string // the rest of a cluster of short options
	raw     string // the argument that holds the cluster
	strays  []string
	ended   int // number of strays before "--"; -1 if there is no "--"
}

// given is one option on the command line.
type given struct {
	row   *Row
	form  string // its whole name with dashes: "--measurement-interval" for --meas, "-p" for -p5
	value string // empty for an option without a value
}

// Fault is a kind of SyntaxError.
type Fault int

// The faults.
const (
	UnknownShort    Fault = iota + 1 // no option has this letter
	NoShortValue                     // a short option at the end lacks its value
	UnknownLong                      // no long option starts like this
	Ambiguous                        // several long options start like this
	NoLongValue                      // a long option at the end lacks its value
	UnexpectedValue                  // --flag=value for an option without a value
	OneDash                          // a long option with one dash
)

// SyntaxError is an argument that cannot be read.
type SyntaxError struct {
	Fault Fault
	Raw   string // the whole argument
	Short byte   // the letter of a short option
	Name  string // the text between "--" and "=" of a long option
	// Candidates are the long names that start with an ambiguous prefix, or those that an unknown name resembles.
	Candidates []string
}

// Error implements error.
func (e *SyntaxError) Error() string {
	switch e.Fault {
	case UnknownShort:
		return fmt.Sprintf("unknown option '-%c'", e.Short)
	case NoShortValue:
		return fmt.Sprintf("option '-%c' needs a value", e.Short)
	case UnknownLong:
		return fmt.Sprintf("unknown option '--%s'%s", e.Name, didYouMean("--", e.Candidates))
	case Ambiguous:
		return fmt.Sprintf("option '--%s' could be %s", e.Name, listed("--", e.Candidates))
	case OneDash:
		return fmt.Sprintf("option '-%s' has two dashes: --%s", e.Name, e.Name)
	case NoLongValue:
		return fmt.Sprintf("option '%s' needs a value", e.Raw)
	case UnexpectedValue:
		return fmt.Sprintf("option '--%s' takes no value", e.Name)
	}
	return fmt.Sprintf("bad argument '%s'", e.Raw)
}

// next returns the next option. At the end of the command line ok is false and err is nil. After an error the scanner goes
// on behind the mistake.
func (s *scanner) next() (g given, ok bool, err *SyntaxError) {
	for s.cluster == "" {
		if s.at >= len(s.args) {
			return given{}, false, nil
		}
		arg := s.args[s.at]
		s.at++
		switch {
		case arg == "--":
			s.ended = len(s.strays)
			s.strays = append(s.strays, s.args[s.at:]...)
			s.at = len(s.args)
		case strings.HasPrefix(arg, "--"):
			return s.long(arg)
		case len(arg) > 1 && arg[0] == '-':
			if row, name := s.oneDash(arg); row != nil && row.Instead != "" {
				return given{row: row, form: "-" + name}, true, nil
			} else if row != nil {
				return given{}, false, &SyntaxError{Fault: OneDash, Raw: arg, Name: name}
			}
			s.cluster, s.raw = arg[1:], arg
		default:
			s.strays = append(s.strays, arg)
		}
	}
	return s.short()
}

// oneDash finds the row whose long name follows one dash, as in -duration=10s.
func (s *scanner) oneDash(arg string) (row *Row, name string) {
	name, _, _ = strings.Cut(arg[1:], "=")
	if s.getopt || len(name) < 3 {
		return nil, name
	}
	i := slices.IndexFunc(s.rows, func(r Row) bool { return slices.Contains(r.longNames(), name) })
	if i < 0 {
		return nil, name
	}
	return &s.rows[i], name
}

func (s *scanner) short() (given, bool, *SyntaxError) {
	c := s.cluster[0]
	rest := s.cluster[1:]
	s.cluster = rest
	i := slices.IndexFunc(s.rows, func(r Row) bool { return r.Short == c && c != 0 })
	if i < 0 {
		return given{}, false, &SyntaxError{Fault: UnknownShort, Raw: s.raw, Short: c}
	}
	g := given{row: &s.rows[i], form: "-" + string(c)}
	if g.row.Arg == "" {
		return g, true, nil
	}
	s.cluster = ""
	if rest != "" {
		g.value = strings.TrimPrefix(rest, "=")
		return g, true, nil
	}
	if s.at >= len(s.args) {
		return given{}, false, &SyntaxError{Fault: NoShortValue, Raw: s.raw, Short: c}
	}
	g.value = s.args[s.at]
	s.at++
	return g, true, nil
}

func (s *scanner) long(arg string) (given, bool, *SyntaxError) {
	name, value, attached := strings.Cut(arg[2:], "=")
	row, candidates := s.lookup(name)
	fail := func(f Fault) (given, bool, *SyntaxError) {
		return given{}, false, &SyntaxError{Fault: f, Raw: arg, Name: name, Candidates: candidates}
	}
	switch {
	case row == nil && len(candidates) > 0:
		return fail(Ambiguous)
	case row == nil:
		candidates = s.near(name)
		return fail(UnknownLong)
	}
	g := given{row: row, form: "--" + candidates[0], value: value}
	candidates = nil
	switch {
	case attached && row.Arg == "" && row.Instead == "":
		return fail(UnexpectedValue)
	case attached || row.Arg == "" || row.Optional && !s.valueFollows():
		return g, true, nil
	case s.at >= len(s.args):
		return fail(NoLongValue)
	}
	g.value = s.args[s.at]
	s.at++
	return g, true, nil
}

// valueFollows reports whether the next argument is not an option.
func (s *scanner) valueFollows() bool {
	return s.at < len(s.args) && !strings.HasPrefix(s.args[s.at], "-")
}

// lookup finds the row with the long name, or the only row with a long name that starts with it. names are the long names
// that were found; several of them and no row mean that the name is ambiguous.
func (s *scanner) lookup(name string) (row *Row, names []string) {
	ambiguous := false
	for i := range s.rows {
		r := &s.rows[i]
		for _, long := range r.longNames() {
			switch {
			case long == name:
				return r, []string{long}
			case r.Instead == "" && strings.HasPrefix(long, name):
				ambiguous = ambiguous || row != nil && row != r
				row, names = r, append(names, long)
			}
		}
	}
	if ambiguous {
		row = nil
	}
	return row, names
}

// near are the long names that a user who wrote name may have meant.
func (s *scanner) near(name string) []string {
	var names []string
	for _, r := range visible(s.rows) {
		names = append(names, r.longNames()...)
	}
	return Near(name, names)
}
