//go:build linux

package browser

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	process "github.com/redline-bench/redline/internal/command"
	"github.com/redline-bench/redline/internal/command/runs"
	"github.com/redline-bench/redline/internal/dash"
	"github.com/redline-bench/redline/internal/history"
	"github.com/redline-bench/redline/internal/report/page"
	"github.com/redline-bench/redline/internal/result"
	"github.com/redline-bench/redline/internal/secret"
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

// runLinks are the names of the runs of a list.
const runLinks = `[...document.querySelectorAll("td:nth-child(2) a")].map((a) => a.textContent)`

// served is a dashboard of runs that are made up, the oldest first. It returns its address.
func served(t *testing.T, list ...made) string {
	t.Helper()
	needBrowser(t)
	store := history.Store{Dir: t.TempDir()}
	for i, m := range list {
		m.start = time.Date(2026, 1, 2, 3, 4+i, 5, 0, time.UTC)
		res := m.result()
		if m.failing {
			res.Workload = "w2"
		}
		if _, err := store.Add(res, func(res *result.Result) ([]byte, error) { return json.Marshal(res) }); err != nil {
			t.Fatal(err)
		}
	}
	getenv := func(name string) string {
		if name == "REDLINE_HISTORY" {
			return store.Dir
		}
		return ""
	}
	s, err := dash.Listen(t.Context(), "127.0.0.1:0", runs.Past{IO: &process.IO{Getenv: getenv}}, &secret.Set{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s.URL()
}

func TestDash(t *testing.T) {
	dir := t.TempDir()
	for _, label := range []string{"first", "second"} {
		must(t, command(t, dir, "profile", "--embedded", "-m", "simple", "--concurrency-range", "2", "--measurement-mode", "count_windows", "-r", "3", "-s", "99999", "--label", label, "--quiet"))
	}
	url := follow(t, command(t, dir, "dash", "--listen", "127.0.0.1:0"), "http")
	p := open(t, url)
	p.want("runs in the list", runLinks, "second,first")
	p.shot("list")
	p.click(`[...document.querySelectorAll("td a")].find((a) => a.textContent === "first")`)
	p.do(chromedp.WaitVisible(chromedp.CSS(".verdict")))
	p.want("the title of a run", `document.querySelector("h1").textContent`, "simple · first")
	p.do(chromedp.Click(chromedp.CSS(".brand")), chromedp.WaitVisible(chromedp.CSS("input[type=checkbox]")))
	p.want("the button before two are chosen", `document.querySelector(".tools button").disabled`, "true")
	p.js(`document.querySelectorAll("input[type=checkbox]").forEach((b) => b.click())`) // the newer first
	p.do(chromedp.Click(chromedp.CSS(".tools button")), chromedp.WaitVisible(chromedp.CSS("#compare")))
	p.want("the comparison has five rows or more", `document.querySelectorAll("#compare tbody tr").length >= 5`, "true")
	p.want("changes with more than one decimal", `[...document.querySelectorAll("#compare td")].filter((c) => /\d\.\d\d+ %/.test(c.textContent)).length`, "0")
	p.want("the older run is A, and the labels stand in the heading", `document.querySelector("h1").textContent.replace(/ \(\S+\)/g, "")`, "A first · B second")
	p.shot("two")
	p.quiet(strings.TrimSuffix(url, "/"))
	refused(t, url)
}

// Distributions of one load have one color in both runs; those of the second run are dashed.
func TestDistributionsOfTwoRuns(t *testing.T) {
	url := served(t, made{levels: 3, requests: 500}, made{levels: 3, requests: 500})
	p := openAt(t, url+"compare/20260102-030405-made/20260102-030505-made", "#compare")
	p.drawn()
	p.want("the legend", `[...[...document.querySelectorAll(".chart")].find((c) => c.querySelector("h3").textContent === "Latency by percentile").querySelectorAll(".u-series:not(.aside)")].slice(-6)
		.map((s) => s.querySelector(".u-label").textContent + ((s.querySelector(".u-marker").style.background.match(/\d+px/g) || []).length ? " dashed" : "")).join()`,
		"A concurrency 1,A concurrency 2,A concurrency 4,B concurrency 1 dashed,B concurrency 2 dashed,B concurrency 4 dashed")
}

// choose sets a filter of the list.
func (p *tab) choose(filter, value string) {
	p.Helper()
	p.js(fmt.Sprintf(`(() => { const s = document.querySelector("select[name=%s]"); s.value = %q; s.dispatchEvent(new Event("change")); })()`, filter, value))
}

func TestListFilters(t *testing.T) {
	missed := []result.Check{{Rule: "p99<1ms", Text: "p99 is 3 ms"}}
	p := open(t, served(t, made{levels: 1, requests: 100, label: "main"}, made{levels: 1, requests: 100, label: "branch", checks: missed}, made{levels: 1, requests: 100, label: "main", failing: true}))
	p.atWidths("list")
	p.want("all runs", runLinks, "main,branch,main")
	p.choose("label", "main")
	p.want("runs of a label", runLinks, "main,main")
	p.want("their number", `document.querySelector(".count").textContent`, "2 of 3 runs")
	p.choose("verdict", "server-failed")
	p.want("runs of a label and a verdict", runLinks, "main")
	p.do(chromedp.Reload())
	p.want("the filters after a reload", runLinks, "main")
	p.choose("label", "")
	p.choose("verdict", "rules missed")
	p.want("runs that missed a rule", runLinks, "branch")
	p.want("what the list says of them", `document.querySelector("td.bad").textContent`, "valid, 1 rule missed")
	p.choose("verdict", "")
	p.choose("model", "made")
	p.want("runs of a model", runLinks, "main,branch,main")
	// A narrow page shows cards, which name their values.
	p.do(chromedp.EmulateViewport(400, height))
	p.want("the head of a value on a card", `getComputedStyle(document.querySelector("td.good, td.bad"), "::before").content`, `"verdict"`)
}

// The runs of one workload have a trend page, whose points lead to the runs.
func TestTrend(t *testing.T) {
	url := served(t, made{levels: 1, requests: 100, label: "v1"}, made{levels: 1, requests: 300, label: "v2"}, made{levels: 1, requests: 100, label: "other", failing: true}, made{levels: 1, requests: 200, label: "v3"})
	p := open(t, url)
	p.want("how many runs have the workload", `[...document.querySelectorAll("td:last-child")].map((c) => c.textContent).join()`, "3 runs,,3 runs,3 runs")
	p.do(chromedp.Click(chromedp.CSS("td:last-child a")), chromedp.WaitVisible(chromedp.CSS(".strip")))
	p.want("runs of the trend", runLinks, "v3,v2,v1")
	p.want("points of the charts", `document.querySelectorAll(".chart .dot").length`, "6")
	p.want("points in a row", `(() => { const left = [...document.querySelector(".chart").querySelectorAll(".dot")].map((d) => d.getBoundingClientRect().left); return left[0] < left[1] && left[1] < left[2]; })()`, "true")
	p.want("cells of the verdict", `[...document.querySelectorAll(".strip a")].map((a) => a.className)`, "good,good,good")
	p.atWidths("trend")
	p.laidOut()
	p.drawn()
	p.click(`document.querySelectorAll(".chart .dot")[1]`)
	p.do(chromedp.WaitVisible(chromedp.CSS(".identity")))
	p.want("the run behind the second point", `document.querySelector(".chips .label").textContent`, "v2")
	p.quiet(strings.TrimSuffix(url, "/"))
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

// Of every expression the page must come to one text.
const (
	running  = `String(!!document.querySelector(".verdict .live"))`
	requests = `Number((document.querySelectorAll(".tile b")[3]?.textContent || "0").replaceAll(",", ""))`
)

// live looks at the page of one run. It returns an error where the page came too late.
func live(t *testing.T) error {
	t.Helper()
	// Rates that leave the browser its share of the machine.
	cmd := command(t, "off", "profile", "--embedded", "-m", "simple", "--request-rate-range", "100:300:100", "-p", "900", "-r", "3", "-s", "99999", "--dash")
	url := follow(t, cmd, "http")
	p, err := tryOpen(t, url, "header.top")
	if errors.Is(err, chromedp.ErrPageLoad) {
		return fmt.Errorf("the run ended before the page was there: %w", err)
	} else if err != nil {
		t.Fatal(err)
	}
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
	if verdict == "Run ended" {
		return errors.New("the page did not ask for the last state while the server was there")
	}
	p.want("levels of the finished run", `document.querySelectorAll("#levels tbody tr th").length >= 3`, "true")
	if verdict != "valid" && verdict != "unstable" && verdict != "client-limited" {
		t.Errorf("at the end the page says %q", verdict)
	}
	p.quiet(strings.TrimSuffix(url, "/live"))
	return nil
}

// listen starts a dashboard without past runs.
func listen(t *testing.T) *dash.Server {
	t.Helper()
	needBrowser(t)
	s, err := dash.Listen(t.Context(), "127.0.0.1:0", runs.Past{IO: &process.IO{Getenv: func(string) string { return "" }}}, &secret.Set{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() }) // the test may have closed it
	return s
}

// A page that waits for the next state of a run learns the end of the run at once, and asks for nothing afterwards: the
// server can go away without an error on the console. The page of a server that was killed says that the run ended.
func TestLivePageEnds(t *testing.T) {
	f := func(what string, end *page.View, want string) *tab {
		t.Helper()
		s := listen(t)
		v := page.NewView("run", made{levels: 1, requests: 100}.result())
		v.Live = true
		s.Show(v)
		p := open(t, s.URL())
		p.want(what+": the page at first", running, "true")
		if end != nil {
			s.Show(end)
			p.want(what+": the page after the end", `document.querySelector(".verdict b").textContent`, want)
		}
		_ = s.Close() // the pages are gone either way
		p.want(what+": the page without a server", `document.querySelector(".verdict b").textContent`, want)
		return p
	}
	p := f("a run that ends", page.NewView("run", made{levels: 2, requests: 100}.result()), "valid")
	p.want("what the heading says", `document.querySelector(".when").textContent.endsWith("run ended")`, "true")
	p.quiet("http://127.0.0.1:")
	f("a run that was killed", nil, "Run ended")
}
