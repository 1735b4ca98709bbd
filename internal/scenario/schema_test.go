//go:generate go test -vet=off -run ^TestSchema$ . -update

package scenario_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/redline-bench/redline/internal/command/run"
	"github.com/redline-bench/redline/internal/scenario"
	"github.com/redline-bench/redline/internal/testkit/generated"
)

// TestSchema holds docs/schema/scenario.json to what the program reads.
func TestSchema(t *testing.T) {
	generated.File(t, "../../docs/schema/scenario.json", string(scenario.Schema(run.Grammar())), "make generate")
}

// Every example has only what the schema describes, so that an editor shows no mistake in it.
func TestExamplesFitTheSchema(t *testing.T) {
	var schema map[string]any
	if err := json.Unmarshal(scenario.Schema(run.Grammar()), &schema); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob("../../examples/*.yaml")
	if err != nil || len(files) < 4 {
		t.Fatalf("%v, %v", files, err)
	}
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var doc any
		if err := yaml.Unmarshal(content, &doc); err != nil {
			t.Fatal(err)
		}
		fits(t, filepath.Base(file), doc, schema, schema)
	}
}

// fits checks a value against the parts of JSON Schema that the schema uses for objects and lists.
func fits(t *testing.T, at string, value any, schema, root map[string]any) {
	t.Helper()
	if ref, ok := schema["$ref"].(string); ok {
		schema = root["$defs"].(map[string]any)[filepath.Base(ref)].(map[string]any)
	}
	switch value := value.(type) {
	case map[string]any:
		props, _ := schema["properties"].(map[string]any)
		more, _ := schema["additionalProperties"].(map[string]any)
		for key, v := range value {
			sub, ok := props[key].(map[string]any)
			if !ok {
				sub = more
			}
			if sub == nil {
				t.Errorf("%s: the schema has no %q", at, key)
				continue
			}
			fits(t, at+"."+key, v, sub, root)
		}
	case []any:
		items, ok := schema["items"].(map[string]any)
		if _, several := schema["anyOf"]; !ok && !several {
			t.Errorf("%s: the schema has no list here", at)
		}
		for _, v := range value {
			if items != nil {
				fits(t, at+"[]", v, items, root)
			}
		}
	}
}
