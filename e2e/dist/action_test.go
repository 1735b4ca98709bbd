//go:build linux

package dist

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/redline-bench/redline/e2e/binary"
)

// The steps of the GitHub Action install a release whose checksum is right, run the gate, end with its exit code, and leave
// report, result and summary.
func TestAction(t *testing.T) {
	t.Parallel()
	mux := http.NewServeMux()
	mux.Handle("/download/"+version+"/", http.StripPrefix("/download/"+version, http.FileServer(http.Dir(folder(t)))))
	mux.Handle("/latest", http.RedirectHandler("/tag/"+version, http.StatusFound))
	mux.HandleFunc("/tag/", func(http.ResponseWriter, *http.Request) {})
	releases := httptest.NewServer(mux)
	defer releases.Close()

	temp := t.TempDir()
	file := func(name string) string { return filepath.Join(temp, name) }
	step := func(script string, env ...string) (string, int) {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), filepath.Join(binary.Root(), "packaging", "action", script))
		cmd.Env = append(append(os.Environ(), "RUNNER_TEMP="+temp, "GITHUB_PATH="+file("path"), "GITHUB_OUTPUT="+file("output"), "GITHUB_STEP_SUMMARY="+file("summary.md"), "RELEASES="+releases.URL), env...)
		out, err := cmd.CombinedOutput()
		var exit *exec.ExitError
		if err != nil && !errors.As(err, &exit) {
			t.Fatal(err)
		}
		return string(out), cmd.ProcessState.ExitCode()
	}
	if out, code := step("install.sh", "VERSION=latest"); code != 0 || !strings.Contains(out, "installed Redline "+version) {
		t.Fatalf("install.sh ended with %d\n%s", code, out)
	}
	path := "PATH=" + strings.TrimSpace(string(read(t, file("path")))) + ":" + os.Getenv("PATH")
	command := `REDLINE_COMMAND=profile --embedded -m simple --request-count 50 --label "two words; $HOME"`
	if out, code := step("gate.sh", path, command, "REDLINE_RULES=error_rate<1%\n\np99<1000s\n"); code != 0 && code != 5 {
		t.Errorf("a gate whose rules hold ended with %d\n%s", code, out)
	}
	result := string(read(t, file("redline/result.json")))
	if !strings.Contains(result, `"label": "two words; $HOME"`) || strings.Count(result, `"rule":`) < 2 {
		t.Errorf("the result has not the label or the rules:\n%.400s", result)
	}
	if out, code := step("gate.sh", path, command, "REDLINE_RULES=p99<1ns"); code != 4 && code != 5 { // 5 on a busy machine
		t.Errorf("a gate whose rule does not hold ended with %d\n%s", code, out)
	}
	for _, name := range []string{"redline/report.html", "redline/junit.xml", "summary.md"} {
		if len(read(t, file(name))) == 0 {
			t.Errorf("%s is empty", name)
		}
	}
	if out := string(read(t, file("output"))); !strings.Contains(out, "result="+file("redline/result.json")+"\nexit-code=") {
		t.Errorf("the outputs of the step are %q", out)
	}
}

// A download that was changed is refused.
func TestActionChecksum(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	archive := filepath.Base(find(t, "*.tar.gz"))
	if err := os.WriteFile(filepath.Join(dir, archive), []byte("changed"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "SHA256SUMS"), read(t, filepath.Join(folder(t), "SHA256SUMS")), 0o644); err != nil {
		t.Fatal(err)
	}
	releases := httptest.NewServer(http.StripPrefix("/download/"+version, http.FileServer(http.Dir(dir))))
	defer releases.Close()
	cmd := exec.CommandContext(t.Context(), filepath.Join(binary.Root(), "packaging", "action", "install.sh"))
	cmd.Env = append(os.Environ(), "RUNNER_TEMP="+t.TempDir(), "GITHUB_PATH="+filepath.Join(dir, "path"), "RELEASES="+releases.URL, "VERSION="+version)
	if out, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(out), "does not have the checksum") {
		t.Errorf("%v\n%s", err, out)
	}
}
