//go:build linux

package browser

import (
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
)

// longTask is what people feel as a page that hangs.
const longTask = 200

// A page that REDLINE_PAGE names, as that of a run of ten million requests, is scrolled, pointed at and zoomed: nothing
// that it does may take long. It is no part of a plain run of the tests, because times say little on a busy machine.
func TestSmooth(t *testing.T) {
	file := os.Getenv("REDLINE_PAGE")
	if file == "" {
		t.Skip("REDLINE_PAGE names no page")
	}
	p := open(t, "file://"+file)
	time.Sleep(time.Second) // loading is over
	p.js(`window.tasks = [], new PerformanceObserver((l) => l.getEntries().forEach((e) => window.tasks.push(e.duration))).observe({ type: "longtask" })`)
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
	time.Sleep(500 * time.Millisecond)
	t.Logf("the longest task took %s ms; %s took more than 50 ms", p.text(`Math.max(0, ...window.tasks)`), p.text(`window.tasks.length`))
	p.want("the longest task is short", `Math.max(0, ...window.tasks) < `+strconv.Itoa(longTask), "true")
}
