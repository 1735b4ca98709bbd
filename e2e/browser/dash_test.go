//go:build linux

package browser

import (
	"bufio"
	"io"
	"net/http"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// follow starts a command and returns what stands behind a mark in its output.
func follow(t *testing.T, cmd *exec.Cmd, mark string) string {
	t.Helper()
	if missing != "" {
		t.Skip("SKIPPED, no page is looked at: " + missing)
	}
	r, w := io.Pipe()
	cmd.Stdout, cmd.Stderr = w, w
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGINT) // it may be over already
		_ = r.Close()
		_ = cmd.Wait()
	})
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		if _, rest, ok := strings.Cut(lines.Text(), mark); ok {
			go func() { _, _ = io.Copy(io.Discard, r) }()
			return mark + rest
		}
	}
	t.Fatal("the program ended without telling its address")
	return ""
}

func TestDash(t *testing.T) {
	history := t.TempDir()
	for _, label := range []string{"first", "second"} {
		must(t, command(t, history, "profile", "--embedded", "-m", "simple", "--concurrency-range", "2", "-p", "250", "-r", "3", "-s", "99999", "--label", label, "--quiet"))
	}
	url := follow(t, command(t, history, "dash", "--listen", "127.0.0.1:0"), "http")
	p := open(t, url)
	p.want("runs in the list", `[...document.querySelectorAll("td a")].map((a) => a.textContent)`, "second,first")
	p.shot("list")
	p.click(`[...document.querySelectorAll("td a")].find((a) => a.textContent === "first")`)
	p.do(chromedp.WaitVisible(chromedp.CSS(".verdict")))
	p.want("the title of a run", `document.querySelector("h1").textContent`, "simple · first")
	p.do(chromedp.Click(chromedp.CSS(".brand")), chromedp.WaitVisible(chromedp.CSS("input[type=checkbox]")))
	p.want("the button before two are chosen", `document.querySelector(".tools button").disabled`, "true")
	p.js(`document.querySelectorAll("input[type=checkbox]").forEach((b) => b.click())`)
	p.do(chromedp.Click(chromedp.CSS(".tools button")), chromedp.WaitVisible(chromedp.CSS("#compare")))
	if rows := p.text(`document.querySelectorAll("#compare tbody tr").length`); rows < "5" {
		t.Errorf("the comparison has %s rows", rows)
	}
	p.shot("two")
	p.quiet(strings.TrimSuffix(url, "/"))
	refused(t, url)
}

// refused checks that other names and other pages get nothing.
func refused(t *testing.T, url string) {
	t.Helper()
	f := func(what string, change func(*http.Request)) {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
		if err != nil {
			t.Fatal(err)
		}
		change(req)
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		if res.StatusCode < 400 {
			t.Errorf("%s: %s", what, res.Status)
		}
	}
	f("another name", func(r *http.Request) { r.Host = "evil.example" })
	f("another port", func(r *http.Request) { r.Host = "127.0.0.1:1" })
	f("another page", func(r *http.Request) { r.Header.Set("Origin", "http://evil.example") })
	f("a file", func(r *http.Request) { r.Header.Set("Origin", "null") })
}

func TestLive(t *testing.T) {
	cmd := command(t, "off", "profile", "--embedded", "-m", "simple", "--concurrency-range", "1:3", "-p", "900", "-r", "3", "-s", "99999", "--dash")
	p := open(t, follow(t, cmd, "http"))
	p.want("the run goes on", `document.querySelector(".verdict .live")?.textContent`, "Running")
	requests := `Number((document.querySelectorAll(".tile b")[3]?.textContent || "0").replaceAll(",", ""))`
	p.want("requests are counted", requests+" > 0", "true")
	seen := p.text(requests)
	p.want("the count grows", requests+" > "+seen, "true")
	p.shot("live")
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end) && p.text(`!!document.querySelector(".verdict .live")`) == "true"; {
		time.Sleep(50 * time.Millisecond)
	}
	p.want("levels of the finished run", `document.querySelectorAll("#levels tbody tr th").length >= 3`, "true")
	verdict := p.text(`document.querySelector(".verdict b").textContent`)
	if verdict != "valid" && verdict != "unstable" && verdict != "client-limited" {
		t.Errorf("at the end the page says %q", verdict)
	}
}
