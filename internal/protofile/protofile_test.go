package protofile

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bufbuild/protocompile"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/descriptorpb"
)

// TestAgainstProtocompile reads files here and with a whole compiler: the descriptors are the same.
func TestAgainstProtocompile(t *testing.T) {
	f := func(name, dir string) {
		t.Helper()
		t.Run(name, func(t *testing.T) {
			files, err := Load(name, []string{dir})
			if err != nil {
				t.Fatal(err)
			}
			got, want := all(files), oracle(t, name, dir)
			if len(got) != len(want) {
				t.Errorf("%d files, the compiler has %d", len(got), len(want))
			}
			for path, w := range want {
				if !proto.Equal(w, got[path]) { // asked first: a diff of equal ones takes long
					t.Errorf("%s differs (-compiler +here):\n%s", path, cmp.Diff(w, got[path], protocmp.Transform()))
				}
			}
		})
	}
	for _, name := range []string{"proto3.proto", "proto2.proto", "edition.proto", "nopackage.proto", "sub/shared.proto"} {
		f(name, "testdata")
	}
	f("api/simple.proto", "../service/dynamicgrpc/testdata")
	protos, err := filepath.Glob("../proto/*/*.proto")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range protos {
		f(filepath.Base(path), filepath.Dir(path))
	}
}

// oracle compiles a file and what it imports.
func oracle(t *testing.T, name, dir string) map[string]*descriptorpb.FileDescriptorProto {
	t.Helper()
	c := protocompile.Compiler{Resolver: protocompile.WithStandardImports(&protocompile.SourceResolver{ImportPaths: []string{dir}})}
	compiled, err := c.Compile(context.Background(), name)
	if err != nil {
		t.Fatal(err)
	}
	files := &protoregistry.Files{}
	var add func(f protoreflect.FileDescriptor)
	add = func(f protoreflect.FileDescriptor) {
		if _, err := files.FindFileByPath(f.Path()); err == nil {
			return
		}
		for i := range f.Imports().Len() {
			add(f.Imports().Get(i).FileDescriptor)
		}
		if err := files.RegisterFile(f); err != nil {
			t.Fatal(err)
		}
	}
	add(compiled[0])
	return all(files)
}

func all(files *protoregistry.Files) map[string]*descriptorpb.FileDescriptorProto {
	out := map[string]*descriptorpb.FileDescriptorProto{}
	files.RangeFiles(func(f protoreflect.FileDescriptor) bool {
		d := protodesc.ToFileDescriptorProto(f)
		known := strings.HasPrefix(f.Path(), "google/protobuf/")
		clean(d.ProtoReflect(), known)
		if known { // these say the same in fewer words: edition and optional change nothing in them
			d.Options = nil
		}
		out[f.Path()] = d
		return true
	})
	return out
}

// clean takes away what nobody here needs: options that files define, ranges' options, and the JSON names that follow
// from the names.
func clean(m protoreflect.Message, known bool) {
	switch d := m.Interface().(type) {
	case *descriptorpb.FieldDescriptorProto:
		if d.GetJsonName() == jsonName(d.GetName()) {
			d.JsonName = nil
		}
		if known {
			d.Options = nil
		}
	case *descriptorpb.DescriptorProto_ExtensionRange:
		d.Options = nil
	}
	m.Range(func(fd protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		switch {
		case fd.IsExtension():
			m.Clear(fd)
		case fd.IsList() && fd.Message() != nil:
			for i := range v.List().Len() {
				clean(v.List().Get(i).Message(), known)
			}
		case !fd.IsList() && fd.Message() != nil:
			clean(v.Message(), known)
			if strings.HasSuffix(string(fd.Message().Name()), "Options") || fd.Name() == "features" {
				v.Message().SetUnknown(nil)
				if proto.Size(v.Message().Interface()) == 0 {
					m.Clear(fd)
				}
			}
		}
		return true
	})
}

func jsonName(s string) string {
	var out []byte
	up := false
	for _, c := range []byte(s) {
		if c == '_' {
			up = true
			continue
		}
		if up && c >= 'a' && c <= 'z' {
			c -= 'a' - 'A'
		}
		up = false
		out = append(out, c)
	}
	return string(out)
}

func TestErrors(t *testing.T) {
	f := func(text, want string) {
		t.Helper()
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "x.proto"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "loop.proto"), []byte("syntax = \"proto3\";\nimport \"x.proto\";\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := Load("x.proto", []string{dir})
		if err == nil {
			t.Errorf("%q is taken", text)
			return
		}
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %q, want %q in it", text, err, want)
		}
	}
	three := "syntax = \"proto3\";\n"
	f(three+"message {", `x.proto:2:9: "{" stands where the message's name is needed`)
	f(three+"message A {\n  int32 x = 1;\n", "x.proto:4:1: the message A has no end: close it with }")
	f(three+"message A { int32 x; }", `x.proto:2:20: ";" stands where the number of the field x is needed: NAME = NUMBER;`)
	f(three+"message A { Missing x = 1; }", "x.proto:2:13: there is no type Missing here")
	f(three+"import \"loop.proto\";", "imports itself: x.proto, which imports loop.proto, which imports x.proto")
	f(three+"import \"nothing.proto\";", "x.proto:2:8: import: there is no file nothing.proto in ")
	f(three+"message A { int32 x = 1; int32 y = 1; }", "x.proto:2:32: ")
	f(three+"message A { int32 x = 0; }", "x.proto:2:23: 0 is not the number of a field: those go from 1 to 536870911")
	f(three+"message A { required int32 x = 1; }", "proto3 has no required fields")
	f(three+"message A { int32 x = 1 [default = 3]; }", "proto3 has no default values")
	f(three+"message A {} message A {}", "x.proto:2:22: ")
	f(three+"service S { rpc M (A) returns (A); } enum A { Z = 0; }", "x.proto:2:20: A is an enum: a message has to stand here")
	f(three+"import \"google/protobuf/type.proto\";\nmessage A { google.protobuf.Any a = 1; }",
		`x.proto:3:13: google.protobuf.Any is in google/protobuf/any.proto, which this file does not import: add import "google/protobuf/any.proto";`)
	f(three+"message A { optional group B = 1 {} }", "groups are proto2's")
	f(three+"message A { string s = 1 [json_name = 3]; }", "json_name is a string")
	f(three+"message A { repeated int32 s = 1 [packed = 3]; }", `the option packed cannot be "3"`)
	f(three+"/* open", "x.proto:2:1: this comment has no end")
	f(three+"option java_package = \"a\nb\";", "x.proto:2:23: this string does not end on its line")
	f(three+"message A { string s = 08; }", "not an octal number")
	f(three+"message A { string s = 1 # }", "'#' cannot stand here")
	f("message A { int32 x = 1; }", "x.proto:1:13: a field of proto2 begins with optional, required or repeated")
	f("syntax = \"proto4\";", `x.proto:1:1: the syntax "proto4" is not known`)
	f("edition = \"2024\";", `x.proto:1:1: the edition "2024" is not known`)
	f("edition = \"2023\"; message A { optional int32 x = 1; }", "set features.field_presence instead")
	f(strings.Repeat("message A { ", 40), "more than 32 deep")
	f("enum A { option allow_alias = false; X = 0; Y = 0; }", "x.proto:1:")
}

// TestKnown holds the files that come along against those of the library: every one that it has is here.
func TestKnown(t *testing.T) {
	protoregistry.GlobalFiles.RangeFilesByPackage("google.protobuf", func(f protoreflect.FileDescriptor) bool {
		if f.Path() == descriptorFile {
			return true
		}
		if _, err := known.ReadFile("known/" + f.Path()); err != nil {
			t.Errorf("%s is missing: %v", f.Path(), err)
		}
		return true
	})
}

func FuzzLoad(f *testing.F) {
	names, err := filepath.Glob("testdata/*.proto")
	if err != nil {
		f.Fatal(err)
	}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		l := &loader{files: &protoregistry.Files{}}
		if err := l.add("fuzz.proto", text); err != nil {
			return
		}
		// What is taken here is taken by a compiler too, or is at least complete.
		l.files.RangeFiles(func(fd protoreflect.FileDescriptor) bool {
			if _, err := protodesc.NewFile(protodesc.ToFileDescriptorProto(fd), l.files); err != nil {
				t.Errorf("%q makes a descriptor that is not one: %v", text, err)
			}
			return true
		})
	})
}
