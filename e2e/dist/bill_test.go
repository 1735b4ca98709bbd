//go:build linux

package dist

import (
	"debug/buildinfo"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/redline-bench/redline/e2e/peers"
	"github.com/redline-bench/redline/internal/testkit/outcome"
)

// validateBill checks a file with the schema of CycloneDX.
const validateBill = `
import sys
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
error = JsonStrictValidator(SchemaVersion.V1_6).validate_str(open(sys.argv[1]).read())
sys.exit(str(error) if error else 0)
`

// The bill of materials names exactly the modules that the linker put into the program, with the Go library and uPlot, each
// with its license.
func TestBillOfMaterials(t *testing.T) {
	t.Parallel()
	path := find(t, "*.cdx.json")
	var bill struct {
		Components []struct {
			Name, Version string
			Licenses      []struct{ Expression string }
		}
	}
	decode(t, read(t, path), &bill)
	var got []string
	for _, c := range bill.Components {
		got = append(got, c.Name+"@"+c.Version)
		if len(c.Licenses) != 1 || c.Licenses[0].Expression == "" {
			t.Errorf("%s has no license", c.Name)
		}
	}
	info, err := buildinfo.ReadFile(unpackedProgram(t))
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, m := range info.Deps {
		want = append(want, m.Path+"@"+m.Version)
	}
	want = append(want, "Go standard library@"+strings.TrimPrefix(info.GoVersion, "go"))
	got = slices.DeleteFunc(got, func(s string) bool { return strings.HasPrefix(s, "uPlot@1.") })
	if len(got) != len(bill.Components)-1 {
		t.Error("uPlot is missing")
	}
	slices.Sort(want)
	slices.Sort(got)
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestBillFollowsItsSchema(t *testing.T) {
	t.Parallel()
	venv := install(t, peers.InstallValidators, func(err error) { outcome.NotTested(t, "the schema of the bill of materials", err, "python3 with venv") })
	run(t, filepath.Join(venv, "bin", "python"), "-c", validateBill, find(t, "*.cdx.json"))
}
