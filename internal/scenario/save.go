package scenario

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/redline-bench/redline/internal/option"
	"github.com/redline-bench/redline/internal/secret"
)

// Run is a run of a command that is written as a scenario.
type Run struct {
	Command string   // profile or llm
	Args    []string // options as option.Table.Arguments gives them: without secrets
	Rows    []option.Row
	// Whole are options that concern the run as a whole and are kept; Drop are options that a scenario does not keep.
	Whole, Drop []string
}

// Write makes the scenario of a run: one class with the options of the run. References to environment variables replace its
// secrets; variables are their names.
func Write(run Run) (content []byte, variables []string, err error) {
	class, whole := &group{}, &group{}
	for _, arg := range run.Args {
		name, value, _ := strings.Cut(arg, "=")
		i := slices.IndexFunc(run.Rows, func(row option.Row) bool { return row.Name() == name })
		if i < 0 || slices.Contains(run.Drop, name) {
			continue
		}
		to := class
		if slices.Contains(run.Whole, name) {
			to = whole
		}
		value = strings.ReplaceAll(value, "${env:", "$${env:")
		for strings.Contains(value, secret.Mask) {
			variable := variableOf(run.Rows[i].Keys()[0], value, variables)
			variables = append(variables, variable)
			value = strings.Replace(value, secret.Mask, "${env:"+variable+"}", 1)
		}
		to.add(value, &run.Rows[i])
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "# Written by redline %s --save-scenario. Run it with: redline run FILE\n", run.Command)
	doc := &yaml.Node{Kind: yaml.MappingNode}
	if len(whole.node.Content) > 0 {
		doc.Content = append(doc.Content, scalar("options"), whole.mapping())
	}
	one := &yaml.Node{Kind: yaml.MappingNode, Content: []*yaml.Node{scalar(run.Command), class.mapping()}}
	classes := &yaml.Node{Kind: yaml.MappingNode, Content: []*yaml.Node{scalar(run.Command), one}}
	doc.Content = append(doc.Content, scalar("classes"), classes)
	e := yaml.NewEncoder(&b)
	e.SetIndent(2)
	if err := e.Encode(doc); err != nil {
		return nil, nil, err
	}
	return b.Bytes(), variables, e.Close()
}

// variableOf is the name of the environment variable for a secret: the header's, or the option's, with a number where it is
// taken.
func variableOf(base, value string, taken []string) string {
	if header, _, ok := strings.Cut(value, ":"); ok && base == "header" {
		base = header
	}
	base = strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z':
			return r - 'a' + 'A'
		case r >= 'A' && r <= 'Z', r >= '0' && r <= '9':
			return r
		}
		return '_'
	}, base)
	variable := base
	for n := 2; slices.Contains(taken, variable); n++ {
		variable = fmt.Sprintf("%s_%d", base, n)
	}
	return variable
}

// group is the options of one place of the file, in their order.
type group struct {
	node yaml.Node
	keys []string
}

func (g *group) mapping() *yaml.Node {
	g.node.Kind = yaml.MappingNode
	return &g.node
}

func (g *group) add(value string, row *option.Row) {
	key := row.Keys()[0]
	item := scalar(value)
	if row.Arg == "" {
		item = &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!bool", Value: "true"}
	}
	i := slices.IndexFunc(g.keys, func(k string) bool { return k == key })
	switch {
	case i < 0 && row.Repeat:
		item = &yaml.Node{Kind: yaml.SequenceNode, Content: []*yaml.Node{item}}
		fallthrough
	case i < 0:
		g.keys = append(g.keys, key)
		g.node.Content = append(g.node.Content, scalar(key), item)
	case row.Repeat:
		list := g.node.Content[2*i+1]
		list.Content = append(list.Content, item)
	default: // the last one counts
		g.node.Content[2*i+1] = item
	}
}

// scalar is a text. One that looks like a number is written as such: the reader takes both as text.
func scalar(value string) *yaml.Node {
	var n yaml.Node
	if yaml.Unmarshal([]byte(value), &n) == nil && len(n.Content) == 1 {
		if c := n.Content[0]; (c.Tag == "!!int" || c.Tag == "!!float") && c.Value == value {
			return &yaml.Node{Kind: yaml.ScalarNode, Tag: c.Tag, Value: value}
		}
	}
	n = yaml.Node{}
	n.SetString(value)
	return &n
}
