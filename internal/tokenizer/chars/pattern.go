package chars

import (
	"errors"
	"fmt"
	"maps"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/dlclark/regexp2/v2/syntax"
)

// maxPattern is the length of a pattern in bytes; the longest of a known tokenizer has 500.
const maxPattern = 10_000

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
	for p.more() {
		s, err := p.element()
		if err != nil {
			return "", patternError(source, err)
		}
		out.WriteString(s)
	}
	return out.String(), nil
}

func (p *translator) more() bool { return p.pos < len(p.src) }

func (p *translator) eat(s string) bool {
	if !strings.HasPrefix(p.src[p.pos:], s) {
		return false
	}
	p.pos += len(s)
	return true
}

func (p *translator) next() rune {
	r, size := utf8.DecodeRuneInString(p.src[p.pos:])
	p.pos += size
	return r
}

// upTo reads the text before an end, and the end.
func (p *translator) upTo(end string) (text string, ok bool) {
	text, _, ok = strings.Cut(p.src[p.pos:], end)
	if ok {
		p.pos += len(text) + len(end)
	}
	return text, ok
}

// element translates the next escape, class, head of a group or character.
func (p *translator) element() (string, error) {
	switch {
	case p.eat(`\b`):
		return "(?:" + behindWord + notWord + "|" + notBehindWord + beforeWord + ")", nil
	case p.eat(`\B`):
		return "(?:" + behindWord + beforeWord + "|" + notBehindWord + notWord + ")", nil
	case p.eat(`\`):
		s, err := p.escape()
		return s.outside(), err
	case p.eat("["):
		return p.class()
	case p.eat("(?P<"):
		return "(?<", nil
	case p.eat("(?"):
		return "(?" + p.flags(), nil
	case p.eat("{,"):
		return p.atMost(), nil
	}
	return string(p.next()), nil
}

// word are the characters of \w; regexp2's own \w has fewer.
const (
	word          = `\p{L}\p{M}\p{Nd}\p{Nl}\p{Pc}\p{Other_Alphabetic}²³¹¼-¾`
	beforeWord    = "(?=[" + word + "])"
	notWord       = "(?![" + word + "])"
	behindWord    = "(?<=[" + word + "])"
	notBehindWord = "(?<![" + word + "])"
)

// flags are the letters behind (?. The dot matches line ends with m, as in Ruby; in .NET with s.
func (p *translator) flags() string {
	rest := p.src[p.pos:]
	n := len(rest) - len(strings.TrimLeft(rest, "imsx-"))
	p.pos += n
	return strings.ReplaceAll(rest[:n], "m", "s")
}

// atMost is what {, begins: {,3} is {0,3}.
func (p *translator) atMost() string {
	number, _, ok := strings.Cut(p.src[p.pos:], "}")
	if !ok || number == "" || strings.Trim(number, "0123456789") != "" {
		return "{,"
	}
	return "{0,"
}

// set is what an escape stands for: the inside of a bracket expression.
type set struct {
	items string
	neg   bool
	plain bool // a character
}

func (s set) outside() string {
	switch {
	case s.plain:
		return s.items
	case s.neg:
		return "[^" + s.items + "]"
	}
	return "[" + s.items + "]"
}

// escape reads what follows a backslash.
func (p *translator) escape() (set, error) {
	if !p.more() {
		return set{}, errors.New("a backslash ends the pattern")
	}
	switch r := p.next(); r {
	case 'w', 'W':
		return set{items: word, neg: r == 'W'}, nil
	case 'h', 'H':
		return set{items: "0-9a-fA-F", neg: r == 'H'}, nil
	case 'p', 'P':
		s, err := p.property()
		s.neg = s.neg != (r == 'P')
		return s, err
	case '_':
		return set{items: "_", plain: true}, nil
	default:
		if r >= utf8.RuneSelf {
			return set{items: string(r), plain: true}, nil
		}
		return set{items: `\` + string(r), plain: true}, nil
	}
}

// posix are the names of [:name:] that are no names of Unicode.
var posix = map[string]string{
	"alnum": `\p{L}\p{M}\p{Nd}`, "alpha": `\p{L}\p{M}\p{Nl}`, "blank": `\p{Zs}\t`, "cntrl": `\p{Cc}`, "digit": `\p{Nd}`, "lower": `\p{Ll}`,
	"punct": `\p{P}\p{S}`, "space": `\s`, "upper": `\p{Lu}`, "word": word, "xdigit": "0-9a-fA-F", "any": `\s\S`,
}

// property reads {name}, {^name} or a single letter.
func (p *translator) property() (set, error) {
	var name string
	if p.eat("{") {
		var ok bool
		if name, ok = p.upTo("}"); !ok {
			return set{}, errors.New("a property has no end")
		}
	} else if p.more() {
		name = string(p.next())
	}
	name, neg := strings.CutPrefix(name, "^")
	clean := func(s string) string {
		return strings.NewReplacer(" ", "", "_", "", "-", "").Replace(strings.ToLower(s))
	}
	if items, ok := posix[clean(name)]; ok {
		return set{items: items, neg: neg}, nil
	}
	known := maps.Clone(unicode.CategoryAliases)
	for s := range unicode.Categories {
		known[s] = s
	}
	for s := range unicode.Scripts {
		known[s] = s
	}
	for s, to := range known {
		if clean(s) == clean(name) {
			return set{items: `\p{` + to + `}`, neg: neg}, nil
		}
	}
	return set{}, fmt.Errorf("there is no property %q", name)
}

// class translates a bracket expression behind its opening bracket. Regexp2 knows neither classes in classes nor &&;
// conditions on the next character say the same.
func (p *translator) class() (string, error) {
	if p.depth++; p.depth > 50 {
		return "", errors.New("classes are nested too deep")
	}
	defer func() { p.depth-- }()
	neg := p.eat("^")
	plain, nested, right := "", []string(nil), ""
	if p.eat("]") {
		plain = `\]`
	}
	for !p.eat("]") {
		if !p.more() {
			return "", errors.New("a class has no end")
		}
		if p.eat("&&") {
			var err error
			if right, err = p.class(); err != nil {
				return "", err
			}
			break
		}
		item, sub, err := p.member()
		if err != nil {
			return "", err
		}
		plain += item
		if sub != "" {
			nested = append(nested, sub)
		}
	}
	return join(plain, nested, right, neg), nil
}

// member reads a member of a class: characters and sets that a bracket expression may have, or another class.
func (p *translator) member() (item, nested string, err error) {
	switch rest := p.src[p.pos:]; {
	case strings.HasPrefix(rest, "[:") && strings.Index(rest, ":]") > 1:
		p.pos += 2
		name, _ := p.upTo(":]")
		name, neg := strings.CutPrefix(name, "^")
		items, ok := posix[name]
		if !ok {
			return "", "", fmt.Errorf("there is no class [:%s:]", name)
		}
		return inside(set{items: items, neg: neg})
	case p.eat("["):
		nested, err = p.class()
		return "", nested, err
	case p.eat("^"):
		return `\^`, "", nil
	case p.eat(`\`):
		s, err := p.escape()
		if err != nil {
			return "", "", err
		}
		return inside(s)
	}
	return string(p.next()), "", nil
}

// inside is a set as a member of a class.
func inside(s set) (item, nested string, err error) {
	if s.neg {
		return "", s.outside(), nil
	}
	return s.items, "", nil
}

// join makes the expression of a class: one of plain or nested, and of right if there is one.
func join(plain string, nested []string, right string, neg bool) string {
	if right == "" && len(nested) == 0 && neg {
		return "[^" + plain + "]"
	}
	if !neg && len(nested) == 0 && strings.HasPrefix(right, "[^") {
		return "[" + plain + "-[" + strings.TrimPrefix(right, "[^") + "]" // regexp2 subtracts classes
	}
	one := strings.Join(nested, "|")
	if plain != "" {
		one = strings.Join(append([]string{"[" + plain + "]"}, nested...), "|")
	}
	if len(nested) > 0 {
		one = "(?:" + one + ")"
	}
	if right != "" {
		one = "(?:(?=" + one + ")" + right + ")"
	}
	if neg {
		one = "(?:(?!" + one + `)[\s\S])`
	}
	return one
}
