package protofile

import (
	"math"
	"strconv"
	"strings"

	"google.golang.org/protobuf/types/descriptorpb"
)

// parser reads one file. After the first error every token is the end of the file, so that no function needs to look
// at more than what it reads.
type parser struct {
	lexer
	tok token
	err error

	out      *descriptorpb.FileDescriptorProto
	imports  []imported
	refs     []ref
	types    map[string]descriptorpb.FieldDescriptorProto_Type // by full name
	declared map[string]place
	depth    int // of messages
}

// imported is the name of another file.
type imported struct {
	name string
	at   place
}

// ref is where a file names a type.
type ref struct {
	at    place
	scope string
	name  *string                            // set to the full name, with a dot before it, once that is known
	field *descriptorpb.FieldDescriptorProto // gets its type; nil: only a message will do
}

// The forms of the language.
const (
	proto2   = "proto2"
	proto3   = "proto3"
	editions = "editions"
)

// maxDepth bounds messages within messages, as protoc does.
const maxDepth = 32

// parse reads a file. What is wrong with it is the parser's error.
func parse(name string, text []byte) *parser {
	p := &parser{
		lexer: lexer{in: text}, out: &descriptorpb.FileDescriptorProto{Name: &name},
		types: map[string]descriptorpb.FieldDescriptorProto_Type{}, declared: map[string]place{},
	}
	p.advance()
	p.syntax()
	for p.tok.kind != end {
		p.topLevel()
	}
	return p
}

// advance moves to the next token and returns the one that it leaves.
func (p *parser) advance() token {
	last := p.tok
	if p.err != nil {
		p.tok = token{at: last.at}
		return last
	}
	next, wrong := p.next()
	p.tok = next
	if wrong != "" {
		p.fail(next.at, "%s", wrong)
	}
	return last
}

// fail keeps the first error.
func (p *parser) fail(at place, format string, args ...any) {
	if p.err == nil {
		p.err = p.errorAt(at, format, args...)
	}
	p.tok = token{at: at}
}

// at tells whether the next token is this word or sign.
func (p *parser) at(s string) bool {
	return (p.tok.kind == symbol || p.tok.kind == ident) && p.tok.text == s
}

// take reads a word or sign if it is the next.
func (p *parser) take(s string) bool {
	ok := p.at(s)
	if ok {
		p.advance()
	}
	return ok
}

// want reads a word or sign that has to be there.
func (p *parser) want(s string) {
	if !p.take(s) {
		p.fail(p.tok.at, "%s stands where %q is needed", p.tok, s)
	}
}

// word reads a name without dots.
func (p *parser) word(what string) string {
	if p.tok.kind != ident {
		p.fail(p.tok.at, "%s stands where %s is needed", p.tok, what)
		return ""
	}
	return p.advance().text
}

// dotted reads a name with dots, and with one before it where that is allowed.
func (p *parser) dotted(what string, leading bool) string {
	name := ""
	if leading && p.take(".") {
		name = "."
	}
	name += p.word(what)
	for p.take(".") {
		name += "." + p.word(what)
	}
	return name
}

// text reads a string, which may be in pieces.
func (p *parser) text(what string) string {
	if p.tok.kind != text {
		p.fail(p.tok.at, "%s stands where %s is needed, in quotes", p.tok, what)
		return ""
	}
	var s strings.Builder
	for p.tok.kind == text {
		s.WriteString(p.advance().text)
	}
	return s.String()
}

// number reads an integer of 32 bits.
func (p *parser) number(what string) int32 {
	at, negative := p.tok.at, p.take("-")
	if p.tok.kind != integer {
		p.fail(p.tok.at, "%s stands where %s is needed", p.tok, what)
		return 0
	}
	s := p.advance().text
	if negative {
		s = "-" + s
	}
	n, err := strconv.ParseInt(s, 0, 64)
	if err != nil || n < math.MinInt32 || n > math.MaxInt32 {
		p.fail(at, "%s is too large for %s", s, what)
		return 0
	}
	return int32(n)
}

// block reads declarations between braces; read takes one of them. what is named by a file that ends within.
func (p *parser) block(what string, read func()) {
	p.want("{")
	for !p.take("}") {
		switch {
		case p.tok.kind == end:
			p.fail(p.tok.at, "%s has no end: close it with }", what)
			return
		case !p.take(";"):
			read()
		}
	}
}

// made is what to points at, which is there from the first call on.
func made[T any](to **T) *T {
	if *to == nil {
		*to = new(T)
	}
	return *to
}

// declare notes where a name is given.
func (p *parser) declare(scope, name string, at place) string {
	full := join(scope, name)
	p.declared[full] = at
	return full
}

// syntax reads the first line. Without one a file is proto2.
func (p *parser) syntax() {
	switch at := p.tok.at; {
	case p.take("syntax"):
		p.want("=")
		s := p.text("proto2 or proto3")
		if s != proto2 && s != proto3 {
			p.fail(at, "the syntax %s is not known: proto2, proto3 and edition = \"2023\" are", strconv.Quote(s))
		}
		if s == proto3 {
			p.out.Syntax = &s
		}
		p.want(";")
	case p.take("edition"):
		p.want("=")
		if s := p.text("the edition"); s != "2023" {
			p.fail(at, "the edition %s is not known: 2023 is, and so are syntax = \"proto2\" and \"proto3\"; a server with gRPC reflection needs no file", strconv.Quote(s))
		}
		p.want(";")
		p.out.Syntax = new(editions)
		p.out.Edition = descriptorpb.Edition_EDITION_2023.Enum()
	}
}

func (p *parser) form() string {
	if s := p.out.GetSyntax(); s != "" {
		return s
	}
	return proto2
}

// topLevel reads a declaration of the file.
func (p *parser) topLevel() {
	scope := p.out.GetPackage()
	switch at := p.tok.at; {
	case p.take(";"):
	case p.take("package"):
		if scope != "" || len(p.out.MessageType)+len(p.out.EnumType)+len(p.out.Service)+len(p.out.Extension) > 0 {
			p.fail(at, "the package has to be named once, before anything is declared")
		}
		p.out.Package = new(p.dotted("the package's name", false))
		p.want(";")
	case p.take("import"):
		p.importFile()
	case p.take("option"):
		p.statement(made(&p.out.Options))
	case p.take("message"):
		p.out.MessageType = append(p.out.MessageType, p.message(scope))
	case p.take("enum"):
		p.out.EnumType = append(p.out.EnumType, p.enum(scope))
	case p.take("service"):
		p.out.Service = append(p.out.Service, p.service(scope))
	case p.take("extend"):
		p.extend(scope, &p.out.Extension, &p.out.MessageType)
	default:
		p.fail(at, "%s stands where a message, an enum, a service, an option or an import is needed", p.tok)
	}
}

func (p *parser) importFile() {
	index := int32(len(p.imports))
	switch {
	case p.take("public"):
		p.out.PublicDependency = append(p.out.PublicDependency, index)
	case p.take("weak"):
		p.out.WeakDependency = append(p.out.WeakDependency, index)
	}
	at := p.tok.at
	name := p.text("the file to import")
	p.want(";")
	for _, i := range p.imports {
		if i.name == name {
			p.fail(at, "%s is imported twice", name)
		}
	}
	p.imports = append(p.imports, imported{name, at})
	p.out.Dependency = append(p.out.Dependency, name)
}

func (p *parser) enum(scope string) *descriptorpb.EnumDescriptorProto {
	at := p.tok.at
	e := &descriptorpb.EnumDescriptorProto{Name: new(p.word("the enum's name"))}
	p.types[p.declare(scope, e.GetName(), at)] = typeEnum
	p.block("the enum "+e.GetName(), func() {
		switch {
		case p.take("option"):
			p.statement(made(&e.Options))
		case p.take("reserved"):
			p.reserved(&e.ReservedName, math.MaxInt32, func(from, to int32) {
				e.ReservedRange = append(e.ReservedRange, &descriptorpb.EnumDescriptorProto_EnumReservedRange{Start: &from, End: &to})
			})
		default:
			e.Value = append(e.Value, p.enumValue(scope))
		}
	})
	return e
}

// enumValue reads a value of an enum, whose names are siblings of the enum's.
func (p *parser) enumValue(scope string) *descriptorpb.EnumValueDescriptorProto {
	at := p.tok.at
	v := &descriptorpb.EnumValueDescriptorProto{Name: new(p.word("a value's name"))}
	p.declare(scope, v.GetName(), at)
	p.want("=")
	v.Number = new(p.number("the number of an enum value"))
	if p.at("[") {
		p.bracketed(made(&v.Options), nil)
	}
	p.want(";")
	return v
}

func (p *parser) service(scope string) *descriptorpb.ServiceDescriptorProto {
	at := p.tok.at
	s := &descriptorpb.ServiceDescriptorProto{Name: new(p.word("the service's name"))}
	full := p.declare(scope, s.GetName(), at)
	p.block("the service "+s.GetName(), func() {
		switch {
		case p.take("option"):
			p.statement(made(&s.Options))
		case p.take("rpc"):
			s.Method = append(s.Method, p.method(full))
		default:
			p.fail(p.tok.at, "%s stands where a method is needed: rpc NAME (REQUEST) returns (ANSWER);", p.tok)
		}
	})
	return s
}

func (p *parser) method(scope string) *descriptorpb.MethodDescriptorProto {
	at := p.tok.at
	m := &descriptorpb.MethodDescriptorProto{Name: new(p.word("the method's name"))}
	p.declare(scope, m.GetName(), at)
	m.ClientStreaming, m.InputType = p.operand(scope)
	p.want("returns")
	m.ServerStreaming, m.OutputType = p.operand(scope)
	if p.take(";") {
		return m
	}
	p.block("the method "+m.GetName(), func() {
		if !p.take("option") {
			p.fail(p.tok.at, "%s stands where an option of the method is needed, or }", p.tok)
			return
		}
		p.statement(made(&m.Options))
	})
	return m
}

// operand reads the type of a method's request or answer.
func (p *parser) operand(scope string) (stream *bool, name *string) {
	p.want("(")
	if p.take("stream") {
		stream = new(true)
	}
	at := p.tok.at
	s := p.dotted("a message's name", true)
	p.want(")")
	p.refs = append(p.refs, ref{at: at, scope: scope, name: &s})
	return stream, &s
}
