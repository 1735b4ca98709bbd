package protofile

import (
	"math"
	"strings"

	"google.golang.org/protobuf/types/descriptorpb"
)

// maxNumber is the highest number of a field.
const maxNumber = 1<<29 - 1

// scalars are the types that need no declaration.
var scalars = [...]string{
	descriptorpb.FieldDescriptorProto_TYPE_DOUBLE:   "double",
	descriptorpb.FieldDescriptorProto_TYPE_FLOAT:    "float",
	descriptorpb.FieldDescriptorProto_TYPE_INT64:    "int64",
	descriptorpb.FieldDescriptorProto_TYPE_UINT64:   "uint64",
	descriptorpb.FieldDescriptorProto_TYPE_INT32:    "int32",
	descriptorpb.FieldDescriptorProto_TYPE_FIXED64:  "fixed64",
	descriptorpb.FieldDescriptorProto_TYPE_FIXED32:  "fixed32",
	descriptorpb.FieldDescriptorProto_TYPE_BOOL:     "bool",
	descriptorpb.FieldDescriptorProto_TYPE_STRING:   "string",
	descriptorpb.FieldDescriptorProto_TYPE_BYTES:    "bytes",
	descriptorpb.FieldDescriptorProto_TYPE_UINT32:   "uint32",
	descriptorpb.FieldDescriptorProto_TYPE_SFIXED32: "sfixed32",
	descriptorpb.FieldDescriptorProto_TYPE_SFIXED64: "sfixed64",
	descriptorpb.FieldDescriptorProto_TYPE_SINT32:   "sint32",
	descriptorpb.FieldDescriptorProto_TYPE_SINT64:   "sint64",
}

// space is where fields are declared: a message, one of its oneofs, or what extends a message.
type space struct {
	scope  string // of the names
	fields *[]*descriptorpb.FieldDescriptorProto
	nested *[]*descriptorpb.DescriptorProto // gets the messages of groups and maps
	oneof  *int32
	// extendee is the message to which the fields belong, in its file's words; "" in a message.
	extendee   string
	extendeeAt place
}

func (p *parser) message(scope string) *descriptorpb.DescriptorProto {
	at := p.tok.at
	return p.body(scope, p.word("the message's name"), at)
}

// body reads what a message holds, between braces.
func (p *parser) body(scope, name string, at place) *descriptorpb.DescriptorProto {
	m := &descriptorpb.DescriptorProto{Name: &name}
	full := p.declare(scope, name, at)
	p.types[full] = typeMessage
	if p.depth++; p.depth > maxDepth {
		p.fail(at, "messages stand within one another more than %d deep", maxDepth)
	}
	p.block("the message "+name, func() { p.member(full, m) })
	p.depth--
	synthesize(m)
	return m
}

// member reads one declaration of a message.
func (p *parser) member(scope string, m *descriptorpb.DescriptorProto) {
	switch at := p.tok.at; {
	case p.take("message"):
		m.NestedType = append(m.NestedType, p.message(scope))
	case p.take("enum"):
		m.EnumType = append(m.EnumType, p.enum(scope))
	case p.take("extend"):
		p.extend(scope, &m.Extension, &m.NestedType)
	case p.take("oneof"):
		p.oneof(scope, m)
	case p.take("option"):
		p.statement(made(&m.Options))
		if m.Options.MapEntry != nil {
			p.fail(at, "map_entry cannot be set: write map<KEY, VALUE> NAME = NUMBER;")
		}
	case p.take("reserved"):
		p.reserved(&m.ReservedName, maxNumber, func(from, to int32) {
			to++
			m.ReservedRange = append(m.ReservedRange, &descriptorpb.DescriptorProto_ReservedRange{Start: &from, End: &to})
		})
	case p.take("extensions"):
		p.ranges(maxNumber, func(from, to int32) {
			to++
			m.ExtensionRange = append(m.ExtensionRange, &descriptorpb.DescriptorProto_ExtensionRange{Start: &from, End: &to})
		})
		if p.at("[") {
			p.bracketed(&descriptorpb.ExtensionRangeOptions{}, nil)
		}
		p.want(";")
	default:
		p.field(&space{scope: scope, fields: &m.Field, nested: &m.NestedType})
	}
}

// synthesize gives each optional field of proto3 the oneof of its own by which its presence is known.
func synthesize(m *descriptorpb.DescriptorProto) {
	taken := map[string]bool{}
	for _, f := range m.Field {
		taken[f.GetName()] = true
	}
	for _, o := range m.OneofDecl {
		taken[o.GetName()] = true
	}
	for _, f := range m.Field {
		if !f.GetProto3Optional() {
			continue
		}
		name := f.GetName()
		if !strings.HasPrefix(name, "_") {
			name = "_" + name
		}
		for taken[name] {
			name = "X" + name
		}
		taken[name] = true
		f.OneofIndex = new(int32(len(m.OneofDecl)))
		m.OneofDecl = append(m.OneofDecl, &descriptorpb.OneofDescriptorProto{Name: &name})
	}
}

func (p *parser) oneof(scope string, m *descriptorpb.DescriptorProto) {
	at := p.tok.at
	o := &descriptorpb.OneofDescriptorProto{Name: new(p.word("the oneof's name"))}
	p.declare(scope, o.GetName(), at)
	in := &space{scope: scope, fields: &m.Field, nested: &m.NestedType, oneof: new(int32(len(m.OneofDecl)))}
	m.OneofDecl = append(m.OneofDecl, o)
	p.block("the oneof "+o.GetName(), func() {
		if p.take("option") {
			p.statement(made(&o.Options))
			return
		}
		p.field(in)
	})
}

// extend reads fields that are added to a message elsewhere.
func (p *parser) extend(scope string, fields *[]*descriptorpb.FieldDescriptorProto, nested *[]*descriptorpb.DescriptorProto) {
	in := &space{scope: scope, fields: fields, nested: nested, extendeeAt: p.tok.at}
	in.extendee = p.dotted("the name of the message to extend", true)
	p.block("the extension of "+in.extendee, func() { p.field(in) })
}

// field reads a field, a group or a map.
func (p *parser) field(in *space) {
	f := &descriptorpb.FieldDescriptorProto{Label: descriptorpb.FieldDescriptorProto_LABEL_OPTIONAL.Enum(), OneofIndex: in.oneof}
	at := p.tok.at
	label := ""
	for _, l := range [...]string{"optional", "required", "repeated"} {
		if label == "" && p.take(l) {
			label = l
		}
	}
	if in.extendee != "" {
		f.Extendee = new(in.extendee)
		p.refs = append(p.refs, ref{at: in.extendeeAt, scope: in.scope, name: f.Extendee})
	}
	typeAt := p.tok.at
	name := p.dotted("a field's type", true)
	switch {
	case name == "map" && p.at("<"):
		p.mapField(in, f, label, typeAt)
	case name == "group" && p.tok.kind == ident:
		p.label(in, f, label, at)
		p.group(in, f)
	default:
		p.label(in, f, label, at)
		p.setType(in.scope, f, name, typeAt)
		p.tail(in, f)
		p.want(";")
	}
}

// label checks what stands before the type.
func (p *parser) label(in *space, f *descriptorpb.FieldDescriptorProto, label string, at place) {
	form := p.form()
	switch {
	case in.oneof != nil && label != "":
		p.fail(at, "a field of a oneof has no label: leave %s away", label)
	case label == "repeated":
		f.Label = descriptorpb.FieldDescriptorProto_LABEL_REPEATED.Enum()
	case form == editions && label != "":
		p.fail(at, "%s is not a word of editions: set features.field_presence instead", label)
	case label == "required" && form == proto3:
		p.fail(at, "proto3 has no required fields: leave the word away")
	case label == "required":
		f.Label = descriptorpb.FieldDescriptorProto_LABEL_REQUIRED.Enum()
	case label == "optional" && form == proto3 && in.extendee == "":
		f.Proto3Optional = new(true)
	case label == "" && form == proto2 && in.oneof == nil:
		p.fail(at, "a field of proto2 begins with optional, required or repeated; with syntax = \"proto3\"; in the first line it needs none")
	}
}

// setType gives a field a type that needs no declaration, or a name that is looked up later.
func (p *parser) setType(scope string, f *descriptorpb.FieldDescriptorProto, name string, at place) {
	for t, s := range scalars {
		if s == name && s != "" {
			f.Type = descriptorpb.FieldDescriptorProto_Type(t).Enum()
			return
		}
	}
	f.TypeName = &name
	p.refs = append(p.refs, ref{at: at, scope: scope, name: f.TypeName, field: f})
}

// tail reads a field from its name to its options, and adds it.
func (p *parser) tail(in *space, f *descriptorpb.FieldDescriptorProto) {
	at := p.tok.at
	f.Name = new(p.word("the field's name"))
	p.declare(in.scope, f.GetName(), at)
	p.numbered(f)
	*in.fields = append(*in.fields, f)
}

// numbered reads a field's number and options.
func (p *parser) numbered(f *descriptorpb.FieldDescriptorProto) {
	if !p.at("=") {
		p.fail(p.tok.at, "%s stands where the number of the field %s is needed: NAME = NUMBER;", p.tok, f.GetName())
	}
	p.want("=")
	at := p.tok.at
	n := p.number("the number of a field")
	if p.err == nil && (n < 1 || n > maxNumber) {
		p.fail(at, "%d is not the number of a field: those go from 1 to %d", n, maxNumber)
	}
	f.Number = &n
	if p.at("[") {
		p.bracketed(made(&f.Options), f)
	}
}

// group reads a message that is declared with its field.
func (p *parser) group(in *space, f *descriptorpb.FieldDescriptorProto) {
	at := p.tok.at
	if p.form() != proto2 {
		p.fail(at, "groups are proto2's: declare a message and a field of its type")
	}
	name := p.word("the group's name")
	if name != "" && (name[0] < 'A' || name[0] > 'Z') {
		p.fail(at, "the name of a group begins with a capital letter")
	}
	f.Name = new(strings.ToLower(name))
	f.Type = descriptorpb.FieldDescriptorProto_TYPE_GROUP.Enum()
	f.TypeName = &name
	p.refs = append(p.refs, ref{at: at, scope: in.scope, name: f.TypeName, field: f})
	p.declare(in.scope, f.GetName(), at)
	p.numbered(f)
	*in.fields = append(*in.fields, f)
	*in.nested = append(*in.nested, p.body(in.scope, name, at))
}

// mapField reads a map, which is a list of messages of two fields.
func (p *parser) mapField(in *space, f *descriptorpb.FieldDescriptorProto, label string, at place) {
	if label != "" || in.oneof != nil || in.extendee != "" {
		p.fail(at, "a map stands in a message itself, not in a oneof or an extension, and has no label")
	}
	half := func(name string, number int32) *descriptorpb.FieldDescriptorProto {
		h := &descriptorpb.FieldDescriptorProto{
			Name: &name, Number: &number, Label: descriptorpb.FieldDescriptorProto_LABEL_OPTIONAL.Enum(),
		}
		at := p.tok.at
		p.setType(in.scope, h, p.dotted("a type", true), at)
		return h
	}
	p.want("<")
	key := half("key", 1)
	p.want(",")
	value := half("value", 2)
	p.want(">")
	nameAt := p.tok.at
	f.Label = descriptorpb.FieldDescriptorProto_LABEL_REPEATED.Enum()
	f.Type = typeMessage.Enum()
	p.tail(in, f)
	p.want(";")
	if features := f.GetOptions().GetFeatures(); features.GetUtf8Validation() != 0 {
		for _, h := range [...]*descriptorpb.FieldDescriptorProto{key, value} {
			if h.GetType() == descriptorpb.FieldDescriptorProto_TYPE_STRING {
				h.Options = &descriptorpb.FieldOptions{Features: &descriptorpb.FeatureSet{Utf8Validation: features.Utf8Validation}}
			}
		}
	}
	entry := camel(f.GetName()) + "Entry"
	full := p.declare(in.scope, entry, nameAt)
	p.types[full] = typeMessage
	f.TypeName = new("." + full)
	*in.nested = append(*in.nested, &descriptorpb.DescriptorProto{
		Name: &entry, Field: []*descriptorpb.FieldDescriptorProto{key, value},
		Options: &descriptorpb.MessageOptions{MapEntry: new(true)},
	})
}

// camel makes the name of a map's message out of that of its field.
func camel(s string) string {
	var out strings.Builder
	up := true
	for _, c := range []byte(s) {
		switch {
		case c == '_':
			up = true
			continue
		case up && c >= 'a' && c <= 'z':
			c -= 'a' - 'A'
		}
		up = false
		out.WriteByte(c)
	}
	return out.String()
}

// reserved reads names or numbers that shall not be used.
func (p *parser) reserved(names *[]string, highest int32, add func(from, to int32)) {
	if p.tok.kind != text && p.tok.kind != ident {
		p.ranges(highest, add)
		p.want(";")
		return
	}
	for more := true; more; more = p.take(",") {
		if p.tok.kind == text {
			*names = append(*names, p.text("a name"))
		} else {
			*names = append(*names, p.word("a name"))
		}
	}
	p.want(";")
}

// ranges reads numbers and ranges of them, both ends included.
func (p *parser) ranges(highest int32, add func(from, to int32)) {
	for {
		from := p.number("a number")
		to := from
		if p.take("to") {
			if p.take("max") {
				to = highest
			} else {
				to = p.number("a number or max")
			}
		}
		if to == math.MaxInt32 && highest != math.MaxInt32 {
			p.fail(p.tok.at, "%d is too high for a field: %d is the highest", to, highest)
		}
		if p.err != nil {
			return
		}
		add(from, to)
		if !p.take(",") {
			return
		}
	}
}
