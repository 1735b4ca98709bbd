package plan_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/redline-bench/redline/internal/plan"
)

// Words has the value of every constant of a named string type.
func TestWordsAreComplete(t *testing.T) {
	entries, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".go") || strings.HasSuffix(e.Name(), "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), e.Name(), nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			spec, ok := n.(*ast.ValueSpec)
			if !ok || spec.Type == nil || len(spec.Values) == 0 {
				return true
			}
			if lit, ok := spec.Values[0].(*ast.BasicLit); ok && lit.Kind == token.STRING {
				found++
				if word, err := strconv.Unquote(lit.Value); err != nil || word != "" && !slices.Contains(plan.Words(), word) {
					t.Errorf("%s: Words lacks %s", e.Name(), lit.Value)
				}
			}
			return true
		})
	}
	if found < 30 {
		t.Errorf("%d constants", found)
	}
}
