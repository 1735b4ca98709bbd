// Package kinds adds a service kind as CONTRIBUTING.md says: one folder and one row. It builds the program with both and
// loads a server of the new kind.
package kinds

import (
	"encoding/json"
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
	root := binary.Root()
	row := read(t, "testdata/row.txt")
	table := filepath.Join(root, "internal/kind/rows.go")
	text := read(t, table)
	const begin, last = "var rows = []Row{\n", "\t\"github.com/redline-bench/redline/internal/service/torchserve\"\n"
	if strings.Count(text, begin) != 1 || strings.Count(text, last) != 1 {
		t.Fatal("the table does not look as this test knows it")
	}
	text = strings.Replace(text, begin, begin+row, 1)
	text = strings.Replace(text, last, last+strings.Replace(last, "torchserve", "toy", 1), 1)
	dir := t.TempDir()
	changed, overlay, redline := filepath.Join(dir, "rows.go"), filepath.Join(dir, "overlay.json"), filepath.Join(dir, "redline")
	replace, err := json.Marshal(map[string]any{"Replace": map[string]string{
		table: changed,
		filepath.Join(root, "internal/service/toy/toy.go"): filepath.Join(root, "e2e/kinds/testdata/toy/toy.go"),
	}})
	if err != nil {
		t.Fatal(err)
	}
	for path, content := range map[string][]byte{changed: []byte(text), overlay: replace} {
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.CommandContext(t.Context(), "go", "build", "-overlay", overlay, "-o", redline, "./cmd/redline")
	cmd.Dir, cmd.Env = root, append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return redline
}

func read(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
