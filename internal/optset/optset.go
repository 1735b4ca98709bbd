// Package optset is a table of a command's options: it parses a command line into variables and writes the help.
//
// It is for the smaller commands. The options of profile, which must sound like another program's, have a table of
// their own. Grammar is getopt's: short and long names, clusters, unique prefixes.
package optset

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redline-bench/redline/internal/getopt"
	"github.com/redline-bench/redline/internal/secret"
)

// ErrHelp means that the user asked for help.
var ErrHelp = errors.New("help was asked for")

// Set is the options of one command, in the order of its help.
type Set struct {
	// Secrets collects the secrets of the command line while it is read; nil collects none.
	Secrets *secret.Set

	rows  []row
	given map[string]bool
	uses  []use
}

// use is one option as it was given.
type use struct {
	row   *row
	value string
}

type row struct {
	getopt.Option
	arg   string // what the value is called; empty when there is none
	help  string
	value string // the default as text; empty is not shown
	set   func(string) error
	alias bool // another name of an option: not shown by itself
	// secret says where a value can carry a secret.
	secret secret.Kind
}

// Group starts a group of options under a heading.
func (s *Set) Group(title string) { s.rows = append(s.rows, row{help: title}) }

// Var adds an option whose value goes to set. name is "long" or "long,s" with the short letter.
func (s *Set) Var(name, arg, value, help string, set func(string) error) {
	long, short, _ := strings.Cut(name, ",")
	r := row{Option: getopt.Option{Long: long, Arg: arg != ""}, arg: arg, help: help, value: value, set: set}
	if short != "" {
		r.Short = short[0]
	}
	s.rows = append(s.rows, r)
}

// Bool adds a switch.
func (s *Set) Bool(to *bool, name, help string) {
	s.Var(name, "", "", help, func(string) error { *to = true; return nil })
}

// Text adds an option for any text. What to holds already is the default.
func (s *Set) Text(to *string, name, arg, help string) {
	s.Var(name, arg, *to, help, func(v string) error { *to = v; return nil })
}

// Int adds an option for a whole number of at least least; math.MinInt stands for any.
func (s *Set) Int(to *int, name, arg string, least int, help string) {
	s.Var(name, arg, strconv.Itoa(*to), help, func(v string) error {
		n, err := strconv.Atoi(v)
		switch {
		case err != nil && least == math.MinInt:
			return fmt.Errorf("is a whole number, not %q", v)
		case err != nil || n < least:
			return fmt.Errorf("is a whole number of at least %d, not %q", least, v)
		}
		*to = n
		return nil
	})
}

// OneOf adds an option for one of some names, in any case; the value is the name in lower case.
func OneOf[T ~string](s *Set, to *T, name, arg, help string, names ...string) {
	value := ""
	for _, n := range names {
		if strings.EqualFold(n, string(*to)) {
			value = n
		}
	}
	s.Var(name, arg, value, help, func(v string) error {
		for _, n := range names {
			if strings.EqualFold(n, v) {
				*to = T(strings.ToLower(n))
				return nil
			}
		}
		return fmt.Errorf("is %s, not %q", strings.Join(names, " or "), v)
	})
}

// Float adds an option for a number from low to high.
func (s *Set) Float(to *float64, name, arg string, low, high float64, help string) {
	s.Var(name, arg, strconv.FormatFloat(*to, 'g', -1, 64), help, func(v string) error {
		f, err := strconv.ParseFloat(v, 64)
		if err != nil || !(f >= low && f <= high) {
			return fmt.Errorf("is a number from %g to %g, not %q", low, high, v)
		}
		*to = f
		return nil
	})
}

// Duration adds an option for a time of at least zero, as 5s or 250ms.
func (s *Set) Duration(to *time.Duration, name, arg, help string) {
	value := ""
	if *to > 0 {
		value = to.String()
	}
	s.Var(name, arg, value, help, func(v string) error {
		d, err := time.ParseDuration(v)
		if err != nil || d < 0 {
			return fmt.Errorf("is a time with its unit, as 5s or 250ms, not %q", v)
		}
		*to = d
		return nil
	})
}

// Secret marks options whose values can carry a secret. It comes before Alias.
func (s *Set) Secret(kind secret.Kind, names ...string) {
	for i := range s.rows {
		if slices.Contains(names, s.rows[i].Long) {
			s.rows[i].secret = kind
		}
	}
}

// Alias lets the option with the long name of go by other names too. They stand behind its help.
func (s *Set) Alias(of string, names ...string) {
	i := slices.IndexFunc(s.rows, func(r row) bool { return r.Long == of })
	r := &s.rows[i]
	r.help += "; also --" + strings.Join(names, ", --")
	for _, n := range names {
		s.rows = append(s.rows, row{Option: getopt.Option{Long: n, Arg: s.rows[i].Arg}, set: s.rows[i].set, alias: true, secret: s.rows[i].secret})
	}
}

// Parse reads a command line and returns what is no option.
func (s *Set) Parse(args []string) ([]string, error) {
	rows := slices.DeleteFunc(slices.Clone(s.rows), func(r row) bool { return r.set == nil })
	opts := []getopt.Option{{Long: "help", Short: 'h'}}
	for _, r := range rows {
		opts = append(opts, r.Option)
	}
	if s.given == nil {
		s.given = map[string]bool{}
	}
	scan := getopt.New(opts, args)
	for {
		o, ok, err := scan.Next()
		switch {
		case err != nil:
			return nil, err
		case !ok:
			s.collectStrays(scan.Strays())
			return scan.Strays(), nil
		case o.Index == 0:
			return nil, ErrHelp
		}
		r := &rows[o.Index-1]
		s.Secrets.Collect(r.secret, o.Value)
		s.uses = append(s.uses, use{r, o.Value})
		if err := r.set(o.Value); err != nil {
			return nil, fmt.Errorf("--%s %w", r.Long, err)
		}
		s.given[r.Long] = true
	}
}

// collectStrays takes arguments without an option for secrets if an option has one: a header may lack its quotes.
func (s *Set) collectStrays(strays []string) {
	if !slices.ContainsFunc(s.uses, func(u use) bool { return u.row.secret == secret.Header || u.row.secret == secret.Whole }) {
		return
	}
	for _, text := range strays {
		s.Secrets.Collect(secret.Header, text)
	}
}

// Command is the command line that was read: the options by their long names, without secrets.
func (s *Set) Command(name string) string {
	words := []string{name}
	for _, u := range s.uses {
		words = append(words, "--"+u.row.Long)
		if u.row.Arg {
			words = append(words, ShellWord(s.Secrets.Redact(secret.Public(u.row.secret, u.value))))
		}
	}
	return strings.Join(words, " ")
}

// Arguments are the options that were read, by their long names and without secrets: "--streaming", "--concurrency=4".
func (s *Set) Arguments() []string {
	args := make([]string, len(s.uses))
	for i, u := range s.uses {
		args[i] = "--" + u.row.Long
		if u.row.Arg {
			args[i] += "=" + s.Secrets.Redact(secret.Public(u.row.secret, u.value))
		}
	}
	return args
}

// ShellWord quotes a word where a shell needs it.
func ShellWord(word string) string {
	if word != "" && !strings.ContainsAny(word, " \t\n\"'$`\\|&;<>(){}*?[]#~!") {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// Given tells whether the command line named an option, by the long name that was used.
func (s *Set) Given(name string) bool { return s.given[name] }

// Help lists the options, one a line or two, with their defaults.
func (s *Set) Help() string {
	var b strings.Builder
	for _, r := range s.rows {
		if r.alias {
			continue
		}
		if r.set == nil {
			fmt.Fprintf(&b, "\n%s\n", r.help)
			continue
		}
		name := "      --" + r.Long
		if r.Short != 0 {
			name = fmt.Sprintf("  -%c, --%s", r.Short, r.Long)
		}
		if r.arg != "" {
			name += " " + r.arg
		}
		help := r.help
		if r.value != "" {
			help += " (" + r.value + ")"
		}
		lines := fold(help, widest-column)
		if len(name) > column-2 {
			fmt.Fprintln(&b, name)
			name = ""
		}
		for _, line := range lines {
			fmt.Fprintf(&b, "%-*s%s\n", column, name, line)
			name = ""
		}
	}
	return b.String()
}

// The help has the options up to a column, and lines no longer than fit on most terminals.
const column, widest = 32, 118

// fold breaks a text into lines between words.
func fold(text string, width int) []string {
	lines := []string{""}
	for word := range strings.FieldsSeq(text) {
		last := &lines[len(lines)-1]
		switch {
		case *last == "":
			*last = word
		case len(*last)+1+len(word) <= width:
			*last += " " + word
		default:
			lines = append(lines, word)
		}
	}
	return lines
}

// Names are the long names, for completion.
func (s *Set) Names() []string {
	var out []string
	for _, r := range s.rows {
		if r.set != nil {
			out = append(out, "--"+r.Long)
		}
	}
	return out
}
