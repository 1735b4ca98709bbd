package protofile

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
)

// value is what an option is set to.
type value struct {
	token
	negative bool
	whole    bool // a message between braces, read over
}

func (v value) String() string {
	switch {
	case v.whole:
		return "{...}"
	case v.negative:
		return "-" + v.text
	default:
		return v.token.String()
	}
}

// statement reads an option that is a statement of its own, after the word option.
func (p *parser) statement(into proto.Message) {
	p.option(into, nil)
	p.want(";")
}

// bracketed reads the options of a field or a value. A field has two that are not options but parts of it.
func (p *parser) bracketed(into proto.Message, f *descriptorpb.FieldDescriptorProto) {
	p.want("[")
	for more := true; more; more = p.take(",") {
		p.option(into, f)
	}
	p.want("]")
}

// option reads a name and a value.
func (p *parser) option(into proto.Message, f *descriptorpb.FieldDescriptorProto) {
	at := p.tok.at
	name := p.optionName()
	p.want("=")
	v := p.value()
	switch {
	case p.err != nil:
	case f != nil && name[0] == "default":
		p.setDefault(f, v)
	case f != nil && name[0] == "json_name":
		if v.kind != text {
			p.fail(v.at, "json_name is a string, in quotes")
		}
		f.JsonName = &v.text
	default:
		if wrong := set(into.ProtoReflect(), name, v); wrong != "" {
			p.fail(at, "%s", wrong)
		}
	}
}

// optionName reads the parts of a name. One that the file or an import defines stands in parentheses, and begins
// with one here.
func (p *parser) optionName() []string {
	var parts []string
	for {
		if p.take("(") {
			parts = append(parts, "("+p.dotted("an option's name", true))
			p.want(")")
		} else {
			parts = append(parts, p.word("an option's name"))
		}
		if !p.take(".") {
			return parts
		}
	}
}

func (p *parser) value() value {
	if p.at("{") {
		at := p.tok.at
		p.skip()
		return value{token: token{at: at}, whole: true}
	}
	v := value{token: p.tok, negative: p.take("-")}
	if v.negative {
		v.token = p.tok
	}
	switch p.tok.kind {
	case text:
		v.text = p.text("a value")
	case ident, integer, float:
		p.advance()
	default:
		p.fail(p.tok.at, "%s stands where the value of an option is needed", p.tok)
	}
	if v.negative && v.kind == text {
		p.fail(v.at, "a string has no sign")
	}
	return v
}

// skip reads over a message between braces.
func (p *parser) skip() {
	at := p.tok.at
	for depth := 0; ; {
		switch {
		case p.tok.kind == end:
			p.fail(at, "this value has no end: close it with }")
			return
		case p.at("{"):
			depth++
		case p.at("}"):
			depth--
		}
		p.advance()
		if depth == 0 {
			return
		}
	}
}

// set sets an option in its message. Options that are not known here are read over: they are for compilers.
func set(m protoreflect.Message, name []string, v value) (wrong string) {
	fd := m.Descriptor().Fields().ByName(protoreflect.Name(name[0]))
	switch {
	case strings.HasPrefix(name[0], "(") || fd == nil:
		return ""
	case len(name) > 1 && (fd.Message() == nil || fd.IsList()):
		return fmt.Sprintf("the option %s has no parts", name[0])
	case len(name) > 1:
		return set(m.Mutable(fd).Message(), name[1:], v)
	case v.whole && fd.Name() == "features":
		return "features are set one by one here: features.NAME = VALUE"
	case v.whole:
		return ""
	}
	val, ok := v.as(fd)
	if !ok {
		return fmt.Sprintf("the option %s cannot be %s", name[0], v)
	}
	if fd.IsList() {
		m.Mutable(fd).List().Append(val)
	} else {
		m.Set(fd, val)
	}
	return ""
}

// as turns a value into one of an option's type.
func (v value) as(fd protoreflect.FieldDescriptor) (protoreflect.Value, bool) {
	switch fd.Kind() {
	case protoreflect.BoolKind:
		return protoreflect.ValueOfBool(v.text == "true"), v.kind == ident && (v.text == "true" || v.text == "false")
	case protoreflect.EnumKind:
		e := fd.Enum().Values().ByName(protoreflect.Name(v.text))
		if e == nil || v.kind != ident {
			return protoreflect.Value{}, false
		}
		return protoreflect.ValueOfEnum(e.Number()), true
	case protoreflect.StringKind:
		return protoreflect.ValueOfString(v.text), v.kind == text
	default:
		return protoreflect.Value{}, false
	}
}

// setDefault writes a default value as descriptors hold it: numbers in decimal, bytes with escapes.
func (p *parser) setDefault(f *descriptorpb.FieldDescriptorProto, v value) {
	s := v.text
	switch {
	case v.whole:
		p.fail(v.at, "a message has no default value")
	case p.form() == proto3:
		p.fail(v.at, "proto3 has no default values: leave default away")
	case v.kind == integer:
		n, err := strconv.ParseUint(s, 0, 64)
		if err != nil {
			p.fail(v.at, "%s is not a number of 64 bits", s)
		}
		s = strconv.FormatUint(n, 10)
	case v.kind == float:
		n, _ := strconv.ParseFloat(s, 64) // the lexer knows that it is one; too large is infinite
		s = strconv.FormatFloat(n, 'g', -1, 64)
		if math.IsInf(n, 0) {
			s = "inf"
		}
	case v.kind == text && f.GetType() == descriptorpb.FieldDescriptorProto_TYPE_BYTES:
		s = escaped(s)
	}
	if v.negative {
		s = "-" + s
	}
	f.DefaultValue = &s
}

// escaped writes bytes as C does.
func escaped(s string) string {
	var out strings.Builder
	for _, c := range []byte(s) {
		switch {
		case c == '"' || c == '\'' || c == '\\':
			out.WriteByte('\\')
			out.WriteByte(c)
		case c < ' ' || c > '~':
			fmt.Fprintf(&out, "\\%03o", c)
		default:
			out.WriteByte(c)
		}
	}
	return out.String()
}
