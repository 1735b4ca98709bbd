// Package torchserve_test loads the real TorchServe, from PyPI, with a small model archive made here. It needs
// Python 3 with venv, and Java 11 or newer or apt, which brings it.
package torchserve_test

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redline-bench/redline/e2e/binary"
	"github.com/redline-bench/redline/e2e/death"
	"github.com/redline-bench/redline/e2e/guide"
	"github.com/redline-bench/redline/e2e/peers"
	"github.com/redline-bench/redline/internal/testkit"
	"github.com/redline-bench/redline/internal/testkit/outcome"
)

// handler is the model: it answers with the number of bytes that it was sent.
const handler = `
def handle(data, context):
    if data is None:
        return None
    return [{"bytes": len(d.get("data") or b"")} for d in data]
`

// prepare finds the program, and makes a folder with the input of the guide.
func prepare(t *testing.T) (bin, dir string) {
	t.Helper()
	bin, dir = binary.Built(t), t.TempDir()
	write(t, filepath.Join(dir, "kitten_small.jpg"), strings.Repeat("x", 20_000))
	write(t, filepath.Join(dir, "data.json"), `{"data":[{"TORCHSERVE_INPUT":["kitten_small.jpg"]}]}`)
	return bin, dir
}

// The command of perf_analyzer's guide. The report is that of the current version, the guide's is older.
func TestGuide(t *testing.T) {
	bin, dir := prepare(t)
	addr, _ := start(t)
	guide.Check(t, &guide.Command{
		Program: filepath.Join(bin, "perf_analyzer"), Dir: dir,
		Args: []string{"-m", "resnet50", "--service-kind", "torchserve", "-i", "http", "-u", addr, "-b", "1", "-p", "5000", "--input-data", "data.json"},
		Shows: `
 Successfully read data for # stream/streams with # step/steps.
*** Measurement Settings ***
  Batch size: #
  Service Kind: TORCHSERVE
` + guide.Windows + guide.Level + `    Avg HTTP time: # usec (send/recv # usec + response wait # usec)
` + guide.Summary,
	})
}

func TestServerDies(t *testing.T) {
	bin, dir := prepare(t)
	death.Check(t, &death.Case{
		Bin: bin, Dir: dir, Start: start,
		Args: []string{"-m", "resnet50", "--service-kind", "torchserve", "--input-data", "data.json"},
	})
}

func TestRealTorchServe(t *testing.T) {
	bin, dir := prepare(t)
	addr, _ := start(t)
	run := func(args ...string) (string, string, int) {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), filepath.Join(bin, "perf_analyzer"),
			append([]string{"-m", "resnet50", "--service-kind", "torchserve", "-i", "http", "-u", addr, "--input-data", "data.json"}, args...)...)
		cmd.Dir = dir
		return binary.Output(t, cmd)
	}
	t.Run("concurrency", func(t *testing.T) {
		out, errs, rc := run("-b", "1", "--request-count", "60", "--concurrency-range", "4", "-f", "report.csv", "--profile-export-file", "export.json")
		if rc != 0 || !strings.Contains(out, "Request count: 60") || !strings.Contains(out, "Service Kind: TORCHSERVE") {
			t.Fatalf("rc %d\n%s\n%s", rc, out, errs)
		}
		// perf_analyzer's timers are never set and read 0.
		wait := regexp.MustCompile(`Avg HTTP time: (\d+) usec \(send/recv \d+ usec \+ response wait (\d+) usec\)`).FindStringSubmatch(out)
		if wait == nil || wait[1] == "0" || wait[2] == "0" {
			t.Errorf("no time of the HTTP calls in\n%s", out)
		}
		checkExport(t, filepath.Join(dir, "export.json"), 60)
	})
	t.Run("rate and version", func(t *testing.T) {
		out, errs, rc := run("-x", "1.0", "--request-count", "20", "--request-rate-range", "20")
		if rc != 0 || !strings.Contains(out, "Request count: 20") {
			t.Errorf("rc %d\n%s\n%s", rc, out, errs)
		}
	})
	t.Run("wrong version", func(t *testing.T) {
		if out, errs, rc := run("-x", "7.0", "--request-count", "2"); rc != 99 || !strings.Contains(errs, "the server answered with HTTP 404 Not Found") {
			t.Errorf("rc %d\n%s\n%s", rc, out, errs)
		}
	})
}

func checkExport(t *testing.T, path string, want int) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Kind        string `json:"service_kind"`
		Experiments []struct {
			Requests []json.RawMessage `json:"requests"`
		} `json:"experiments"`
	}
	if err := json.Unmarshal(text, &doc); err != nil || doc.Kind != "torchserve" || len(doc.Experiments) != 1 || len(doc.Experiments[0].Requests) != want {
		t.Errorf("export: %v, %.200s", err, text)
	}
}

// start runs TorchServe with the model and returns where it listens, and what kills it.
func start(t *testing.T) (addr string, kill func()) {
	t.Helper()
	peer, err := peers.InstallTorchServe(t.Context())
	if err != nil {
		outcome.NotTested(t, "TorchServe", err, "python3 with venv, and Java 11 or newer")
	}
	dir, venv := t.TempDir(), peer.Venv
	write(t, filepath.Join(dir, "handler.py"), handler)
	store := filepath.Join(dir, "store")
	if err := os.Mkdir(store, 0o755); err != nil {
		t.Fatal(err)
	}
	pack := exec.CommandContext(t.Context(), filepath.Join(venv, "bin", "torch-model-archiver"), "--model-name", "resnet50", "--version", "1.0",
		"--handler", filepath.Join(dir, "handler.py"), "--export-path", store)
	if out, err := pack.CombinedOutput(); err != nil {
		t.Fatalf("torch-model-archiver: %v\n%s", err, out)
	}
	ports, err := peers.FreePorts(5)
	if err != nil {
		t.Fatal(err)
	}
	at := func(i int) string { return "127.0.0.1:" + strconv.Itoa(ports[i]) }
	write(t, filepath.Join(dir, "config.properties"), "inference_address=http://"+at(0)+"\nmanagement_address=http://"+at(1)+
		"\nmetrics_address=http://"+at(2)+"\ngrpc_inference_port="+strconv.Itoa(ports[3])+"\ngrpc_management_port="+strconv.Itoa(ports[4])+
		"\ndefault_workers_per_model=1\ndisable_token_authorization=true\n")
	log, err := os.Create(filepath.Join(dir, "log"))
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	cmd := exec.Command(filepath.Join(venv, "bin", "torchserve"), "--start", "--foreground", "--ncs", "--model-store", store,
		"--models", "resnet50=resnet50.mar", "--ts-config", filepath.Join(dir, "config.properties"))
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, log, log
	cmd.Env = append(os.Environ(), "PATH="+filepath.Join(venv, "bin")+":"+filepath.Dir(peer.Java)+":"+os.Getenv("PATH"), "LOG_LOCATION="+dir, "METRICS_LOCATION="+dir, "TEMP="+dir)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // Java and the workers too
		_ = cmd.Wait()
		if t.Failed() {
			text, _ := os.ReadFile(log.Name())
			t.Logf("TorchServe's log ends with\n%s", text[max(0, len(text)-8000):])
		}
	})
	ctx, cancel := context.WithTimeout(t.Context(), testkit.Limit)
	defer cancel()
	for !healthy(ctx, "http://"+at(0)+"/ping") {
		if ctx.Err() != nil {
			text, _ := os.ReadFile(log.Name())
			t.Fatalf("TorchServe does not get ready:\n%s", text)
		}
		time.Sleep(100 * time.Millisecond)
	}
	return at(0), func() { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}

func healthy(ctx context.Context, url string) bool {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return false
	}
	r, err := http.DefaultClient.Do(req)
	if err != nil {
		return false
	}
	defer r.Body.Close()
	var b bytes.Buffer
	_, _ = b.ReadFrom(r.Body) // what came is judged
	return strings.Contains(b.String(), `"Healthy"`)
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}
