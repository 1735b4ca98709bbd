// Package getopt walks a command line by the rules of GNU getopt_long.
//
// The rules are the ones people's fingers know: short options cluster (-va), take their value attached (-p2000)
// or as the next argument (-p 2000); long options take theirs after an equals sign or as the next argument, and
// may be shortened to any prefix that only one of them has, an exact name always winning; arguments that are no
// options may stand anywhere; "--" ends the options. One rule is kinder than GNU's: -u=host means -u host, for
// so many people write it.
//
// The package knows no option by itself. It hands out occurrences one at a time, in the order of the command
// line, because a program may act on an option (print its version, say) before a later one turns out wrong.
package getopt

import (
	"fmt"
	"strings"
)

// Option is one option: a long name, a short letter, or both.
type Option struct {
	Long  string // without dashes; empty for none
	Short byte   // 0 for none
	Arg   bool   // whether it takes a value
}

// Occurrence is one use of an option on the command line.
type Occurrence struct {
	Index int    // into the options given to New
	Long  bool   // by its long name
	Value string // empty when the option takes none
}

// Fault says what kind of mistake an Error is.
type Fault int

// The faults.
const (
	UnknownShort    Fault = iota + 1 // no option has this letter
	NoShortValue                     // a short option at the end lacks its value
	UnknownLong                      // no long option starts like this
	Ambiguous                        // several long options start like this
	NoLongValue                      // a long option at the end lacks its value
	UnexpectedValue                  // --flag=value for an option that takes none
)

// Error is a mistake of grammar on the command line.
type Error struct {
	Fault Fault
	Raw   string // the whole argument as it was written
	Short byte   // the letter, for short options
	Name  string // what stood between "--" and "=", for long options
	// Candidates are the long names that an ambiguous prefix could mean.
	Candidates []string
}

// Error describes the mistake in plain words.
func (e *Error) Error() string {
	switch e.Fault {
	case UnknownShort:
		return fmt.Sprintf("unknown option '-%c'", e.Short)
	case NoShortValue:
		return fmt.Sprintf("option '-%c' needs a value", e.Short)
	case UnknownLong:
		return fmt.Sprintf("unknown option '--%s'", e.Name)
	case Ambiguous:
		return fmt.Sprintf("option '--%s' could be --%s", e.Name, strings.Join(e.Candidates, " or --"))
	case NoLongValue:
		return fmt.Sprintf("option '%s' needs a value", e.Raw)
	case UnexpectedValue:
		return fmt.Sprintf("option '--%s' takes no value", e.Name)
	}
	return fmt.Sprintf("bad argument '%s'", e.Raw)
}

// Scanner walks one command line.
type Scanner struct {
	opts    []Option
	args    []string
	next    int    // the argument to look at next
	cluster string // what is left of a cluster of short options
	raw     string // the argument that the cluster came from
	strays  []string
}

// New returns a Scanner over args, which do not hold the program's name.
func New(opts []Option, args []string) *Scanner {
	return &Scanner{opts: opts, args: args}
}

// Next returns the next occurrence. At the end of the line ok is false and err nil. After an error the scanner
// may be asked again: it goes on behind the mistake.
func (s *Scanner) Next() (o Occurrence, ok bool, err error) {
	for s.cluster == "" {
		if s.next >= len(s.args) {
			return Occurrence{}, false, nil
		}
		arg := s.args[s.next]
		s.next++
		switch {
		case arg == "--":
			s.strays = append(s.strays, s.args[s.next:]...)
			s.next = len(s.args)
		case strings.HasPrefix(arg, "--"):
			return s.long(arg)
		case len(arg) > 1 && arg[0] == '-':
			s.cluster, s.raw = arg[1:], arg
		default:
			s.strays = append(s.strays, arg)
		}
	}
	return s.short()
}

// Strays returns the arguments passed over so far that belong to no option.
func (s *Scanner) Strays() []string { return s.strays }

func (s *Scanner) short() (Occurrence, bool, error) {
	c := s.cluster[0]
	rest := s.cluster[1:]
	s.cluster = rest
	i := s.letter(c)
	if i < 0 {
		return Occurrence{}, false, &Error{Fault: UnknownShort, Raw: s.raw, Short: c}
	}
	if !s.opts[i].Arg {
		return Occurrence{Index: i}, true, nil
	}
	s.cluster = ""
	if rest != "" {
		return Occurrence{Index: i, Value: strings.TrimPrefix(rest, "=")}, true, nil
	}
	if s.next >= len(s.args) {
		return Occurrence{}, false, &Error{Fault: NoShortValue, Raw: s.raw, Short: c}
	}
	s.next++
	return Occurrence{Index: i, Value: s.args[s.next-1]}, true, nil
}

func (s *Scanner) letter(c byte) int {
	for i, o := range s.opts {
		if o.Short == c && c != 0 {
			return i
		}
	}
	return -1
}

func (s *Scanner) long(arg string) (Occurrence, bool, error) {
	name, value, attached := strings.Cut(arg[2:], "=")
	i, candidates := s.lookup(name)
	fail := func(f Fault) (Occurrence, bool, error) {
		return Occurrence{}, false, &Error{Fault: f, Raw: arg, Name: name, Candidates: candidates}
	}
	switch {
	case len(candidates) > 1:
		return fail(Ambiguous)
	case i < 0:
		return fail(UnknownLong)
	case attached && !s.opts[i].Arg:
		return fail(UnexpectedValue)
	case attached || !s.opts[i].Arg:
		return Occurrence{Index: i, Long: true, Value: value}, true, nil
	case s.next >= len(s.args):
		return fail(NoLongValue)
	}
	s.next++
	return Occurrence{Index: i, Long: true, Value: s.args[s.next-1]}, true, nil
}

// lookup finds the option that name is, or is the only prefix of; several prefixed names come back as candidates.
func (s *Scanner) lookup(name string) (index int, candidates []string) {
	index = -1
	for i, o := range s.opts {
		if o.Long == "" || !strings.HasPrefix(o.Long, name) {
			continue
		}
		if o.Long == name {
			return i, nil
		}
		index = i
		candidates = append(candidates, o.Long)
	}
	if len(candidates) < 2 {
		candidates = nil
	}
	return index, candidates
}
