// Package schema holds real results to docs/result.schema.json, by a validator of others.
package schema

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/redline-bench/redline/e2e/binary"
	"github.com/redline-bench/redline/e2e/peers"
	"github.com/redline-bench/redline/internal/testkit/outcome"
)

var bin string

func TestMain(m *testing.M) { binary.Test(m, &bin) }

// validate checks files with a schema. It also checks that the schema is strict: an unknown key is an error.
const validate = `
import json, sys
from jsonschema import Draft202012Validator
schema = json.load(open(sys.argv[1]))
Draft202012Validator.check_schema(schema)
validator = Draft202012Validator(schema)
failed = False
for name in sys.argv[2:]:
    result = json.load(open(name))
    for error in validator.iter_errors(result):
        failed = True
        print(name, error.json_path, error.message[:300])
    result["plan"]["no_such_key"] = 1
    if validator.is_valid(result):
        failed = True
        print(name, "an unknown key of the plan is accepted")
sys.exit(failed)
`

func TestResultsFollowTheSchema(t *testing.T) {
	venv, err := peers.InstallValidators(t.Context())
	if err != nil {
		outcome.NotTested(t, "the schema of result files", err, "python3 with venv")
	}
	dir := t.TempDir()
	args := []string{"-c", validate, filepath.Join(binary.Root(), "docs", "result.schema.json")}
	f := func(name string, options ...string) {
		t.Helper()
		path := filepath.Join(dir, name+".json")
		cmd := exec.CommandContext(t.Context(), filepath.Join(bin, "redline"), append(options, "--embedded", "--json", path)...)
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		var exit *exec.ExitError // a busy machine or a rule may give a code
		if err != nil && !errors.As(err, &exit) {
			t.Fatal(err)
		}
		if _, err := os.Stat(path); err != nil {
			t.Fatalf("redline %v: %v\n%s", options, err, out)
		}
		args = append(args, path)
	}
	f("closed", "profile", "-m", "simple", "--concurrency-range", "2", "--request-count", "20", "--assert", "p99<1s")
	f("open", "profile", "-m", "simple", "-i", "grpc", "--request-rate-range", "200", "-p", "100", "-r", "3", "-H", "X-Key: 5f1c9a", "--label", "x")
	f("failed", "profile", "-m", "simple", "--request-count", "10", "--embedded-arg=--fault=simple=reset,every=2")
	f("llm", "llm", "-m", "mock-llm", "--streaming", "--concurrency", "2", "--request-count", "8", "--output-tokens-mean", "4", "--goodput", "ttft:200")
	if out, err := exec.CommandContext(t.Context(), filepath.Join(venv, "bin", "python"), args...).CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
