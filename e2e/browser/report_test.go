//go:build linux

package browser

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
)

// measured is a run of the reference server with a report and its result. Its levels last long enough for charts over time.
func measured(t *testing.T) (report, result string) {
	t.Helper()
	needBrowser(t) // here, so that every test is listed as not tested, not only the one that makes the run
	report, result = filepath.Join(files, "report.html"), filepath.Join(files, "result.json")
	measuring.Do(func() {
		must(t, command(t, "off", "profile", "--embedded", "-m", "simple", "-i", "grpc", "--concurrency-range", "1:5:2", "--duration", "1s", "--report", report, "--json", result))
	})
	return report, result
}

// measuring makes the run once for all tests.
var measuring sync.Once

func TestReport(t *testing.T) {
	report, _ := measured(t)
	p := open(t, "file://"+report)
	p.want("five charts or more are drawn", `document.querySelectorAll("canvas").length >= 5`, "true")
	p.shot("report")
	t.Run("level", func(t *testing.T) { p.T = t; p.levels() })
	t.Run("zoom", func(t *testing.T) { p.T = t; p.zoom() })
	t.Run("tables", func(t *testing.T) { p.T = t; p.tables() })
	t.Run("theme", func(t *testing.T) { p.T = t; p.theme() })
	t.Run("phone", func(t *testing.T) { p.T = t; p.phone() })
	t.Run("print", func(t *testing.T) { p.T = t; p.print() })
	p.T = t
	p.quiet("file://" + report)
}

// Passwords that are words of JavaScript, CSS and HTML leave the page whole: the browser reads and runs its script. The words are
// replaced in what the page shows.
func TestReportWithSecretsThatAreWords(t *testing.T) {
	report := filepath.Join(t.TempDir(), "report.html")
	args := []string{"profile", "--embedded", "-m", "simple", "--duration", "1s", "--label", "a function in a document script", "--report", report}
	for i, word := range []string{"function", "const", "return", "true", "null", "false", "div", "class", "document", "script", "style", "color", "width", "html", "body", "main"} {
		args = append(args, "-H", fmt.Sprintf("X-Token-%d: %s", i, word))
	}
	must(t, command(t, "off", args...))
	p := open(t, "file://"+report)
	p.want("five charts or more are drawn", `document.querySelectorAll("canvas").length >= 5`, "true")
	p.want("the label", `document.querySelector(".chips .label").textContent`, "a *** in a *** ***")
	p.quiet("file://" + report)
}

// A run of a language model counts requests, not inferences, and its formulas are those of tokens.
func TestReportOfTokens(t *testing.T) {
	report := filepath.Join(t.TempDir(), "report.html")
	must(t, command(t, "off", "llm", "--embedded", "-m", "mock-llm", "--streaming", "--concurrency", "1,4", "--request-count", "12", "--osl", "6", "--isl", "8", "--goodput", "ttft:200", "--report", report))
	p := open(t, "file://"+report)
	p.js(`document.querySelectorAll(".chart summary").forEach((s) => s.click())`)
	p.want("what the axis counts", `[...document.querySelectorAll("#overview th")].map((h) => h.textContent).find((h) => h.includes("per second"))`, "requests per second")
	p.want("formulas of tokens", `[...document.querySelectorAll("#formulas dt")].filter((d) => ["Time to First Token (TTFT)", "Inter Token Latency (ITL)"].includes(d.textContent)).length`, "2")
	p.want("the chart of the goodput", titles+`.includes("Goodput against load")`, "true")
	p.want("the bounds in the tile of the goodput", `[...document.querySelectorAll(".tile")].some((t) => t.innerText.includes("Time to First Token\u00a0≤\u00a0200\u00a0ms"))`, "true")
	p.want("what is no text", `document.body.textContent.includes("[object")`, "false")
	p.shot("tokens")
	p.quiet("file://" + report)
}

// levels chooses another level, whose charts take the place of the others.
func (p *tab) levels() {
	caption := `document.querySelector("#time .chart p").textContent.split(/[.,]/)[0]`
	for _, name := range []string{"concurrency 1", "concurrency 5", "concurrency 3"} {
		p.click(`[...document.querySelectorAll("#time .tools button")].find((b) => b.textContent === "` + name + `")`)
		p.want("the level shown", caption, name)
		p.want("the button pressed", `[...document.querySelectorAll("#time .tools button")].filter((b) => b.ariaPressed === "true").map((b) => b.textContent)`, name)
	}
}

// at points at the first chart over time, so far across it, and waits until the legend shows an x value that holds
// accepts. It returns the value that the legend showed last.
func (p *tab) at(share float64, holds func(x float64) bool) (x float64, ok bool) {
	p.Helper()
	var text string
	ok = eventually(func() bool {
		px, py := p.spot(share)
		p.do(chromedp.MouseEvent(input.DispatchMouseEventTypeMouseMoved, px, py))
		text = p.text(`document.querySelector("#time .u-legend .u-value").textContent`)
		var err error
		x, err = strconv.ParseFloat(text, 64)
		return err == nil && holds(x)
	})
	if !ok {
		p.Logf("the legend shows %q", text)
	}
	return x, ok
}

// spot is a place in the first chart over time.
func (p *tab) spot(share float64) (x, y float64) {
	p.Helper()
	// Charts are drawn when they come into sight.
	p.want("a chart is drawn", `(() => { document.querySelector("#time .chart").scrollIntoView({ block: "center", behavior: "instant" });
		return String(document.querySelector("#time .u-over") !== null); })()`, "true")
	box := eval[[]float64](p, `(() => { const e = document.querySelector("#time .u-over"); e.scrollIntoView({ block: "center", behavior: "instant" });
		const b = e.getBoundingClientRect(); return [b.left, b.top, b.width, b.height]; })()`)
	return box[0] + share*box[2], box[1] + box[3]/2
}

// zoom drags across a chart, and goes back by a double click.
func (p *tab) zoom() {
	whole, ok := p.at(0.05, func(float64) bool { return true })
	if !ok {
		p.Fatal("the legend of the chart shows no number")
	}
	fromX, y := p.spot(0.5)
	toX, _ := p.spot(0.95)
	p.do(chromedp.MouseEvent(input.DispatchMouseEventTypeMousePressed, fromX, y, chromedp.ButtonLeft),
		chromedp.MouseEvent(input.DispatchMouseEventTypeMouseMoved, (fromX+toX)/2, y, chromedp.ButtonLeft), chromedp.MouseEvent(input.DispatchMouseEventTypeMouseMoved, toX, y, chromedp.ButtonLeft),
		chromedp.MouseEvent(input.DispatchMouseEventTypeMouseReleased, toX, y, chromedp.ButtonLeft))
	if near, ok := p.at(0.05, func(x float64) bool { return x > whole }); !ok {
		p.Errorf("after the drag the left edge is at %v s, before at %v s", near, whole)
	}
	x, y := p.spot(0.5)
	p.do(chromedp.MouseClickXY(x, y, chromedp.ClickCount(2)))
	if back, ok := p.at(0.05, func(x float64) bool { return x == whole }); !ok {
		p.Errorf("after the double click the left edge is at %v s, at first at %v s", back, whole)
	}
}

// tables opens the table of every chart: each has rows.
func (p *tab) tables() {
	p.js(`document.querySelectorAll(".chart summary").forEach((s) => s.click())`)
	p.want("charts without a table", `[...document.querySelectorAll(".chart")].filter((f) => !f.querySelector("tbody td")).length`, "0")
	p.js(`document.querySelectorAll(".chart summary").forEach((s) => s.click())`)
}

const background = `getComputedStyle(document.body).backgroundColor`

// theme is light or dark, by the button and by the wish of the machine.
func (p *tab) theme() {
	light := p.text(background)
	p.click(`document.querySelector("header.top button")`)
	p.want("the button makes the page dark", background+` === "`+light+`"`, "false")
	dark := p.text(background)
	p.shot("dark")
	p.click(`document.querySelector("header.top button")`)
	p.want("back again", background, light)
	p.js(`delete document.documentElement.dataset.theme`)
	p.prefer("dark")
	p.want("a dark machine", background, dark)
	p.prefer("light")
	p.want("a light machine", background, light)
}

// prefer makes the machine wish for light or dark pages.
func (p *tab) prefer(scheme string) {
	p.Helper()
	_, err := chromedp.Call(p.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}},
	})
	if err != nil {
		p.Fatal(err)
	}
}

// phone is a narrow page that does not have to be moved sideways.
func (p *tab) phone() {
	p.do(chromedp.EmulateViewport(390, 844, chromedp.EmulateMobile))
	p.want("the width of the page", `document.documentElement.scrollWidth`, "390")
	p.want("charts that stand out", `[...document.querySelectorAll(".chart canvas")].filter((c) => c.getBoundingClientRect().right > 390).length`, "0")
	p.shot("phone")
	p.do(chromedp.EmulateViewport(width, height))
	p.laidOut()
}

// laidOut waits until the page has its full width again and the first chart has been drawn anew for it: a chart follows
// its place a short time later.
func (p *tab) laidOut() {
	p.Helper()
	p.want("the first chart fills its place on a page of full width", `(() => {
		const canvas = document.querySelector(".host canvas"), place = canvas.closest(".host");
		return innerWidth === `+strconv.Itoa(width)+` && place.clientWidth > 390 && Math.abs(canvas.getBoundingClientRect().width - place.clientWidth) < 2;
	})()`, "true")
}

// print makes a PDF, after which the page is as it was.
func (p *tab) print() {
	p.laidOut()
	before := p.text(`document.querySelector("canvas").width`)
	background := true
	out, err := chromedp.Call(p.ctx, page.PrintToPDF, page.PrintToPDFParams{PrintBackground: &background})
	if err != nil {
		p.Fatal(err)
	}
	if !strings.HasPrefix(string(out.Data), "%PDF-") || len(out.Data) < 20_000 {
		p.Errorf("the PDF has %d bytes", len(out.Data))
	}
	if dir := os.Getenv("REDLINE_SHOTS"); dir != "" {
		if err := os.WriteFile(filepath.Join(dir, "print.pdf"), out.Data, 0o644); err != nil {
			p.Fatal(err)
		}
	}
	p.want("the width of a chart after printing", `document.querySelector("canvas").width`, before)
	p.want("the theme after printing", `document.documentElement.dataset.theme`, "undefined")
}

// Text from elsewhere must stay text wherever the page shows it.
func TestForeignTextStaysText(t *testing.T) {
	_, result := measured(t)
	content, err := os.ReadFile(result)
	if err != nil {
		t.Fatal(err)
	}
	var tree map[string]any
	if err := json.Unmarshal(content, &tree); err != nil {
		t.Fatal(err)
	}
	const evil = `</script><script>window.hit = 1</script><img src=x onerror="window.hit = 1"><b>`
	tree["label"], tree["error"], tree["workload"] = "label "+evil, "error "+evil, evil
	tree["plan"].(map[string]any)["target"].(map[string]any)["model"] = "model " + evil
	tree["verdict"] = map[string]any{"state": "failed", "reasons": []any{map[string]any{"what": "what " + evil, "try": "try " + evil}}}
	level := tree["levels"].([]any)[0].(map[string]any)
	level["reason"] = evil
	level["failures"] = []any{map[string]any{"class": evil, "text": "failure " + evil, "count": 3}}
	level["metrics"] = []any{map[string]any{"tag": "time_to_first_token", "name": evil, "unit": evil, "avg": 1}}
	if content, err = json.Marshal(tree); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	bad, report := filepath.Join(dir, "evil.json"), filepath.Join(dir, "evil.html")
	if err := os.WriteFile(bad, content, 0o644); err != nil {
		t.Fatal(err)
	}
	must(t, command(t, "off", "report", bad, "-o", report))
	p := open(t, "file://"+report)
	p.tables()
	p.js(`document.querySelectorAll("summary").forEach((s) => s.click())`)
	p.want("scripts that ran", `window.hit`, "undefined")
	p.want("elements made of text", `document.querySelectorAll("img, main script, main b b").length`, "0")
	for _, part := range []string{"label ", "error ", "model ", "what ", "try ", "failure "} {
		// What was folded comes a moment after the click.
		p.want(fmt.Sprintf("%q is on the page as text", part+evil), `document.body.innerText.includes(`+strconv.Quote(part+evil)+`)`, "true")
	}
	p.quiet("file://" + report)
}
