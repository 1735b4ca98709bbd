//go:build linux

package browser

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"

	"github.com/redline-bench/redline/internal/command/runs"
	"github.com/redline-bench/redline/internal/report/page"
	"github.com/redline-bench/redline/internal/testkit/disturbance"
	"github.com/redline-bench/redline/internal/testkit/longrun"
)

// longTask is what people feel as a page that hangs.
const longTask = 200

// A report is scrolled, pointed at and zoomed: nothing that the page does may take long. REDLINE_PAGE names another page,
// as that of a run of ten million requests.
func TestSmooth(t *testing.T) {
	file := os.Getenv("REDLINE_PAGE")
	if file == "" {
		file, _ = measured(t)
	}
	disturbance.Try(t, func() error { return smooth(t, file) })
}

// The page of twelve levels of ten million requests each opens and draws everything, and no part of it is cut.
func TestTenMillionRequests(t *testing.T) {
	needBrowser(t)
	for _, levels := range []int{1, 12} {
		path := filepath.Join(t.TempDir(), "report.html")
		f, err := os.Create(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(page.Write(f, runs.OnePage("long", longrun.Result(levels, 10_000_000)), nil), f.Close()); err != nil {
			t.Fatal(err)
		}
		p := open(t, "file://"+path)
		p.want("the page is loaded", `document.readyState`, "complete")
		p.drawn()
		p.want("six charts or more are drawn", `document.querySelectorAll("canvas").length >= 6`, "true")
		p.want("the requests", `[...document.querySelectorAll(".tile")].find((t) => t.firstChild.textContent === "Requests").querySelector("b").textContent`, map[int]string{1: "10.00 M", 12: "120.0 M"}[levels])
		p.want("failures in the table", `[...document.querySelectorAll("h3")].find((h) => h.textContent === "Failures").nextSibling.nextSibling.querySelectorAll("tbody tr").length`, "20")
		p.want("other failures", `[...document.querySelectorAll("summary")].find((s) => s.textContent.includes("rarer")).textContent`, fmt.Sprintf("%d rarer failures", 64*levels-20))
		t.Logf("%d levels: the page was loaded in %s ms", levels, p.text(`Math.round(performance.getEntriesByType("navigation")[0].duration)`))
		p.atWidths(fmt.Sprintf("long-%d", levels))
		p.quiet("file://" + path)
	}
}

// smooth uses a page and returns an error where a task of it took long.
func smooth(t *testing.T, file string) error {
	t.Helper()
	p := open(t, "file://"+file)
	p.want("the page is loaded", `document.readyState`, "complete")
	p.drawn()
	p.js(`window.tasks = [], window.watch = new PerformanceObserver((l) => l.getEntries().forEach((e) => window.tasks.push(e.duration))), window.watch.observe({ type: "longtask" })`)
	for range 20 {
		p.do(chromedp.MouseEvent(input.DispatchMouseEventTypeMouseWheel, 640, 400, func(e *input.DispatchMouseEventParams) { e.DeltaX, e.DeltaY = 1, 200 }))
	}
	for share := 0.05; share < 1; share += 0.02 {
		x, y := p.spot(share)
		p.do(chromedp.MouseEvent(input.DispatchMouseEventTypeMouseMoved, x, y))
	}
	for range 3 {
		p.zoom()
		p.click(`document.querySelector("header.top button")`)
	}
	p.drawn()
	p.js(`window.watch.takeRecords().forEach((e) => window.tasks.push(e.duration))`)
	longest := eval[float64](p, `Math.max(0, ...window.tasks)`)
	t.Logf("the longest task took %.0f ms; %s took more than 50 ms", longest, p.text(`window.tasks.length`))
	if longest >= longTask {
		return fmt.Errorf("a task of the page took %.0f ms, want less than %d ms", longest, longTask)
	}
	return nil
}

// drawn waits until the page has drawn two more frames and has done what it had planned before them.
func (p *tab) drawn() {
	p.Helper()
	p.js(`window.done = false, requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(() => { window.done = true })))`)
	p.want("the page has drawn", `window.done`, "true")
}
