//go:build linux

package browser

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/redline-bench/redline/internal/result"
)

// cut counts what a reader cannot reach: a page that is wider than the window, a chart that stands out of it, a table that neither fits
// its place nor scrolls sideways under a shadow, and a tile whose text reaches its border.
const cut = `(() => {
	const wide = document.documentElement.scrollWidth > innerWidth ? 1 : 0;
	const charts = [...document.querySelectorAll(".chart canvas")].filter((c) => c.getBoundingClientRect().right > innerWidth).length;
	const tables = [...document.querySelectorAll("table:not(.u-legend)")].filter((t) => {
		const place = t.closest(".scroll"), style = place && getComputedStyle(place);
		return !place || place.getBoundingClientRect().right > innerWidth || t.scrollWidth > place.clientWidth && (style.overflowX !== "auto" || !style.backgroundImage.includes("gradient"));
	}).length;
	const tiles = [...document.querySelectorAll(".tile > *")].filter((e) => {
		const text = document.createRange();
		text.selectNodeContents(e);
		return text.getBoundingClientRect().right > e.parentNode.getBoundingClientRect().right - 10;
	}).length;
	return wide + charts + tables + tiles;
})()`

// uneven counts the rows of charts whose drawings begin at different heights.
const uneven = `(() => {
	const rows = new Map();
	for (const chart of document.querySelectorAll(".grid > .chart:has(.host)")) {
		const top = Math.round(chart.getBoundingClientRect().top), host = Math.round(chart.querySelector(".host").getBoundingClientRect().top);
		rows.set(top, (rows.get(top) || new Set()).add(host));
	}
	return [...rows.values()].filter((tops) => tops.size > 1).length;
})()`

// atWidths looks at a page in two widths, light and dark.
func (p *tab) atWidths(name string) {
	p.Helper()
	for _, w := range []int64{400, 1200} {
		p.do(chromedp.EmulateViewport(w, height))
		for _, scheme := range []string{"light", "dark"} {
			p.prefer(scheme)
			p.js(`document.querySelectorAll("details").forEach((d) => { d.open = true })`)
			p.want(fmt.Sprintf("%s: parts that are cut at %d px", name, w), cut, "0")
			p.js(`document.querySelectorAll("details").forEach((d) => { d.open = false })`)
			p.drawn()
			p.want(fmt.Sprintf("%s: rows of charts that are not even at %d px", name, w), uneven, "0")
			p.shot(fmt.Sprintf("%s-%d-%s", name, w, scheme))
		}
	}
	p.prefer("light")
	p.do(chromedp.EmulateViewport(width, height))
}

func TestNothingIsCut(t *testing.T) {
	missed := []result.Check{{Rule: "p99<1ms", Level: "concurrency 1", Text: "p99 is 61.24 ms"}, {Rule: "throughput>1", Level: "concurrency 1", OK: true, Text: "throughput is 300/s"}}
	for _, m := range []made{
		{levels: 1, requests: 2000},
		{levels: 3, requests: 2000, label: "a label", checks: missed},
		{levels: 12, requests: 2000},
		{levels: 3, requests: 2000, failing: true},
		{levels: 1, requests: 10},
		{levels: 3, requests: 10},
		{levels: 1, requests: 500, tokens: true},
		{levels: 3, requests: 10, tokens: true},
		{levels: 12, requests: 500, tokens: true},
	} {
		t.Run(m.name(), func(t *testing.T) {
			m.start = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
			p := m.open(t)
			p.atWidths(m.name())
			p.quiet("file://")
		})
	}
}

// Rules that are missed stand above everything else, in red and with their values; who made the run how is visible.
func TestMissedRulesStandAtTheTop(t *testing.T) {
	p := made{levels: 1, requests: 200, label: "nightly", checks: []result.Check{
		{Rule: "p99<1ms", Level: "concurrency 1", Text: "p99 is 61.24 ms"}, {Rule: "throughput>1", Level: "concurrency 1", OK: true, Text: "throughput is 300/s"},
	}}.open(t)
	p.want("the first box of the page", `document.querySelector("main > section").className`, "verdict rules failed")
	p.want("its heading", `document.querySelector(".rules b").textContent`, "1 of 2 rules missed")
	p.want("the missed rule and its value", `document.querySelector(".rules tbody tr").innerText.replaceAll("\t", "|")`, "p99<1ms|concurrency 1|p99 is 61.24 ms")
	p.want("the color of the value is the color of the box", `getComputedStyle(document.querySelector(".rules td.bad")).color === getComputedStyle(document.querySelector(".rules")).borderLeftColor`, "true")
	for _, text := range []string{"nightly", "redline 9.9.9", "redline profile -m made --concurrency-range 1:8", "host:8000"} {
		p.want(text+" is visible", `document.querySelector(".identity").innerText.includes("`+text+`")`, "true")
	}
}

// A run that cannot be judged neither keeps nor misses its rules: the exit code says so, and so does the page.
func TestRulesOfARunThatCannotBeJudged(t *testing.T) {
	p := made{levels: 1, requests: 200, failing: true, checks: []result.Check{{Rule: "p99<1ms", Level: "concurrency 1", Text: "p99 is 61.24 ms"}}}.open(t)
	p.want("the box of the rules", `document.querySelector(".rules").className`, "verdict rules unstable")
	p.want("what it says", `document.querySelector(".rules").innerText.split("\n")[0]`, "1 of 1 rule missed and the run cannot be judged: its verdict is server-failed")
}

// Failures stand out: their number is red, and their texts can be read on a telephone without scrolling sideways.
func TestFailuresStandOut(t *testing.T) {
	p := made{levels: 3, requests: 2000, failing: true}.open(t)
	p.want("the number of failures", `[...document.querySelectorAll(".tile")].find((t) => t.innerText.startsWith("Failed")).innerText.replaceAll("\n", "|")`, "Failed|600|10 % of all requests")
	p.want("its color", `getComputedStyle(document.querySelector(".tile b.bad")).color === getComputedStyle(document.querySelector("td.bad")).color`, "true")
	p.do(chromedp.EmulateViewport(400, height))
	p.want("texts that need more than the width of the page", `[...document.querySelectorAll(".stacked td.text")].filter((c) => c.getBoundingClientRect().right > innerWidth).length`, "0")
	p.want("a row without its head", `document.querySelector(".stacked tbody tr").innerText.split("\n").slice(0, 3).join("|").replace(/ of the model.*/, "")`, "concurrency 1|server 503|200")
}

// titles are the headings of the charts of the overview.
const titles = `[...document.querySelectorAll("#overview h3")].map((h) => h.textContent)`

func TestChartsOfTokensComeFirst(t *testing.T) {
	p := made{levels: 4, requests: 500, tokens: true}.open(t)
	got := p.text(titles)
	if want := "Time to First Token against load,Inter Token Latency against load,Output Token Throughput against load,Goodput against load,"; !strings.HasPrefix(got, want) {
		t.Errorf("the charts are %s, want first %s", got, want)
	}
	p.want("the tile of the goodput", `[...document.querySelectorAll(".tile")].find((t) => t.innerText.startsWith("Goodput")).innerText.replaceAll("\n", "|")`,
		"Goodput|5.714 /s|92.6 % kept Inter Token Latency\u00a0≤\u00a020\u00a0ms, Time to First Token\u00a0≤\u00a0200\u00a0ms")
}

// spy notes every text that is written into a chart, by the heading of the chart, and draws all charts again.
const spy = `(() => {
	if (window.texts) return;
	const plain = CanvasRenderingContext2D.prototype.fillText;
	CanvasRenderingContext2D.prototype.fillText = function (text, x, y) {
		const chart = this.canvas.closest(".chart");
		window.texts.push({ chart: chart ? chart.querySelector("h3").textContent : "", text, x, y, w: this.measureText(text).width, align: this.textAlign, beside: this.textBaseline === "bottom" });
		return plain.apply(this, arguments);
	};
})(), window.texts = [], charts.redraw()`

// written are the texts of a chart: those beside points, or those of the axes.
func (p *tab) written(chart, which string) string {
	p.Helper()
	p.js(spy)
	p.drawn()
	return p.text(`window.texts.filter((t) => t.chart === "` + chart + `" && ` + which + `).map((t) => t.text)`)
}

func TestThroughputAgainstLatency(t *testing.T) {
	const chart = "Throughput and latency"
	p := made{levels: 4, requests: 500}.open(t)
	if got := p.written(chart, "t.beside"); got != "1,2,4,8" {
		t.Errorf("the labels are %s, want all levels in the order of their load", got)
	}
	p.want("labels that cover each other", `window.texts.filter((t) => t.beside).filter((t, i, all) => all.some((o, j) => j < i && Math.abs(o.y - t.y) < 12 && o.x < t.x + t.w && t.x < o.x + o.w)).length`, "0")
	p.js(`document.querySelector("#overview .chart summary").click()`)
	p.want("the rows of the table", `[...document.querySelectorAll("#overview .chart tbody tr th")].slice(0, 4).map((h) => h.textContent)`, "concurrency 1,concurrency 2,concurrency 4,concurrency 8")
	if ticks := p.written(chart, `!t.beside && /s$/.test(t.text)`); !strings.Contains(ticks, "2 ms,4 ms,6 ms") {
		t.Errorf("latencies from 3 to 15 ms have the ticks %s, want equal steps", ticks)
	}
	p = made{levels: 12, requests: 500}.open(t)
	if ticks := p.written(chart, `!t.beside && /s$/.test(t.text)`); !strings.Contains(ticks, "10 ms") || !strings.Contains(ticks, "100 ms") {
		t.Errorf("latencies from 3 ms to 3 s have the ticks %s, want powers of ten", ticks)
	}
}

// A page of ten requests shows what they tell: percentiles as far as there are requests, with ticks, and a mark of every level.
func TestFewRequests(t *testing.T) {
	for _, n := range []int{1, 10} {
		p := made{levels: 3, requests: n}.open(t)
		ticks := p.written("Latency by percentile", `!t.beside && /^p\d/.test(t.text)`)
		if !strings.HasPrefix(ticks, "p0,p50,") || !strings.Contains(ticks, "p90") {
			t.Errorf("%d requests: the ticks are %s", n, ticks)
		}
		p.want("levels without a mark in the chart", `(() => {
			const chart = [...document.querySelectorAll(".chart")].find((c) => c.querySelector("h3").textContent === "Latency by percentile"), canvas = chart.querySelector("canvas");
			const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height), seen = new Set();
			for (let i = 0; i < data.length; i += 4) seen.add(data[i] << 16 | data[i + 1] << 8 | data[i + 2]);
			return [0, 1, 2].filter((c) => !seen.has(parseInt(getComputedStyle(document.documentElement).getPropertyValue("--c" + c).trim().slice(1), 16))).length;
		})()`, "0")
		p.want("charts over time", `document.querySelectorAll("#time .chart").length`, "0")
		p.want("why there are none", `document.querySelector("#time .note").textContent`, "Every level ended within 100 ms, which is too short for charts over time.")
		p.want("a column for the p99 of few requests", `[...document.querySelector("#levels table").querySelectorAll("th")].some((h) => h.textContent === "p99")`, "false")
		p.want("what a p99 needs", `document.querySelector("#levels .note").textContent`, fmt.Sprintf("p99 needs 100 requests; the largest level has %d.", n))
		p.quiet("file://")
	}
}

// The samples in legends have the dash patterns of their lines.
func TestLegendsHaveDashPatterns(t *testing.T) {
	p := made{levels: 12, requests: 500}.open(t)
	legend := func(chart string) string {
		return p.text(`[...[...document.querySelectorAll(".chart")].find((c) => c.querySelector("h3").textContent === "` + chart +
			`").querySelectorAll(".u-marker, .key i")].map((m) => (m.style.background.match(/\d+px/g) || ["line"]).join(" ")).join("|")`)
	}
	if got := legend("Latency over time"); !strings.HasPrefix(got, "line|line|line|line|") || !strings.HasSuffix(got, "3px 3px 6px") {
		t.Errorf("the legend of the latency over time has %s", got)
	}
	if got := legend("Throughput and latency"); !strings.HasPrefix(got, "line|") || !strings.Contains(got, "6px 6px 9px|") || !strings.HasSuffix(got, "2px 2px 5px") {
		t.Errorf("the legend of the throughput has %s", got)
	}
	if got := legend("Latency by percentile"); strings.Count(got, "6px 6px 9px") != 4 {
		t.Errorf("the legend of 12 levels has %s, want the last four dashed", got)
	}
	p.do(chromedp.EmulateViewport(400, height))
	p.want("heights of the rows of a legend of 12 levels", `new Set([...[...document.querySelectorAll(".chart")].find((c) => c.querySelector("h3").textContent === "Latency by percentile").querySelectorAll(".u-legend tr:not(.aside)")].map((r) => Math.round(r.getBoundingClientRect().height))).size`, "1")
}
