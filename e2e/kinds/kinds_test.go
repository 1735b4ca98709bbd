// Package kinds adds a service kind as CONTRIBUTING.md says: one folder and one row. It builds the program with both and
// loads a server of the new kind.
package kinds

import (
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/redline-bench/redline/e2e/binary"
)

func TestToyKindIsOneFolderAndOneRow(t *testing.T) {
	redline := build(t)
	var requests atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost && r.URL.Path == "/doll" && r.ContentLength == 4 {
			requests.Add(1)
		}
	}))
	defer server.Close()
	cmd := exec.CommandContext(t.Context(), redline, "profile", "--service-kind", "toy", "-m", "doll", "-u", server.Listener.Addr().String(),
		"--request-count", "50", "--no-history")
	out, err := cmd.CombinedOutput()
	if err != nil || requests.Load() < 50 || !strings.Contains(string(out), "Service Kind: TOY") || !strings.Contains(string(out), "Request count: 50") {
		t.Errorf("%v, %d requests, output:\n%s", err, requests.Load(), out)
	}
	for _, args := range [][]string{{"profile", "--service-kind", "none", "-m", "x"}, {"completion", "bash"}} {
		out, _ := exec.CommandContext(t.Context(), redline, args...).CombinedOutput() // the first is refused
		if !strings.Contains(string(out), "toy") {
			t.Errorf("%q does not name the kind:\n%s", args, out)
		}
	}
}

// build makes a redline with the toy kind: the folder in internal/service, and the row and its import in the table.
func build(t *testing.T) string {
	t.Helper()
	const table = "internal/kind/rows.go"
	row := read(t, "testdata/row.txt")
	text := read(t, filepath.Join(binary.Root(), table))
	const begin, last = "var rows = []Row{\n", "\t\"github.com/redline-bench/redline/internal/service/torchserve\"\n"
	if strings.Count(text, begin) != 1 || strings.Count(text, last) != 1 {
		t.Fatal("the table does not look as this test knows it")
	}
	text = strings.Replace(text, begin, begin+row, 1)
	text = strings.Replace(text, last, last+strings.Replace(last, "torchserve", "toy", 1), 1)
	dir := t.TempDir()
	if err := binary.Compile(dir, map[string][]byte{
		table: []byte(text), "internal/service/toy/toy.go": []byte(read(t, "testdata/toy/toy.go")),
	}); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, "redline")
}

func read(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
