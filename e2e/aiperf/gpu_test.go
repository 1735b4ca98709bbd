package aiperf_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/redline-bench/redline/e2e/binary"
	"github.com/redline-bench/redline/e2e/peers"
)

// exporter is a page of NVIDIA's DCGM exporter for two GPUs, whose numbers change with every look.
type exporter struct {
	mu    sync.Mutex
	pages []string
}

func (e *exporter) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	e.mu.Lock()
	defer e.mu.Unlock()
	n := len(e.pages) + 1
	var b strings.Builder
	for _, f := range []struct {
		name, kind string
		value      float64
	}{
		{"DCGM_FI_DEV_POWER_USAGE", "gauge", 100.5 + float64(n%7)},
		{"DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION", "counter", 5e9 + 1e6*float64(n)},
		{"DCGM_FI_DEV_GPU_UTIL", "gauge", float64(10 * (n % 5))},
		{"DCGM_FI_DEV_MEM_COPY_UTIL", "gauge", 7},
		{"DCGM_FI_DEV_FB_USED", "gauge", 20480},
		{"DCGM_FI_DEV_GPU_TEMP", "gauge", 40 + float64(n%3)},
		{"DCGM_FI_PROF_SM_ACTIVE", "gauge", 0.25},
		{"DCGM_FI_DEV_XID_ERRORS", "gauge", 0},
		{"DCGM_FI_DEV_POWER_VIOLATION", "counter", 1000 * float64(n)},
		{"DCGM_FI_DEV_SM_CLOCK", "gauge", 1980}, // not one of AIPerf's
	} {
		fmt.Fprintf(&b, "# HELP %s %s.\n# TYPE %s %s\n", f.name, f.name, f.name, f.kind)
		for gpu := range 2 {
			fmt.Fprintf(&b, "%s{gpu=\"%d\",UUID=\"GPU-%d\",pci_bus_id=\"00000000:0%d:00.0\",device=\"nvidia%d\",modelName=\"NVIDIA H200\",Hostname=\"node\"} %g\n",
				f.name, gpu, gpu, gpu, gpu, f.value+float64(gpu))
		}
	}
	e.pages = append(e.pages, b.String())
	fmt.Fprint(w, b.String())
}

// AIPerf's collector reads the same out of a page as Redline writes down, and its models and statistics agree with the
// summary.
func TestAIPerfReadsGPUs(t *testing.T) {
	p := install(t, peers.AIPerf)
	dir := t.TempDir()
	bin, err := binary.Build(dir)
	if err != nil {
		t.Fatal(err)
	}
	served := &exporter{}
	srv := httptest.NewServer(served)
	defer srv.Close()
	art := filepath.Join(dir, "art")
	cmd := exec.CommandContext(t.Context(), filepath.Join(bin, "redline"), "llm", "-m", "m", "--embedded", "--streaming", "--benchmark-duration", "2", "--osl", "8", "--isl", "8",
		"--gpu-telemetry", strings.TrimPrefix(srv.URL, "http://"), "--artifact-dir", art)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	srv.Close()
	text, err := json.Marshal(served.pages)
	if err != nil {
		t.Fatal(err)
	}
	pages := filepath.Join(dir, "pages.json")
	if err := os.WriteFile(pages, text, 0o600); err != nil {
		t.Fatal(err)
	}
	var got struct {
		Theirs      [][]map[string]any // of each page
		Ours        []map[string]any   // of the last page that Redline read; the server may have sent one more, which the end of the run canceled
		Lines, GPUs int
		Energy      []float64
		Differ      []string
	}
	decode(t, p.run(t, "python", "gpu.py", pages, filepath.Join(art, "gpu_telemetry_export.jsonl"), filepath.Join(art, "profile_export_aiperf.json")), &got)
	near := cmpopts.EquateApprox(1e-12, 0)
	if !slices.ContainsFunc(got.Theirs, func(page []map[string]any) bool { return cmp.Equal(page, got.Ours, near) }) {
		t.Errorf("none of %d pages; the last one (-AIPerf +Redline):\n%s", len(got.Theirs), cmp.Diff(got.Theirs[len(got.Theirs)-1], got.Ours, near))
	}
	if got.Lines < 8 || got.GPUs != 2 || len(got.Energy) != 2 || got.Energy[0] <= 0 || len(got.Differ) > 0 {
		t.Errorf("%d lines, %d GPUs, energy %v\n%s", got.Lines, got.GPUs, got.Energy, strings.Join(got.Differ, "\n"))
	}
}
