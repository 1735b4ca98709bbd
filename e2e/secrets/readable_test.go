package secrets

import (
	"crypto/sha256"
	"encoding/base64"
	"html"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/redline-bench/redline/e2e/binary"
)

// words are secrets that are also keys, values or options of Redline's own files, or words of the page's script and style.
var words = []string{
	"-H", "Authorization: concurrency", "-H", "X-Api-Key: levels", "-H", "X-Token: valid", "-H", "X-Secret: streaming", "-H", "X-Password: client",
	"-H", "X-Auth: requests", "-H", "X-Signature: function", "-H", "X-Credential: const", "-H", "X-Cookie: script", "-H", "X-Pwd: color", "-H", "X-Team: data", "-H", "X-Env: latency", "-H", "A: 1",
}

// Whatever the secrets are, the files of a run can be read, compared and repeated.
func TestFilesStayReadable(t *testing.T) {
	t.Parallel()
	s, dir := start(t), t.TempDir()
	for _, p := range []program{
		{name: "profile", args: []string{"redline", "profile", "-m", "simple", "--request-count", "60", "-u", s.kserve}},
		{name: "llm", args: []string{"redline", "llm", "-m", "m", "--request-count", "40", "--concurrency", "1", "-u", s.openai, "--artifact-dir", "files"}},
	} {
		run := command{args: slices.Concat(p.args, words, []string{"--json", "r.json", "--report", "r.html"}), code: anyCode}
		said := run.do(t, dir)
		res := binary.Result(t, filepath.Join(dir, "r.json"))
		if len(res.Levels) != 1 || res.Levels[0].Client.Requests == 0 || res.Plan == nil || !strings.Contains(said, "Verdict: "+string(res.Verdict.State)) {
			t.Errorf("%s: %+v\n%s", p.name, res, said)
		}
		page, err := os.ReadFile(filepath.Join(dir, "r.html"))
		if err != nil || !strings.Contains(string(page), `id="data"`) {
			t.Errorf("%s: the page has no data: %v", p.name, err)
		}
		checkScript(t, string(page))
		for _, args := range [][]string{
			{"redline", "compare", "r.json", "r.json"},
			slices.Concat([]string{"redline", "rerun", "r.json", "--json", "again.json"}, words),
		} {
			c := command{args: args, code: anyCode}
			if said := c.do(t, dir); strings.Contains(said, "redline compare:") || strings.Contains(said, "redline rerun:") {
				t.Errorf("%q:\n%s", args, said)
			}
		}
		if again := binary.Result(t, filepath.Join(dir, "again.json")); len(again.Levels) != 1 || again.Levels[0].Mode != res.Levels[0].Mode {
			t.Errorf("%s, repeated: %+v", p.name, again)
		}
	}
}

// checkScript fails if a page's script is not the one whose hash its content security policy has: a browser would not run it.
func checkScript(t *testing.T, page string) {
	t.Helper()
	_, hash, _ := strings.Cut(html.UnescapeString(page), "script-src 'sha256-")
	hash, _, _ = strings.Cut(hash, "'")
	_, script, _ := strings.Cut(page, "\n<script>")
	script, _, ok := strings.Cut(script, "</script>")
	if sum := sha256.Sum256([]byte(script)); !ok || base64.StdEncoding.EncodeToString(sum[:]) != hash {
		t.Errorf("the script of the page is damaged: %.300s", script)
	}
}
