package flags

import (
	"fmt"
	"slices"
	"strings"

	"github.com/redline-bench/redline/internal/plan"
)

// Command is one command of redline, as help and completion name it.
type Command struct {
	Name, Summary string
	// Words are what may follow the command, where that is a fixed set.
	Words []string
}

// Shells returns the shells that Completion knows.
func Shells() []string { return []string{"bash", "zsh", "fish"} }

// Completion returns a script that completes redline, and perf_analyzer, in a shell: commands, options, and the
// values of options as far as they can be known.
func Completion(shell string, commands []Command) (string, error) {
	switch shell {
	case "bash":
		return bash(commands), nil
	case "zsh":
		return zsh(commands), nil
	case "fish":
		return fish(commands), nil
	}
	return "", fmt.Errorf("there is no completion for %q: choose %s", shell, strings.Join(Shells(), ", "))
}

// names returns the option's forms: "--async", "-a".
func (r *Row) names() []string {
	var n []string
	if r.Long != "" {
		n = append(n, "--"+r.Long)
	}
	if r.Short != 0 {
		n = append(n, "-"+string(r.Short))
	}
	return n
}

// summary is the first sentence of the help, without its stop.
func (r *Row) summary() string {
	s, _, _ := strings.Cut(r.Help, ". ")
	return strings.TrimSuffix(s, ".")
}

func commandNames(commands []Command) string {
	names := make([]string, len(commands))
	for i, c := range commands {
		names[i] = c.Name
	}
	return strings.Join(names, " ")
}

// bash works without the bash-completion package, and in the old bash of macOS.
func bash(commands []Command) string {
	var b strings.Builder
	b.WriteString(`# bash completion for redline and perf_analyzer
# load it with: source <(redline completion bash)

_redline_files() {
    local IFS=$'\n'
    compopt -o filenames 2>/dev/null
    COMPREPLY+=($(compgen "$1" -- "$cur"))
}

_redline_options() {
    case $prev in
`)
	for _, g := range groups(Rows(plan.Redline)) {
		fmt.Fprintf(&b, "    %s)\n", strings.Join(g.names, " | "))
		if len(g.hint.Values) > 0 {
			fmt.Fprintf(&b, "        COMPREPLY=($(compgen -W %s -- \"$cur\"))\n", quote(strings.Join(g.hint.Values, " ")))
		}
		if g.hint.Files {
			b.WriteString("        _redline_files -f\n")
		}
		if g.hint.Dirs {
			b.WriteString("        _redline_files -d\n")
		}
		b.WriteString("        return\n        ;;\n")
	}
	b.WriteString(`    esac
    COMPREPLY=($(compgen -W "$1" -- "$cur"))
}

_redline() {
    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}
    # --option=value arrives as three words
    if [[ $cur == "=" ]]; then
        cur=""
    elif [[ $prev == "=" ]]; then
        prev=${COMP_WORDS[COMP_CWORD-2]}
    fi
    COMPREPLY=()
    if [[ ${1##*/} != redline* ]]; then
`)
	fmt.Fprintf(&b, "        _redline_options %s\n        return\n    fi\n", quote(allNames(plan.PerfAnalyzer)))
	fmt.Fprintf(&b, "    if ((COMP_CWORD == 1)); then\n        COMPREPLY=($(compgen -W %s -- \"$cur\"))\n        return\n    fi\n",
		quote(commandNames(commands)))
	b.WriteString("    case ${COMP_WORDS[1]} in\n")
	fmt.Fprintf(&b, "    profile) _redline_options %s ;;\n", quote(allNames(plan.Redline)))
	for _, c := range commands {
		if len(c.Words) > 0 {
			fmt.Fprintf(&b, "    %s) COMPREPLY=($(compgen -W %s -- \"$cur\")) ;;\n", c.Name, quote(strings.Join(c.Words, " ")))
		}
	}
	b.WriteString("    esac\n}\n\ncomplete -F _redline redline perf_analyzer\n")
	return b.String()
}

// group is a set of options whose values complete alike.
type group struct {
	names []string
	hint  Hint
}

// groups returns the options that take a value, those with the same hint together.
func groups(rows []Row) []group {
	var gs []group
	for i := range rows {
		if rows[i].Arg == "" {
			continue
		}
		same := func(g group) bool {
			return g.hint.Files == rows[i].Hint.Files && g.hint.Dirs == rows[i].Hint.Dirs &&
				slices.Equal(g.hint.Values, rows[i].Hint.Values)
		}
		at := slices.IndexFunc(gs, same)
		if at < 0 {
			at = len(gs)
			gs = append(gs, group{hint: rows[i].Hint})
		}
		gs[at].names = append(gs[at].names, rows[i].names()...)
	}
	return gs
}

func allNames(face plan.Program) string {
	rows := Rows(face)
	var n []string
	for i := range rows {
		n = append(n, rows[i].names()...)
	}
	return strings.Join(n, " ")
}

func zsh(commands []Command) string {
	var b strings.Builder
	b.WriteString("#compdef redline perf_analyzer\n# zsh completion for redline and perf_analyzer\n" +
		"# load it with: source <(redline completion zsh)\n")
	for _, face := range []plan.Program{plan.Redline, plan.PerfAnalyzer} {
		fmt.Fprintf(&b, "\n_redline_options_%s() {\n    _arguments -s -S", face)
		rows := Rows(face)
		for i := range rows {
			fmt.Fprintf(&b, " \\\n        %s", rows[i].zsh())
		}
		b.WriteString("\n}\n")
	}
	b.WriteString("\n_redline() {\n    if [[ $service != redline* ]]; then\n        _redline_options_perf_analyzer\n        return\n    fi\n")
	b.WriteString("    if ((CURRENT == 2)); then\n        local -a commands=(\n")
	for _, c := range commands {
		fmt.Fprintf(&b, "            %s\n", quote(c.Name+":"+c.Summary))
	}
	b.WriteString("        )\n        _describe command commands\n        return\n    fi\n    local command=$words[2]\n" +
		"    shift words\n    ((CURRENT--))\n    case $command in\n    profile) _redline_options_redline ;;\n")
	for _, c := range commands {
		if len(c.Words) > 0 {
			fmt.Fprintf(&b, "    %s) compadd %s ;;\n", c.Name, strings.Join(c.Words, " "))
		}
	}
	b.WriteString("    esac\n}\n\nif [[ $funcstack[1] == _redline ]]; then\n    _redline \"$@\"\nelse\n    compdef _redline redline perf_analyzer\nfi\n")
	return b.String()
}

// zsh returns the option as _arguments wants it: (exclusions){forms}[text]:message:action.
func (r *Row) zsh() string {
	text := strings.NewReplacer("[", `\[`, "]", `\]`, ":", `\:`).Replace(r.summary())
	spec := "[" + text + "]"
	if r.Arg != "" {
		action := " "
		words := strings.Join(r.Hint.Values, " ")
		switch {
		case r.Hint.Files && words != "":
			action = `{compadd -- ` + words + `; _files}`
		case r.Hint.Files:
			action = "_files"
		case r.Hint.Dirs:
			action = "_files -/"
		case words != "":
			action = "(" + words + ")"
		}
		spec += ":" + strings.ReplaceAll(r.Arg, ":", `\:`) + ":" + action
	}
	var forms []string
	for _, n := range r.names() {
		if r.Arg != "" {
			if strings.HasPrefix(n, "--") {
				n += "="
			} else {
				n += "+"
			}
		}
		forms = append(forms, n)
	}
	head := "'*'"
	if !r.Repeat && r.Short != 'v' {
		head = quote("(" + strings.Join(r.names(), " ") + ")")
	}
	if len(forms) == 1 {
		return head + forms[0] + quote(spec)
	}
	return head + "{" + strings.Join(forms, ",") + "}" + quote(spec)
}

func fish(commands []Command) string {
	var b strings.Builder
	b.WriteString("# fish completion for redline and perf_analyzer\n# load it with: redline completion fish | source\n\n")
	b.WriteString("complete -c redline -f\ncomplete -c perf_analyzer -f\n")
	for _, c := range commands {
		fmt.Fprintf(&b, "complete -c redline -n __fish_use_subcommand -a %s -d %s\n", c.Name, quote(c.Summary))
		if len(c.Words) > 0 {
			fmt.Fprintf(&b, "complete -c redline -n '__fish_seen_subcommand_from %s' -a %s\n", c.Name, quote(strings.Join(c.Words, " ")))
		}
	}
	for _, target := range []struct {
		head string
		face plan.Program
	}{
		{"complete -c redline -n '__fish_seen_subcommand_from profile'", plan.Redline},
		{"complete -c perf_analyzer", plan.PerfAnalyzer},
	} {
		rows := Rows(target.face)
		for i := range rows {
			b.WriteString(target.head + rows[i].fish() + "\n")
		}
	}
	return b.String()
}

// fish returns the option's part of a complete command.
func (r *Row) fish() string {
	s := ""
	if r.Long != "" {
		s += " -l " + r.Long
	}
	if r.Short != 0 {
		s += " -s " + string(r.Short)
	}
	switch {
	case r.Arg == "":
	case r.Hint.Files:
		s += " -r -F"
	case r.Hint.Dirs:
		s += " -x -a '(__fish_complete_directories)'"
	default:
		s += " -x"
	}
	if len(r.Hint.Values) > 0 {
		s += " -a " + quote(strings.Join(r.Hint.Values, " "))
	}
	return s + " -d " + quote(r.summary())
}

// quote puts s in single quotes for any of the shells.
func quote(s string) string {
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
