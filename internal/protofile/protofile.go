// Package protofile reads .proto files and what they import, and makes descriptors of them.
//
// A file goes through three steps. A lexer cuts it into tokens; a parser with one function a construct turns them
// into a FileDescriptorProto, the form in which protoc itself passes files on; and the loader, having done the same
// with the imports, gives each name of a type its full one. The library that builds the descriptors then checks what
// has to hold between the parts, such as numbers that are used twice.
//
// proto2, proto3 and edition 2023 are read. Options that change what is on the wire or in JSON are kept, and so are
// the other plain ones; options that a file defines itself are read over. The files below google/protobuf that
// protoc brings along come with this package.
//
// Why not a compiler that exists: those that Go has build tables of all standard files when the program starts, for
// every run, also for those that never see a .proto file. This package does nothing until it is called.
package protofile

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"
)

// Error is what is wrong in a file, and where.
type Error struct {
	File         string
	Line, Column int // from 1
	Text         string
}

func (e *Error) Error() string {
	return fmt.Sprintf("%s:%d:%d: %s", e.File, e.Line, e.Column, e.Text)
}

// place is where something stands in a file.
type place struct{ line, column int }

// Load reads a file and all that it imports. Names are looked for in the folders, in their order.
func Load(name string, folders []string) (*protoregistry.Files, error) {
	l := &loader{folders: folders, files: &protoregistry.Files{}}
	text, err := l.read(name)
	if err != nil {
		return nil, err
	}
	if err := l.add(name, text); err != nil {
		return nil, err
	}
	return l.files, nil
}

// known are the files that protoc brings along, all but descriptor.proto, which the library has.
//
//go:embed known
var known embed.FS

const descriptorFile = "google/protobuf/descriptor.proto"

// loader holds the files that are complete, and the way to the one that is being read.
type loader struct {
	folders []string
	files   *protoregistry.Files
	path    []string
}

// read finds a file in the folders or among those that are always there.
func (l *loader) read(name string) ([]byte, error) {
	for _, dir := range l.folders {
		text, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(name)))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		return text, err
	}
	text, err := known.ReadFile("known/" + name)
	if err != nil {
		return nil, fmt.Errorf("there is no file %s in %s", name, strings.Join(l.folders, ", "))
	}
	return text, nil
}

// add makes the descriptor of a file after those of its imports.
func (l *loader) add(name string, text []byte) error {
	p := parse(name, text)
	if p.err != nil {
		return p.err
	}
	l.path = append(l.path, name)
	for _, i := range p.imports {
		if err := l.include(p, i); err != nil {
			return err
		}
	}
	l.path = l.path[:len(l.path)-1]
	if err := l.resolve(p); err != nil {
		return err
	}
	d, err := protodesc.NewFile(p.out, l.files)
	if err != nil {
		return p.explain(err)
	}
	if err := l.files.RegisterFile(d); err != nil {
		return p.explain(err)
	}
	return nil
}

// include adds a file that another one imports.
func (l *loader) include(p *parser, i imported) error {
	if _, err := l.files.FindFileByPath(i.name); err == nil {
		return nil
	}
	if slices.Contains(l.path, i.name) {
		return p.errorAt(i.at, "%s imports itself: %s", i.name, strings.Join(append(l.path, i.name), ", which imports "))
	}
	text, err := l.read(i.name)
	switch {
	case err == nil:
		return l.add(i.name, text)
	case i.name == descriptorFile:
		return l.files.RegisterFile(descriptorpb.File_google_protobuf_descriptor_proto)
	default:
		return p.errorAt(i.at, "import: %v", err)
	}
}

// resolve gives each reference the full name of its type.
func (l *loader) resolve(p *parser) error {
	visible := map[string]bool{}
	for _, i := range p.imports {
		l.see(visible, i.name)
	}
	for _, r := range p.refs {
		full, kind, elsewhere := l.find(p, visible, r)
		switch {
		case full == "" && elsewhere != "":
			return p.errorAt(r.at, "%s is in %s, which this file does not import: add import %q;", *r.name, elsewhere, elsewhere)
		case full == "":
			return p.errorAt(r.at, "there is no type %s here: neither this file nor one that it imports has it", *r.name)
		case r.field == nil && kind == typeEnum:
			return p.errorAt(r.at, "%s is an enum: a message has to stand here", *r.name)
		}
		*r.name = "." + full
		if r.field != nil && r.field.Type == nil {
			r.field.Type = kind.Enum()
		}
	}
	return nil
}

// see notes which files an import brings into sight: itself, and what it imports publicly.
func (l *loader) see(visible map[string]bool, name string) {
	if visible[name] {
		return
	}
	visible[name] = true
	d, err := l.files.FindFileByPath(name)
	if err != nil {
		return
	}
	for i := range d.Imports().Len() {
		if next := d.Imports().Get(i); next.IsPublic {
			l.see(visible, next.Path())
		}
	}
}

// find looks a type up from the inside out, as protoc does: in the message where it is named, in the one around
// that, and so on up to the root. A field of the same name does not hide it. Where it fails because of a missing
// import, elsewhere is the file.
func (l *loader) find(p *parser, visible map[string]bool, r ref) (full string, kind descriptorpb.FieldDescriptorProto_Type, elsewhere string) {
	scope, name := r.scope, *r.name
	if strings.HasPrefix(name, ".") {
		scope, name = "", name[1:]
	}
	for {
		full := join(scope, name)
		if kind, ok := p.types[full]; ok {
			return full, kind, ""
		}
		if d, err := l.files.FindDescriptorByName(protoreflect.FullName(full)); err == nil {
			kind, file := kindOf(d), d.ParentFile().Path()
			if kind != 0 && visible[file] {
				return full, kind, ""
			}
			if kind != 0 && elsewhere == "" {
				elsewhere = file
			}
		}
		if scope == "" {
			return "", 0, elsewhere
		}
		scope = scope[:max(strings.LastIndexByte(scope, '.'), 0)]
	}
}

// The two kinds of types that a file can define.
const (
	typeMessage = descriptorpb.FieldDescriptorProto_TYPE_MESSAGE
	typeEnum    = descriptorpb.FieldDescriptorProto_TYPE_ENUM
)

// kindOf is 0 for what is not a type.
func kindOf(d protoreflect.Descriptor) descriptorpb.FieldDescriptorProto_Type {
	switch d.(type) {
	case protoreflect.MessageDescriptor:
		return typeMessage
	case protoreflect.EnumDescriptor:
		return typeEnum
	default:
		return 0
	}
}

// explain adds the place to an error of the library, which names declarations in quotes: one by its full name, and
// perhaps a part of it.
func (p *parser) explain(err error) error {
	text := strings.TrimPrefix(err.Error(), "proto:")
	text = strings.TrimLeft(text, "\u00a0 ") // the library varies this space
	full, at, found := "", place{}, false
	for part := range strings.SplitSeq(text, `"`) {
		for _, name := range [...]string{part, full + "." + part} {
			if where, ok := p.declared[name]; ok && len(name) > len(full) {
				full, at, found = name, where, true
			}
		}
	}
	if !found {
		return fmt.Errorf("%s: %s", p.out.GetName(), text)
	}
	return p.errorAt(at, "%s", text)
}

func (p *parser) errorAt(at place, format string, args ...any) *Error {
	return &Error{p.out.GetName(), at.line, at.column, fmt.Sprintf(format, args...)}
}

func join(scope, name string) string {
	if scope == "" {
		return name
	}
	return scope + "." + name
}
