package chars

import (
	"errors"
	"fmt"
	"iter"
	"maps"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/dlclark/regexp2/v2/syntax"
)

// maxPattern is the length of a pattern in bytes; the longest of a known tokenizer has 500.
const maxPattern = 10_000

// translator writes a pattern of Oniguruma in the dialect of regexp2, which is .NET's.
type translator struct {
	src   string
	pos   int
	depth int // of nested classes
}

func translate(source string) (string, error) {
	if len(source) > maxPattern {
		return "", fmt.Errorf("a pattern has %d bytes, more than %d", len(source), maxPattern)
	}
	p := &translator{src: source}
	var out strings.Builder
	for p.pos < len(source) {
		s, err := p.element()
		if err != nil {
			return "", patternError(source, err)
		}
		out.WriteString(s)
	}
	return out.String(), nil
}

// patternError says in one line what is wrong with a pattern.
func patternError(source string, err error) error {
	if e, ok := errors.AsType[*syntax.Error](err); ok {
		err = errors.New(e.Code.String())
		if len(e.Args) > 0 {
			err = fmt.Errorf(e.Code.String(), e.Args...)
		}
	}
	return fmt.Errorf("pattern %q: %w", source, err)
}

func (p *translator) eat(s string) bool {
	if !strings.HasPrefix(p.src[p.pos:], s) {
		return false
	}
	p.pos += len(s)
	return true
}

// next reads a character; the end of the pattern is the character 0xFFFD.
func (p *translator) next() string {
	_, size := utf8.DecodeRuneInString(p.src[p.pos:])
	p.pos += size
	return p.src[p.pos-size : p.pos]
}

// upTo reads the text before an end, and the end.
func (p *translator) upTo(end string) (text string, err error) {
	text, _, ok := strings.Cut(p.src[p.pos:], end)
	if !ok {
		return "", fmt.Errorf("%q is missing", end)
	}
	p.pos += len(text) + len(end)
	return text, nil
}

// The characters of \w, of which regexp2's own \w has fewer, and the places at the ends of words and within.
const (
	word     = `\p{L}\p{M}\p{Nd}\p{Nl}\p{Pc}\p{Other_Alphabetic}²³¹¼-¾`
	boundary = `(?:(?<=[` + word + `])(?![` + word + `])|(?<![` + word + `])(?=[` + word + `]))`
	within   = `(?:(?<=[` + word + `])(?=[` + word + `])|(?<![` + word + `])(?![` + word + `]))`
)

// element translates the next escape, class, head of a group or character.
func (p *translator) element() (string, error) {
	switch {
	case p.eat(`\b`):
		return boundary, nil
	case p.eat(`\B`):
		return within, nil
	case p.eat(`\`):
		e, err := p.escape()
		if !e.set {
			return e.text, err
		}
		return brackets(e.text, e.neg), err
	case p.eat("["):
		return p.class()
	case p.eat("(?P<"):
		return "(?<", nil
	case p.eat("(?"): // the dot matches line ends with m, as in Ruby; in .NET with s
		rest := strings.TrimLeft(p.src[p.pos:], "imsx-")
		flags := p.src[p.pos : len(p.src)-len(rest)]
		p.pos += len(flags)
		return "(?" + strings.ReplaceAll(flags, "m", "s"), nil
	case p.eat("{,"):
		if most, _, ok := strings.Cut(p.src[p.pos:], "}"); ok && most != "" && strings.Trim(most, "0123456789") == "" {
			return "{0,", nil
		}
		return "{,", nil
	}
	return p.next(), nil
}

func brackets(items string, neg bool) string {
	if neg {
		return "[^" + items + "]"
	}
	return "[" + items + "]"
}

// escape is what follows a backslash: a set of characters, as a bracket expression has them, or something else.
type escape struct {
	text     string
	set, neg bool
}

func (p *translator) escape() (escape, error) {
	switch c := p.next(); c {
	case "":
		return escape{}, errors.New("a backslash ends the pattern")
	case "w", "W":
		return escape{word, true, c == "W"}, nil
	case "h", "H":
		return escape{"0-9a-fA-F", true, c == "H"}, nil
	case "p", "P":
		e, err := p.property()
		e.neg = e.neg != (c == "P")
		return e, err
	default:
		if c == "_" || c[0] >= utf8.RuneSelf {
			return escape{text: c}, nil
		}
		return escape{text: `\` + c}, nil
	}
}

// posix are names of [:name:] and \p{name} that are no names of Unicode.
var posix = map[string]string{
	"alnum": `\p{L}\p{M}\p{Nd}`, "alpha": `\p{L}\p{M}\p{Nl}`, "blank": `\p{Zs}\t`, "cntrl": `\p{Cc}`, "digit": `\p{Nd}`, "lower": `\p{Ll}`,
	"punct": `\p{P}\p{S}`, "space": `\s`, "upper": `\p{Lu}`, "word": word, "xdigit": "0-9a-fA-F", "any": `\s\S`,
}

// property reads {name}, {^name} or a single letter.
func (p *translator) property() (escape, error) {
	name := p.next()
	if name == "{" {
		var err error
		if name, err = p.upTo("}"); err != nil {
			return escape{}, err
		}
	}
	name, neg := strings.CutPrefix(name, "^")
	clean := func(s string) string {
		return strings.NewReplacer(" ", "", "_", "", "-", "").Replace(strings.ToLower(s))
	}
	if items, ok := posix[clean(name)]; ok {
		return escape{items, true, neg}, nil
	}
	for _, names := range []iter.Seq[string]{maps.Keys(unicode.Categories), maps.Keys(unicode.CategoryAliases), maps.Keys(unicode.Scripts)} {
		for known := range names {
			if clean(known) == clean(name) {
				return escape{`\p{` + known + `}`, true, neg}, nil
			}
		}
	}
	return escape{}, fmt.Errorf("there is no property %q", name)
}

// class translates a bracket expression behind its opening bracket. Regexp2 knows neither classes in classes nor &&;
// conditions on the next character say the same.
func (p *translator) class() (string, error) {
	if p.depth++; p.depth > 50 {
		return "", errors.New("classes are nested too deep")
	}
	defer func() { p.depth-- }()
	neg := p.eat("^")
	var plain, and string
	var nested []string
	if p.eat("]") {
		plain = `\]`
	}
	for !p.eat("]") {
		var item, sub string
		var err error
		if p.eat("&&") {
			if and, err = p.class(); err == nil {
				break
			}
		} else if item, sub, err = p.member(); sub != "" {
			nested = append(nested, sub)
		}
		if err != nil {
			return "", err
		}
		plain += item
	}
	return join(plain, nested, and, neg), nil
}

// member reads a member of a class: what a bracket expression may have, or a class in the class.
func (p *translator) member() (item, nested string, err error) {
	var e escape
	switch rest := p.src[p.pos:]; {
	case rest == "":
		return "", "", errors.New("a class has no end")
	case strings.HasPrefix(rest, "[:") && strings.Index(rest, ":]") > 1:
		p.pos += len("[:")
		name, _ := p.upTo(":]")
		name, e.neg = strings.CutPrefix(name, "^")
		if e.text = posix[name]; e.text == "" {
			err = fmt.Errorf("there is no class [:%s:]", name)
		}
	case p.eat("["):
		nested, err = p.class()
		return "", nested, err
	case p.eat("^"):
		return `\^`, "", nil
	case p.eat(`\`):
		e, err = p.escape()
	default:
		return p.next(), "", nil
	}
	if e.neg {
		return "", brackets(e.text, true), err
	}
	return e.text, "", err
}

// join makes the expression of a class: one of plain or nested, and of another class, if there is one.
func join(plain string, nested []string, and string, neg bool) string {
	if plain != "" || len(nested) == 0 {
		simple := len(nested) == 0
		if simple && and == "" {
			return brackets(plain, neg)
		}
		if without, ok := strings.CutPrefix(and, "[^"); ok && simple && !neg {
			return "[" + plain + "-[" + without + "]" // regexp2 subtracts classes
		}
		nested = append(nested, brackets(plain, false))
	}
	one := "(?:" + strings.Join(nested, "|") + ")"
	if and != "" {
		one = "(?:(?=" + one + ")" + and + ")"
	}
	if neg {
		one = "(?:(?!" + one + `)[\s\S])`
	}
	return one
}
