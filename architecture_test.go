package redline_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/redline-bench/redline/"

// A layer is a set of packages and the layers that they may import. A trailing /* takes in what lies below.
type layer struct {
	name     string
	packages []string
	imports  []string // names of layers
	// sealed: packages of this layer must not import one another.
	sealed bool
	why    string
}

// The layers, top first. This table is the import direction of ARCHITECTURE.md: change both together.
var layers = []layer{
	{
		name: "entry", packages: []string{"cmd/redline"}, imports: []string{"cli"},
		why: "main hands the process over to cli and does nothing else",
	},
	{
		name: "cli", packages: []string{"internal/cli"},
		imports: []string{"manual", "callers", "commands", "edge", "dialect", "report", "kinds", "model", "base"},
		why:     "the command line finds the command and prints its error; what a command does stands in its folder",
	},
	{
		name: "manual", packages: []string{"docs/tasks"},
		why: "the task pages as files; the program shows them and changes nothing in them",
	},
	{
		name: "library", packages: []string{"."}, imports: []string{"commands", "edge", "dialect", "report", "model", "base"},
		why: "the public package is another edge: it runs a plan as the command profile does, without a process",
	},
	{
		name: "callers", packages: []string{"internal/command/attach", "internal/command/calibrate", "internal/command/find", "internal/command/rerun", "internal/command/run", "internal/command/tune", "internal/command/worker"},
		imports: []string{"table", "fleet", "commands", "edge", "dialect", "find", "report", "profile", "run", "parts", "model", "base"},
		why:     "calibrate, find and tune send the traffic of profile and of llm, worker and attach that of both, rerun repeats their runs, run has them as traffic classes; no other command knows another",
	},
	{
		name: "table", packages: []string{"internal/kind"}, imports: []string{"kinds", "parts", "model", "base"},
		why: "one row for each service kind: its constructor, traits and words; who asks for a trait imports the table, not a kind",
	},
	{
		name: "edge", packages: []string{"internal/command", "internal/command/outcome", "internal/command/runs", "internal/command/search", "internal/command/target", "internal/command/class", "internal/command/coordinator"},
		imports: []string{"table", "fleet", "dialect", "report", "questions", "kinds", "parts", "model", "base"},
		why:     "what commands share of the process, of results and of servers; it knows no command",
	},
	{
		name: "commands", packages: []string{"internal/command/*"},
		imports: []string{"table", "edge", "dialect", "report", "find", "fleet", "programs", "profile", "run", "engine", "questions", "kinds", "parts", "model", "base", "refserver"}, sealed: true,
		why: "a command stands alone: it imports what it needs, but no other command",
	},
	{
		name: "dialect", packages: []string{"internal/pacompat", "internal/pacompat/*"},
		imports: []string{"table", "report", "model", "base"},
		why:     "a dialect turns flags into a plan and a result into text; it never runs anything",
	},
	{
		name: "report", packages: []string{"internal/report", "internal/report/*", "internal/term", "internal/history", "internal/compare", "internal/compare/*", "internal/gate", "internal/dash", "internal/telemetry", "internal/telemetry/*", "internal/llm/artifact", "internal/llm/artifact/*"},
		imports: []string{"model", "base"},
		why:     "writers are functions of the result",
	},
	{
		name: "find", packages: []string{"internal/find", "internal/tune"}, imports: []string{"report", "model", "base"},
		why: "the searches for a capacity and for a configuration are functions of observations; they run nothing themselves",
	},
	{
		name: "programs", packages: []string{"internal/simple", "internal/stress", "internal/llm/load", "internal/llm/text"},
		imports: []string{"report", "run", "engine", "model", "base"},
		why:     "the QA programs and the load of language models drive the engine and name no protocol",
	},
	{
		name: "fleet", packages: []string{"internal/fleet", "internal/fleet/*"}, imports: []string{"run", "engine", "model", "base"},
		why: "workers make a load together; what is measured of it does not concern them",
	},
	{
		name: "questions", packages: []string{"internal/inspect", "internal/doctor"},
		imports: []string{"table", "model", "base"},
		why:     "what is asked of a server or a machine before a run goes through the service contract and files",
	},
	{
		name: "profile", packages: []string{"internal/profile"},
		imports: []string{"run", "engine", "model", "base"},
		why:     "the search over levels drives a load and names no protocol",
	},
	{
		name: "run", packages: []string{"internal/run"},
		imports: []string{"engine", "model", "base"},
		why:     "a run does not know whether the engine of this process or a fleet makes its load",
	},
	{
		name: "engine", packages: []string{"internal/engine"},
		imports: []string{"model", "base"},
		why:     "the engine knows the service contract, no service kind and no wire",
	},
	{
		name: "parts", packages: []string{"internal/service/kserve", "internal/service/kserve/modelconfig", "internal/service/clienttls", "internal/service/httppool", "internal/service/http2pool", "internal/service/grpcpool", "internal/llm/ready", "internal/llm/estimate", "internal/calibrate/standin"},
		imports: []string{"model", "base", "wire", "proto"},
		why:     "what several kinds share: how Triton describes a model, connections driven as slots, and questions to a server before a load",
	},
	{
		name: "kinds", packages: []string{"internal/service/*"},
		imports: []string{"parts", "model", "base", "wire", "proto"}, sealed: true,
		why: "a service kind stands alone: it imports neither the engine nor another kind",
	},
	{
		name:     "model",
		packages: []string{"internal/pace", "internal/measure", "internal/workload", "internal/service", "internal/plan", "internal/scenario", "internal/result", "internal/scrape", "internal/watch", "internal/servertrace", "internal/llm", "internal/llm/dataset", "internal/llm/dataset/*", "internal/llm/endpoint", "internal/llm/endpoint/*", "internal/llm/metric"},
		imports:  []string{"base"},
		why:      "plans, schedules, records and results are values; they do no I/O of their own",
	},
	{
		name: "wire", packages: []string{"internal/wire", "internal/wire/*"}, imports: []string{"base"},
		why: "byte-level clients know no model",
	},
	{
		name:     "base",
		packages: []string{"internal/tensor", "internal/tensor/*", "internal/stats", "internal/record", "internal/traceid", "internal/clock", "internal/release", "internal/minstd", "internal/option", "internal/vitals", "internal/calibrate", "internal/shm", "internal/mpi", "internal/pending", "internal/cleantext", "internal/convert", "internal/secret", "internal/segment", "internal/unit", "internal/tokenizer", "internal/tokenizer/*"},
		why:      "the ground floor imports the standard library only, and its own neighbors",
	},
	{
		name: "tests", packages: []string{"internal/testkit", "internal/testkit/*"}, imports: []string{"model", "base", "proto"},
		why: "fakes for tests; the program imports none of them",
	},
	{
		name: "proto", packages: []string{"internal/proto/*"},
		why: "generated protocol types",
	},
	{
		name: "refserver", packages: []string{"internal/refserver", "internal/refserver/*"}, imports: []string{"proto"},
		why: "the reference server shares only tensor and the protocol types with the load side, so that a bug cannot cancel itself",
	},
}

// extra grants single packages to a layer that may not import the whole layer they are in.
var extra = map[string][]string{
	"refserver": {"internal/tensor"},
	// doctor tries whether the kernel notes when data arrives.
	"questions": {"internal/wire/arrival"},
}

// Test files may import what they need to prove a package: the direction binds the program, not its proofs.
func TestImportDirection(t *testing.T) {
	for pkg, imports := range packageImports(t) {
		from, ok := layerOf(pkg)
		if !ok {
			t.Errorf("%s belongs to no layer: give it a place in the table of architecture_test.go and in ARCHITECTURE.md", pkg)
			continue
		}
		for imp, file := range imports {
			if err := allowed(from, pkg, imp); err != nil {
				t.Errorf("%s: %v", file, err)
			}
		}
	}
}

func TestImportRules(t *testing.T) {
	f := func(pkg, imp string, want bool) {
		t.Helper()
		from, ok := layerOf(pkg)
		if !ok {
			t.Fatalf("%s has no layer", pkg)
		}
		if err := allowed(from, pkg, imp); (err == nil) != want {
			t.Errorf("%s -> %s: %v", pkg, imp, err)
		}
	}
	f("internal/engine", "internal/service", true)
	f("internal/engine", "internal/service/kserve", false)
	f("internal/engine", "internal/wire/h1", false)
	f("internal/engine", "internal/kind", false)
	f("internal/pacompat/text", "internal/kind", true)
	f("internal/pacompat/text", "internal/service/openai", false)
	f("internal/service/kserve", "internal/wire/h2", true)
	f("internal/service/kserve/httpkind", "internal/service/kserve", true)
	f("internal/service/kserve", "internal/service/openai", false)
	f("internal/service/kserve", "internal/engine", false)
	f("internal/service/kserve/rest", "internal/service/httppool", true)
	f("internal/refserver", "internal/tensor", true)
	f("internal/refserver", "internal/plan", false)
	f("internal/refserver", "internal/wire/h2", false)
	f("internal/plan", "internal/pacompat", false)
	f("internal/command/serve", "internal/refserver", true)
	f("internal/cli", "internal/command/llm", true)
	f("internal/cli", "internal/engine", false)
	f(".", "internal/command/profile", true)
	f(".", "internal/engine", false)
	f("internal/command/calibrate", "internal/command/llm", true)
	f("internal/command/rerun", "internal/command/profile", true)
	f("internal/command/run", "internal/command/llm", true)
	f("internal/command/llm", "internal/command/run", false)
	f("internal/command/llm", "internal/command/profile", false)
	f("internal/command/llm", "internal/command/outcome", true)
	f("internal/command", "internal/command/llm", false)
	f("internal/profile", "internal/refserver", false)
}

// Only the table of commands and pacompat name perf_analyzer as a program, and only pacompat sets policies. All others read policies.
func TestOnlyTheDialectAsksForTheProgram(t *testing.T) {
	asks := regexp.MustCompile(`\bflags\.PerfAnalyzer\b|\bplan\.Program\b|Policies(\.\w+)? = |\bplan\.Policies\{`)
	for pkg := range packageImports(t) {
		if from, _ := layerOf(pkg); from.name == "dialect" || from.name == "cli" {
			continue
		}
		files, err := filepath.Glob(pkg + "/*.go")
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			if found := asks.FindString(read(t, f)); found != "" && !strings.HasSuffix(f, "_test.go") {
				t.Errorf("%s has %q: nothing beside internal/pacompat knows which program a run stands for; add a policy to internal/plan/policies.go, "+
					"set it in internal/pacompat/flags/policies.go, and read it here", f, found)
			}
		}
	}
}

// knowsPerfAnalyzer lists the packages below the dialect that may name perf_analyzer, and why.
var knowsPerfAnalyzer = map[string]string{
	"internal/option":          "completion and the page of options are for both names of the program",
	"internal/compare/foreign": "it reads perf_analyzer's files",
	"internal/llm/artifact":    "it writes perf_analyzer's export",
	"internal/llm/dataset":     "it reads perf_analyzer's inputs",
}

// Below the command line and the dialect nothing knows perf_analyzer's name.
func TestOnlyTheDialectKnowsPerfAnalyzer(t *testing.T) {
	name := regexp.MustCompile(`(?i)perf[_ ]?analyzer`)
	for pkg := range packageImports(t) {
		from, _ := layerOf(pkg)
		if slices.Contains([]string{"entry", "cli", "library", "callers", "edge", "commands", "dialect", "refserver", "proto"}, from.name) || knowsPerfAnalyzer[pkg] != "" {
			continue
		}
		files, err := filepath.Glob(pkg + "/*.go")
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			if found := name.FindString(read(t, f)); found != "" && !strings.HasSuffix(f, "_test.go") {
				t.Errorf("%s names %s: say what holds without it, or move the code to internal/pacompat", f, found)
			}
		}
	}
}

// A level is made of records in one place, so that every kind of traffic has the same numbers and the same health.
func TestOneFunctionBuildsALevel(t *testing.T) {
	parts := regexp.MustCompile(`\bmeasure\.(NewWindow|NewTimeline|NewSeries|NewPart|Judge|Load)\b`)
	for pkg := range packageImports(t) {
		files, err := filepath.Glob(pkg + "/*.go")
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			if strings.HasSuffix(f, "_test.go") || pkg == "internal/measure" {
				continue
			}
			if found := parts.FindString(read(t, f)); found != "" {
				t.Errorf("%s has %s: add the records to a measure.Recorder and take the level from its Level", f, found)
			}
		}
	}
}

// A run reaches what sends its requests by run.Load alone, so that it does not know whether a fleet does. The QA program stress drives the
// engine in its own way.
func TestOneSeamToTheEngine(t *testing.T) {
	for pkg := range packageImports(t) {
		files, err := filepath.Glob(pkg + "/*.go")
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			if strings.HasSuffix(f, "_test.go") || pkg == "internal/run" || pkg == "internal/stress" {
				continue
			}
			if strings.Contains(read(t, f), "engine.Open(") {
				t.Errorf("%s opens an engine: use run.OpenEngine", f)
			}
		}
	}
}

// tooLarge are interfaces with more than eight methods. They go when the commands have one run loop and one plan.
var tooLarge = map[string]string{
	"internal/command/class.Class":    "a traffic class of a scenario: a prober, a plan and a run in one, once for each command",
	"internal/command/search.Traffic": "the traffic of a search, once for each command",
}

// An interface is small enough to be implemented for a test, and to be understood at once.
func TestInterfacesHaveAtMostEightMethods(t *testing.T) {
	const most = 8
	for pkg := range packageImports(t) {
		files, err := filepath.Glob(pkg + "/*.go")
		if err != nil || strings.HasPrefix(pkg, "internal/proto") { // generated
			continue
		}
		methods := map[string]*ast.InterfaceType{}
		for _, name := range files {
			file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
			if err != nil {
				t.Fatal(err)
			}
			ast.Inspect(file, func(n ast.Node) bool {
				if def, ok := n.(*ast.TypeSpec); ok {
					if i, ok := def.Type.(*ast.InterfaceType); ok {
						methods[def.Name.Name] = i
					}
				}
				return true
			})
		}
		for name, i := range methods {
			n := countMethods(methods, i)
			if _, known := tooLarge[pkg+"."+name]; known != (n > most) {
				t.Errorf("%s.%s has %d methods; at most %d, see tooLarge", pkg, name, n, most)
			}
		}
	}
}

// countMethods counts the methods of an interface, with those of embedded interfaces of its package.
func countMethods(methods map[string]*ast.InterfaceType, i *ast.InterfaceType) (n int) {
	for _, f := range i.Methods.List {
		n += len(f.Names)
		if embedded, ok := f.Type.(*ast.Ident); ok && methods[embedded.Name] != nil {
			n += countMethods(methods, methods[embedded.Name])
		}
	}
	return n
}

func layerOf(pkg string) (layer, bool) {
	for _, l := range layers {
		for _, p := range l.packages {
			prefix, below := strings.CutSuffix(p, "/*")
			if pkg == p || below && strings.HasPrefix(pkg, prefix+"/") {
				return l, true
			}
		}
	}
	return layer{}, false
}

// unit is the part of a path that counts as one member of a sealed layer: internal/service/kserve/... is kserve.
func unit(pkg string) string {
	parts := strings.Split(pkg, "/")
	return path.Join(parts[:min(3, len(parts))]...)
}

func allowed(from layer, pkg, imp string) error {
	to, ok := layerOf(imp)
	if !ok {
		return fmt.Errorf("%s imports %s, which belongs to no layer", pkg, imp)
	}
	if to.name == from.name && (!from.sealed || unit(pkg) == unit(imp)) {
		return nil
	}
	if slices.Contains(from.imports, to.name) || slices.Contains(extra[from.name], imp) {
		return nil
	}
	may := slices.Concat(from.imports, extra[from.name])
	return fmt.Errorf("%s (layer %s) must not import %s (layer %s): %s; it may import: %s",
		pkg, from.name, imp, to.name, from.why, strings.Join(may, ", "))
}

// packageImports maps each package of the program to its imports within the module, and those to a file that has them.
func packageImports(t *testing.T) map[string]map[string]string {
	t.Helper()
	all := map[string]map[string]string{}
	names, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, root := range []string{"cmd", "internal"} {
		err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
			if err == nil && d.Name() == "testdata" {
				return fs.SkipDir
			}
			names = append(names, name)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range names {
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ImportsOnly)
		if err != nil {
			t.Fatal(err)
		}
		pkg := path.Dir(filepath.ToSlash(name))
		if all[pkg] == nil {
			all[pkg] = map[string]string{}
		}
		for _, spec := range file.Imports {
			p, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				t.Fatal(err)
			}
			if in, ok := strings.CutPrefix(p, module); ok {
				all[pkg][in] = name
			}
		}
	}
	return all
}
