//go:build linux

package browser

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/redline-bench/redline/internal/testkit"
	"github.com/redline-bench/redline/internal/testkit/disturbance"
)

// follow starts a command and returns what stands behind a mark in its output.
func follow(t *testing.T, cmd *exec.Cmd, mark string) string {
	t.Helper()
	needBrowser(t)
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
		must(t, command(t, history, "profile", "--embedded", "-m", "simple", "--concurrency-range", "2", "--measurement-mode", "count_windows", "-r", "3", "-s", "99999", "--label", label, "--quiet"))
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
	p.want("the comparison has five rows or more", `document.querySelectorAll("#compare tbody tr").length >= 5`, "true")
	p.shot("two")
	p.quiet(strings.TrimSuffix(url, "/"))
	refused(t, url)
}

// refused checks that other names and other pages get nothing.
func refused(t *testing.T, url string) {
	t.Helper()
	f := func(what string, change func(*http.Request)) {
		if res, _ := testkit.Ask(t, http.MethodGet, url, change); res.StatusCode < 400 {
			t.Errorf("%s: %s", what, res.Status)
		}
	}
	f("another name", func(r *http.Request) { r.Host = "evil.example" })
	f("another port", func(r *http.Request) { r.Host = "127.0.0.1:1" })
	f("another page", func(r *http.Request) { r.Header.Set("Origin", "http://evil.example") })
	f("a file", func(r *http.Request) { r.Header.Set("Origin", "null") })
}

// The page of a run follows it: it shows that the run continues, counts requests, and shows the result at the end. A page
// that the machine gives no time may come after the run's end, or miss the moment for which the end is shown.
func TestLive(t *testing.T) {
	disturbance.Try(t, func() error { return live(t) })
}

// Of every expression the page must come to one text; what it says after the end stands in endText.
const (
	running  = `String(!!document.querySelector(".verdict .live"))`
	requests = `Number((document.querySelectorAll(".tile b")[3]?.textContent || "0").replaceAll(",", ""))`
	endText  = "The run has ended; this is its last update"
)

// live looks at the page of one run. It returns an error where the page came too late.
func live(t *testing.T) error {
	t.Helper()
	// Rates that leave the browser its share of the machine.
	cmd := command(t, "off", "profile", "--embedded", "-m", "simple", "--request-rate-range", "100:300:100", "-p", "900", "-r", "3", "-s", "99999", "--dash")
	p := open(t, follow(t, cmd, "http"))
	var seen []float64
	for range 2 {
		more := eventually(func() bool {
			if p.text(running) != "true" {
				return true
			}
			n := eval[float64](p, requests)
			if n > 0 && (len(seen) == 0 || n > seen[len(seen)-1]) {
				seen = append(seen, n)
				return true
			}
			return false
		})
		if !more {
			t.Fatalf("the page of a running run counts requests: %v", seen)
		}
	}
	if len(seen) < 2 {
		return fmt.Errorf("the page showed %d counts of requests before the run ended, want 2", len(seen))
	}
	p.shot("live")
	p.want("the run ends", running, "false")
	verdict := p.text(`document.querySelector(".verdict b").textContent`)
	if verdict == endText {
		return errors.New("the page did not ask for news while the end of the run was shown")
	}
	p.want("levels of the finished run", `document.querySelectorAll("#levels tbody tr th").length >= 3`, "true")
	if verdict != "valid" && verdict != "unstable" && verdict != "client-limited" {
		t.Errorf("at the end the page says %q", verdict)
	}
	return nil
}
