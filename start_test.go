package redline_test

import (
	"os/exec"
	"strings"
	"testing"
)

// heavy are packages that work when a program starts, whether it needs them or not, and what stands in their place.
// A run of a few requests is over in milliseconds: what each of these costs is seen in the time to the first request.
var heavy = map[string]string{
	"github.com/bufbuild/protocompile": "it builds the descriptors of all standard files: internal/protofile reads .proto files; tests may compare with it",
	"github.com/parquet-go/parquet-go": "it sets up codecs and hashes, and is a quarter of the program: internal/parquet writes the tables; tests read them with it",
}

// TestStart holds heavy packages out of the program.
func TestStart(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), "go", "list", "-deps", "./cmd/redline").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	for pkg := range strings.FieldsSeq(string(out)) {
		for h, why := range heavy {
			if pkg == h || strings.HasPrefix(pkg, h+"/") {
				t.Errorf("the program links %s, which costs every start: %s", pkg, why)
			}
		}
	}
}
