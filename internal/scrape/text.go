package scrape

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Page is one response of an endpoint.
type Page struct {
	// At is when the response was complete; Took is how long it took. Both are zero for a page that was only parsed.
	At   time.Time
	Took time.Duration
	// Samples are in the order of the page.
	Samples []Sample
	// Types has the declared type of each family: counter, gauge, histogram, summary, untyped.
	Types map[string]string
	// Help has the help text of each family.
	Help map[string]string
}

// Sample is one line.
type Sample struct {
	Name   string
	Labels []Label // in the order of the line
	Value  float64
}

// Label is one name and value.
type Label struct {
	Name  string
	Value string
}

// Label returns the value of a label, or "" when the sample does not carry it.
func (s *Sample) Label(name string) string {
	for _, l := range s.Labels {
		if l.Name == name {
			return l.Value
		}
	}
	return ""
}

// Has reports whether the page holds a sample of this name.
func (p *Page) Has(name string) bool {
	return slices.ContainsFunc(p.Samples, func(s Sample) bool { return s.Name == name })
}

// Parse reads a page in Prometheus' text format. It keeps the samples and families whose names keep accepts; nil accepts all.
// Invalid lines are ignored: the error names the first of them, and the page is never nil. Timestamps and exemplars after the
// value are ignored.
//
// The page does not refer to text, so that a few kept samples do not keep a large response in memory.
func Parse(text string, keep func(name string) bool) (*Page, error) {
	if keep == nil {
		keep = func(string) bool { return true }
	}
	p := &Page{Types: map[string]string{}}
	var first error
	n := 0
	for line := range strings.Lines(text) {
		n++
		line = strings.Trim(line, " \t\r\n")
		if line == "" {
			continue
		}
		if line[0] == '#' {
			p.comment(line, keep)
			continue
		}
		s, ok, err := parseSample(line, keep)
		if err != nil {
			if first == nil {
				first = fmt.Errorf("metrics line %d: %w", n, err)
			}
			continue
		}
		if ok {
			p.Samples = append(p.Samples, s)
		}
	}
	return p, first
}

// comment keeps TYPE and HELP lines and ignores other comments.
func (p *Page) comment(line string, keep func(string) bool) {
	f := strings.Fields(line)
	switch {
	case len(f) < 4 || f[0] != "#" || !keep(f[2]):
	case f[1] == "TYPE" && len(f) == 4:
		p.Types[strings.Clone(f[2])] = strings.Clone(f[3])
	case f[1] == "HELP":
		if p.Help == nil {
			p.Help = map[string]string{}
		}
		p.Help[strings.Clone(f[2])] = strings.Join(f[3:], " ")
	}
}

// parseSample reads one line. It reports false for a name that is not kept.
func parseSample(line string, keep func(string) bool) (Sample, bool, error) {
	end := nameEnd(line, true)
	if end == 0 {
		return Sample{}, false, errors.New("no metric name")
	}
	name, rest := line[:end], strings.TrimLeft(line[end:], " \t")
	if !keep(name) {
		return Sample{}, false, nil
	}
	s := Sample{Name: strings.Clone(name)}
	if strings.HasPrefix(rest, "{") {
		var err error
		if s.Labels, rest, err = parseLabels(rest[1:]); err != nil {
			return Sample{}, false, err
		}
	} else if rest == line[end:] && rest != "" {
		return Sample{}, false, fmt.Errorf("%q in a metric name", rest[0])
	}
	f := strings.Fields(rest)
	if len(f) == 0 {
		return Sample{}, false, errors.New("no value")
	}
	v, err := parseValue(f[0])
	if err != nil {
		return Sample{}, false, err
	}
	if len(f) > 1 && f[1] != "#" {
		if _, err := strconv.ParseFloat(f[1], 64); err != nil {
			return Sample{}, false, fmt.Errorf("%q after the value is not a timestamp", f[1])
		}
	}
	s.Value = v
	return s, true, nil
}

// parseValue takes what strconv takes except for hexadecimal forms and digit separators, which are Go's own. A number
// too large for a float64 is an infinity.
func parseValue(s string) (float64, error) {
	if strings.ContainsAny(s, "xX_") {
		return 0, fmt.Errorf("%q is not a number", s)
	}
	v, err := strconv.ParseFloat(s, 64)
	if err != nil && !errors.Is(err, strconv.ErrRange) {
		return 0, fmt.Errorf("%q is not a number", s)
	}
	return v, nil
}

// parseLabels reads labels after an opening brace, and returns the text after the closing brace.
func parseLabels(s string) ([]Label, string, error) {
	var labels []Label
	for {
		s = strings.TrimLeft(s, " \t")
		if rest, ok := strings.CutPrefix(s, "}"); ok {
			return labels, rest, nil
		}
		end := nameEnd(s, false)
		if end == 0 {
			return nil, "", errors.New("no label name")
		}
		name := s[:end]
		s = strings.TrimLeft(s[end:], " \t")
		if !strings.HasPrefix(s, "=") {
			return nil, "", fmt.Errorf("no = after label %s", name)
		}
		s = strings.TrimLeft(s[1:], " \t")
		value, rest, ok := unquote(s)
		if !ok {
			return nil, "", fmt.Errorf("label %s has no quoted value", name)
		}
		labels = append(labels, Label{Name: strings.Clone(name), Value: value})
		s = strings.TrimLeft(rest, " \t")
		if after, ok := strings.CutPrefix(s, ","); ok {
			s = after
		} else if !strings.HasPrefix(s, "}") {
			return nil, "", fmt.Errorf("no comma or brace after label %s", name)
		}
	}
}

// unquote reads a label value with its quotes. A backslash before any except \, " and n stands for itself.
func unquote(s string) (value, rest string, ok bool) {
	if !strings.HasPrefix(s, `"`) {
		return "", "", false
	}
	var b strings.Builder
	for i := 1; i < len(s); i++ {
		switch {
		case s[i] == '"':
			return b.String(), s[i+1:], true
		case s[i] == '\\' && i+1 < len(s) && strings.IndexByte(`\"n`, s[i+1]) >= 0:
			i++
			if s[i] == 'n' {
				b.WriteByte('\n')
			} else {
				b.WriteByte(s[i])
			}
		default:
			b.WriteByte(s[i])
		}
	}
	return "", "", false
}

// nameEnd is the length of the metric or label name that s starts with. Only metric names may hold colons.
func nameEnd(s string, metric bool) int {
	for i := range len(s) {
		c := s[i]
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_' || c == ':' && metric
		if !letter && (i == 0 || c < '0' || c > '9') {
			return i
		}
	}
	return len(s)
}
