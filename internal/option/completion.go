package option

import (
	"fmt"
	"slices"
	"strings"

	"github.com/redline-bench/redline/internal/convert"
)

// Shells are the shells that Completion knows.
func Shells() []string { return []string{"bash", "zsh", "fish"} }

// Completion returns a script that completes redline with its commands, and perf_analyzer, in a shell: names of commands and
// options, and values as far as they are known.
func Completion(shell string, commands []Command, perfAnalyzer Command) (string, error) {
	switch shell {
	case "bash":
		return bash(commands, perfAnalyzer), nil
	case "zsh":
		return zsh(commands, perfAnalyzer), nil
	case "fish":
		return fish(commands, perfAnalyzer), nil
	}
	return "", fmt.Errorf("there is no completion for %q: choose %s", shell, strings.Join(Shells(), ", "))
}

// summary is the first sentence of the help.
func (r *Row) summary() string {
	s, _, _ := strings.Cut(r.Help, ". ")
	return s
}

// names are what may follow the command: words and the names of options.
func (c *Command) names() []string {
	list := slices.Clone(c.Words)
	for _, r := range visible(c.Rows) {
		list = append(list, r.Names()...)
	}
	return list
}

// completing are the commands that anything may follow, and the pattern of their names in a case of a shell.
func completing(commands []Command) (list []Command, pattern string) {
	var names []string
	for _, c := range commands {
		if len(c.Rows)+len(c.Words) > 0 {
			list, names = append(list, c), append(names, c.Name)
		}
	}
	return list, strings.Join(names, " | ")
}

// bash works without the bash-completion package, and in the old bash of macOS.
func bash(commands []Command, perfAnalyzer Command) string {
	var b strings.Builder
	b.WriteString(`# bash completion for redline and perf_analyzer
# load it with: source <(redline completion bash)

_redline_files() {
    local IFS=$'\n'
    compopt -o filenames 2>/dev/null
    COMPREPLY+=($(compgen "$1" -- "$cur"))
}
`)
	list, pattern := completing(commands)
	for _, c := range append(slices.Clone(list), perfAnalyzer) {
		c.bash(&b)
	}
	names := convert.All(commands, func(c Command) string { return c.Name })
	fmt.Fprintf(&b, `
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
        _redline_command_%s
        return
    fi
    if ((COMP_CWORD == 1)); then
        COMPREPLY=($(compgen -W %s -- "$cur"))
        return
    fi
    case ${COMP_WORDS[1]} in
    %s) "_redline_command_${COMP_WORDS[1]}" ;;
    esac
}

complete -F _redline redline perf_analyzer
`, perfAnalyzer.Name, quote(strings.Join(names, " ")), pattern)
	return b.String()
}

// bash writes the function that completes what follows the command.
func (c *Command) bash(b *strings.Builder) {
	fmt.Fprintf(b, "\n_redline_command_%s() {\n", c.Name)
	b.WriteString("    case $prev in\n")
	for _, list := range alike(c.Rows) {
		var names []string
		for i := range list {
			names = append(names, list[i].Names()...)
		}
		fmt.Fprintf(b, "    %s)\n", strings.Join(names, " | "))
		if words := list[0].To.Words; len(words) > 0 {
			fmt.Fprintf(b, "        COMPREPLY=($(compgen -W %s -- \"$cur\"))\n", quote(strings.Join(words, " ")))
		}
		if list[0].files() {
			b.WriteString("        _redline_files -f\n")
		}
		if list[0].dirs() {
			b.WriteString("        _redline_files -d\n")
		}
		b.WriteString("        return\n        ;;\n")
	}
	fmt.Fprintf(b, "    esac\n    COMPREPLY=($(compgen -W %s -- \"$cur\"))\n}\n", quote(strings.Join(c.names(), " ")))
}

// alike are the options with a value, those with the same completion of the value together.
func alike(rows []Row) [][]Row {
	valued := slices.DeleteFunc(visible(rows), func(r Row) bool { return r.Arg == "" })
	return gathered(valued, func(a, b *Row) bool {
		return a.files() == b.files() && a.dirs() == b.dirs() && slices.Equal(a.To.Words, b.To.Words)
	})
}

func zsh(commands []Command, perfAnalyzer Command) string {
	var b strings.Builder
	b.WriteString("#compdef redline perf_analyzer\n# zsh completion for redline and perf_analyzer\n" +
		"# load it with: source <(redline completion zsh)\n")
	list, pattern := completing(commands)
	for _, c := range append(slices.Clone(list), perfAnalyzer) {
		fmt.Fprintf(&b, "\n_redline_command_%s() {\n    _arguments -s -S", c.Name)
		if len(c.Words) > 0 {
			fmt.Fprintf(&b, " \\\n        %s", quote("1:word:("+strings.Join(c.Words, " ")+")"))
		}
		for _, r := range visible(c.Rows) {
			fmt.Fprintf(&b, " \\\n        %s", r.zsh())
		}
		b.WriteString("\n}\n")
	}
	fmt.Fprintf(&b, "\n_redline() {\n    if [[ $service != redline* ]]; then\n        _redline_command_%s\n        return\n    fi\n", perfAnalyzer.Name)
	b.WriteString("    if ((CURRENT == 2)); then\n        local -a commands=(\n")
	for _, c := range commands {
		fmt.Fprintf(&b, "            %s\n", quote(c.Name+":"+c.Summary))
	}
	fmt.Fprintf(&b, `        )
        _describe command commands
        return
    fi
    local command=$words[2]
    shift words
    ((CURRENT--))
    case $command in
    %s) _redline_command_$command ;;
    esac
}

if [[ $funcstack[1] == _redline ]]; then
    _redline "$@"
else
    compdef _redline redline perf_analyzer
fi
`, pattern)
	return b.String()
}

// zsh is the option as _arguments wants it: (exclusions){forms}[text]:message:action.
func (r *Row) zsh() string {
	spec := ""
	if text := r.summary(); text != "" {
		spec = "[" + strings.NewReplacer("[", `\[`, "]", `\]`, ":", `\:`).Replace(text) + "]"
	}
	if r.Arg != "" {
		action := " "
		words := strings.Join(r.To.Words, " ")
		switch {
		case r.files() && words != "":
			action = `{compadd -- ` + words + `; _files}`
		case r.files():
			action = "_files"
		case r.dirs():
			action = "_files -/"
		case words != "":
			action = "(" + words + ")"
		}
		spec += ":" + strings.ReplaceAll(r.Arg, ":", `\:`) + ":" + action
	}
	var forms []string
	for _, n := range r.Names() {
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
	if !r.Repeat {
		head = quote("(" + strings.Join(r.Names(), " ") + ")")
	}
	if len(forms) == 1 {
		return head + forms[0] + quote(spec)
	}
	return head + "{" + strings.Join(forms, ",") + "}" + quote(spec)
}

func fish(commands []Command, perfAnalyzer Command) string {
	var b strings.Builder
	b.WriteString("# fish completion for redline and perf_analyzer\n# load it with: redline completion fish | source\n\n")
	b.WriteString("complete -c redline -f\ncomplete -c perf_analyzer -f\n")
	for _, c := range commands {
		fmt.Fprintf(&b, "complete -c redline -n __fish_use_subcommand -a %s -d %s\n", c.Name, quote(c.Summary))
		after := fmt.Sprintf("complete -c redline -n '__fish_seen_subcommand_from %s'", c.Name)
		if len(c.Words) > 0 {
			fmt.Fprintf(&b, "%s -a %s\n", after, quote(strings.Join(c.Words, " ")))
		}
		c.fish(&b, after)
	}
	perfAnalyzer.fish(&b, "complete -c perf_analyzer")
	return b.String()
}

// fish writes one complete command for each option.
func (c *Command) fish(b *strings.Builder, head string) {
	for _, r := range visible(c.Rows) {
		b.WriteString(head)
		for _, name := range r.longNames() {
			b.WriteString(" -l " + name)
		}
		if r.Short != 0 {
			b.WriteString(" -s " + string(r.Short))
		}
		switch {
		case r.Arg == "":
		case r.files():
			b.WriteString(" -r -F")
		case r.dirs():
			b.WriteString(" -x -a '(__fish_complete_directories)'")
		default:
			b.WriteString(" -x")
		}
		if len(r.To.Words) > 0 {
			b.WriteString(" -a " + quote(strings.Join(r.To.Words, " ")))
		}
		if text := r.summary(); text != "" {
			b.WriteString(" -d " + quote(text))
		}
		b.WriteString("\n")
	}
}

// quote puts s in single quotes for any of the shells.
func quote(s string) string {
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
