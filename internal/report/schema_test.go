//go:generate go test -vet=off -run ^TestSchema$ . -update

package report_test

import (
	"encoding"
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/redline-bench/redline/internal/result"
	"github.com/redline-bench/redline/internal/testkit/generated"
)

// TestSchema holds docs/result.schema.json to the Go types of the result. Its descriptions are the comments of their fields.
// e2e/schema holds real results to the schema.
func TestSchema(t *testing.T) {
	g := &generator{t: t, defs: map[string]any{}, comments: map[string]map[string]string{}}
	root := g.object(reflect.TypeFor[result.Result]())
	root["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	root["$id"] = "https://github.com/redline-bench/redline/docs/result.schema.json"
	root["title"] = "The result of a run of Redline, as --json writes it; times are nanoseconds unless they are text"
	root["$defs"] = g.defs
	want, err := json.MarshalIndent(root, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	generated.File(t, "../../docs/result.schema.json", string(want)+"\n", "make generate")
}

// generator makes a JSON Schema of Go types.
type generator struct {
	t        *testing.T
	defs     map[string]any
	comments map[string]map[string]string // by package folder: by "Type.Field"
}

// schema is the schema of the JSON form of a type.
func (g *generator) schema(typ reflect.Type) map[string]any {
	switch typ {
	case reflect.TypeFor[time.Duration]():
		return map[string]any{"type": "integer"}
	case reflect.TypeFor[json.RawMessage]():
		return map[string]any{"type": "object"}
	}
	if typ.Kind() != reflect.Pointer && typ.Implements(reflect.TypeFor[encoding.TextMarshaler]()) {
		return map[string]any{"type": "string"}
	}
	switch typ.Kind() {
	case reflect.Pointer:
		return g.schema(typ.Elem())
	case reflect.Struct:
		return g.reference(typ)
	case reflect.Slice:
		return map[string]any{"type": "array", "items": g.schema(typ.Elem())}
	case reflect.Map:
		return map[string]any{"type": "object", "additionalProperties": g.schema(typ.Elem())}
	case reflect.Interface: // the value of a knob
		return map[string]any{"type": []any{"integer", "string"}}
	case reflect.String:
		return map[string]any{"type": "string"}
	case reflect.Bool:
		return map[string]any{"type": "boolean"}
	case reflect.Float64:
		return map[string]any{"type": "number"}
	case reflect.Int, reflect.Int64, reflect.Uint64, reflect.Uint32, reflect.Uint8, reflect.Int32:
		return map[string]any{"type": "integer"}
	default:
		g.t.Fatalf("%s has no form in JSON", typ)
		return nil
	}
}

// reference is a reference to the definition of a struct, which is added if it is new.
func (g *generator) reference(typ reflect.Type) map[string]any {
	name := filepath.Base(typ.PkgPath()) + "." + typ.Name()
	if _, ok := g.defs[name]; !ok {
		g.defs[name] = nil // of a type that contains itself
		g.defs[name] = g.object(typ)
	}
	return map[string]any{"$ref": "#/$defs/" + name}
}

// object is the schema of a struct.
func (g *generator) object(typ reflect.Type) map[string]any {
	properties, required := map[string]any{}, []string{}
	for f := range typ.Fields() {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if !f.IsExported() || name == "-" {
			continue
		}
		s := g.schema(f.Type)
		// The plan writes times as text.
		if f.Type == reflect.TypeFor[time.Duration]() && strings.HasSuffix(typ.PkgPath(), "/plan") {
			s = map[string]any{"type": "string"}
		}
		optional := strings.Contains(options, "omit")
		// An open end of an interval is null.
		if k := f.Type.Kind(); !optional && (k == reflect.Slice || k == reflect.Map || k == reflect.Pointer) || typ == reflect.TypeFor[result.Interval]() && f.Name == "High" {
			s = map[string]any{"anyOf": []any{s, map[string]any{"type": "null"}}}
		}
		if text := g.comment(typ, f.Name); text != "" {
			s["description"] = text
		}
		properties[name] = s
		if !optional {
			required = append(required, name)
		}
	}
	return map[string]any{"type": "object", "properties": properties, "required": required, "additionalProperties": false}
}

// comment is the comment of a field in the source.
func (g *generator) comment(typ reflect.Type, field string) string {
	_, folder, _ := strings.Cut(typ.PkgPath(), "/internal/")
	if g.comments[folder] == nil {
		g.comments[folder] = g.read("../" + folder)
	}
	return g.comments[folder][typ.Name()+"."+field]
}

// read returns the comments of the fields of a package's types.
func (g *generator) read(dir string) map[string]string {
	found := map[string]string{}
	names, err := filepath.Glob(dir + "/*.go")
	if err != nil {
		g.t.Fatal(err)
	}
	for _, name := range names {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
		if err != nil {
			g.t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			spec, ok := n.(*ast.TypeSpec)
			if !ok {
				return true
			}
			st, ok := spec.Type.(*ast.StructType)
			if !ok {
				return true
			}
			for _, f := range st.Fields.List {
				text := strings.Join(strings.Fields(f.Doc.Text()+" "+f.Comment.Text()), " ")
				for _, id := range f.Names {
					found[spec.Name.Name+"."+id.Name] = text
				}
			}
			return true
		})
	}
	return found
}
