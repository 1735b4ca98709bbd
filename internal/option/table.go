package option

import (
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"

	"github.com/redline-bench/redline/internal/secret"
)

// Table is the options of a command, and what a command line says about them.
type Table struct {
	Rows []Row
	// Secrets collects the secrets of the command line; nil collects none.
	Secrets *secret.Set
	// Getopt reads a command line exactly as GNU getopt_long does: -async is -a -s ync. Without it, a long name after one
	// dash is an error that names the option.
	Getopt bool

	given  []given
	strays int // arguments without an option before "--"; -1 if there is no "--"
}

// ValueError is a value that an option does not take.
type ValueError struct {
	Row   *Row
	Form  string // the option as the user wrote it, without abbreviation
	Value string
	Err   error
}

// Error implements error.
func (e *ValueError) Error() string { return e.Row.Name() + " " + e.Err.Error() }

// BadValue tells that an option does not take its value.
func (e *ValueError) BadValue() bool { return true }

// Unwrap returns the error of Value.Set.
func (e *ValueError) Unwrap() error { return e.Err }

// BadValue tells whether an error is about the value of one option, and not about several options or a missing one.
func BadValue(err error) bool {
	e, ok := errors.AsType[interface {
		error
		BadValue() bool
	}](err)
	return ok && e.BadValue()
}

// Parse reads a command line and returns the arguments that belong to no option. Each option is set before the next one is
// read. Every command has --help and -h; the error is then ErrHelp.
func (t *Table) Parse(args []string) ([]string, error) {
	s := &scanner{rows: t.Rows, args: args, getopt: t.Getopt, ended: -1}
	if !slices.ContainsFunc(t.Rows, func(r Row) bool { return r.Long == "help" }) {
		s.rows = append(slices.Clone(t.Rows), HelpRow())
	}
	t.reserveNames()
	for {
		g, ok, err := s.next()
		if err != nil {
			t.collectUnknown(err)
			return nil, err
		}
		if !ok {
			t.collectStrays(s.strays)
			t.strays = s.ended
			return s.strays, t.checkWrites(s.strays)
		}
		if g.row.Instead != "" {
			return nil, fmt.Errorf("%s %s", g.form, g.row.Instead)
		}
		t.Secrets.Collect(g.row.Secret, g.value)
		t.given = append(t.given, g)
		if err := g.row.To.Set(g.value); err != nil {
			if errors.Is(err, ErrHelp) && !t.Getopt && s.at < len(args) && !strings.HasPrefix(args[s.at], "-") {
				return nil, &HelpError{Word: args[s.at]}
			}
			return nil, &ValueError{Row: g.row, Form: g.form, Value: g.value, Err: err}
		}
	}
}

// reserveNames keeps the names and the words of the options readable in files: a run is repeated with them.
func (t *Table) reserveNames() {
	if t.Secrets == nil {
		return
	}
	var words []string
	for i := range t.Rows {
		words = append(append(words, t.Rows[i].longNames()...), t.Rows[i].To.Words...)
	}
	t.Secrets.Reserve(words...)
}

// HelpRow asks for help.
func HelpRow() Row {
	return Row{Long: "help", Short: 'h', Help: "print help; --help all explains every option, --help WORD those that are about a word", To: Func(func(string) error { return ErrHelp })}
}

// Unexpected is the error of an argument that belongs to no option, in a command that takes none. index is its place in what
// Parse returned. The message names the likely mistake.
func (t *Table) Unexpected(arg string, index int) error {
	hint := ""
	switch {
	case t.strays >= 0 && index >= t.strays:
		hint = `; "--" ends the options: write them without it`
	case arg == "profile":
		hint = "; AIPerf and GenAI-Perf need this word, redline does not: leave it out"
	case slices.ContainsFunc(visible(t.Rows), func(r Row) bool { return slices.Contains(r.longNames(), arg) }):
		hint = "; did you mean --" + arg + "?"
	case isAddress(arg) && slices.ContainsFunc(t.Rows, func(r Row) bool { return r.Short == 'u' }):
		hint = "; write -u before the address of the server"
	}
	return fmt.Errorf("unexpected argument %q%s", arg, hint)
}

// isAddress tells whether a text looks like the address of a server: a URL or HOST:PORT.
func isAddress(text string) bool {
	if strings.Contains(text, "://") {
		return true
	}
	_, port, err := net.SplitHostPort(text)
	_, number := strconv.ParseUint(port, 10, 16)
	return err == nil && number == nil
}

// collectUnknown collects the secrets in the value of an unknown option, such as a header or an address option of another tool.
func (t *Table) collectUnknown(e *SyntaxError) {
	_, v, ok := strings.Cut(e.Raw, "=")
	if !ok {
		return
	}
	t.Secrets.Collect(secret.URL, v)
	if secret.Sensitive(e.Name) || strings.Contains(e.Name, "header") {
		t.Secrets.Collect(secret.Header, v)
	}
}

// collectStrays collects the secrets of addresses without an option, and arguments without an option if an option has a secret:
// the quotes of a header may be missing.
func (t *Table) collectStrays(strays []string) {
	for _, text := range strays {
		if user, _, ok := strings.Cut(text, "@"); strings.Contains(text, "://") || ok && strings.Contains(user, ":") {
			t.Secrets.Collect(secret.URL, text)
		}
	}
	if !slices.ContainsFunc(t.given, func(g given) bool { return g.row.Secret == secret.Header || g.row.Secret == secret.Whole }) {
		return
	}
	for _, text := range strays {
		t.Secrets.Collect(secret.Header, text)
	}
}

// Given tells whether the command line has the option with this name, in any of its forms. The name has no dashes.
func (t *Table) Given(name string) bool {
	return slices.ContainsFunc(t.given, func(g given) bool { return g.row.called(name) })
}

// Arguments are the given options in their order, by their full names: "--streaming", "--concurrency=4". They can be stored:
// secret.Mask stands for each secret.
func (t *Table) Arguments() []string {
	args := make([]string, len(t.given))
	for i, g := range t.given {
		args[i] = g.row.Name()
		if g.row.Arg != "" {
			args[i] += "=" + t.Secrets.Redact(secret.Public(g.row.Secret, g.value))
		}
	}
	return args
}

// Public are Arguments from which a plan can be made: options that carry no secrets keep their values, though a secret may be equal
// to one of them.
func (t *Table) Public() []string {
	args := t.Arguments()
	for i, g := range t.given {
		if g.row.Secret == secret.None && g.row.Arg != "" {
			args[i] = g.row.Name() + "=" + g.value
		}
	}
	return args
}

// Withhold splits the given options for other machines, without those that skip names: public is as Arguments has them; secrets has, in
// the place of each option with a secret, the whole option, and is empty elsewhere. names are those of the options with secrets.
func (t *Table) Withhold(skip func(*Row) bool) (public, secrets, names []string) {
	for i, arg := range t.Arguments() {
		g := &t.given[i]
		if skip(g.row) {
			continue
		}
		whole := g.row.Name()
		if g.row.Arg != "" {
			whole += "=" + g.value
		}
		secret := ""
		if whole != arg {
			secret = whole
			names = append(names, g.row.Name())
		}
		public, secrets = append(public, arg), append(secrets, secret)
	}
	return public, secrets, names
}

// Command is the command line that was read, without secrets, as a user types it.
func (t *Table) Command(name string) string { return CommandLine(name, t.Arguments()) }

// CommandLine is a command with arguments as those of Table.Arguments, as a user types it.
func CommandLine(name string, args []string) string {
	words := []string{name}
	for _, arg := range args {
		option, value, ok := strings.Cut(arg, "=")
		words = append(words, ShellWord(option))
		if ok {
			words = append(words, ShellWord(value))
		}
	}
	return strings.Join(words, " ")
}

// ShellWord quotes a word where a shell needs it.
func ShellWord(word string) string {
	if word != "" && !strings.ContainsAny(word, " \t\n\"'$`\\|&;<>(){}*?[]#~!") {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
