package page_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"html"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redline-bench/redline/internal/measure"
	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/record"
	"github.com/redline-bench/redline/internal/report/page"
	"github.com/redline-bench/redline/internal/result"
	"github.com/redline-bench/redline/internal/secret"
)

// run is a result of n requests that took about a minute each ten thousand.
func run(n int) *result.Result {
	setup := measure.Setup{}
	win, line := measure.NewWindow(setup), measure.NewTimeline(setup, 1)
	for i := range int64(n) {
		at := i*6_000_000/8 + 1
		latency := 2_000_000 + (i*7919)%3_000_000
		r := record.Record{Due: at, Sent: at, Written: at + 1000, First: at + latency - 1000, End: at + latency, Responses: 1}
		if i%1000 == 999 {
			r.Class = record.Server
		}
		win.Add(&r)
		line.Add(&r)
	}
	from, to := win.Span()
	lv := result.Level{
		Mode: plan.Concurrency, Concurrency: 8, Stable: true, Accepted: true,
		Client: win.Client(time.Duration(to - from)), Histogram: win.Histogram(), Timeline: line.Result(to),
		Failures: []result.Failure{{Class: "server", Text: "</script><script>alert(1)</script>", Count: 3}},
	}
	return &result.Result{
		Tool: "redline", Command: "profile", Plan: &plan.Plan{Target: plan.Target{Model: `<img src=x onerror=alert(1)>`}},
		Levels: []result.Level{lv}, Verdict: result.Verdict{State: result.Valid},
	}
}

func write(t *testing.T, res *result.Result) string {
	t.Helper()
	var b bytes.Buffer
	if err := page.Write(&b, page.Data{Title: "</title><b>x", Runs: []*page.View{page.NewView("run", res)}}, nil); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// Foreign text must not become markup, and the page must ask nobody for anything.
func TestForeignTextStaysText(t *testing.T) {
	text := write(t, run(5000))
	for _, bad := range []string{"<img src=x", "</script><script>alert", "</title><b>"} {
		if strings.Contains(text, bad) {
			t.Errorf("%q stands in the page as markup", bad)
		}
	}
	for _, bad := range []string{"src=\"http", "href=\"http", "url(http", "@import", "fetch(\"http"} {
		if strings.Contains(text, bad) {
			t.Errorf("the page refers to another place: %q", bad)
		}
	}
	if !strings.Contains(text, "default-src &#39;none&#39;") && !strings.Contains(text, "default-src 'none'") {
		t.Error("the page has no content security policy")
	}
}

func TestSecretsStayOut(t *testing.T) {
	res := run(100)
	res.Plan.Target.Headers = []plan.Header{{Name: "Authorization", Value: "Bearer s3cret"}}
	if strings.Contains(write(t, res), "s3cret") {
		t.Error("a header's value is in the page")
	}
}

// fixed is a page without its title and its data, which are returned apart.
func fixed(t *testing.T, text string) (rest, title, data string) {
	t.Helper()
	cut := func(from, to string) string {
		before, after, ok := strings.Cut(text, from)
		inside, after, ok2 := strings.Cut(after, to)
		if !ok || !ok2 {
			t.Fatalf("no %s in the page", from)
		}
		text = before + from + to + after
		return inside
	}
	title = cut("<title>", "</title>")
	data = cut(`<script type="application/json" id="data">`, "</script>")
	return text, title, data
}

// A secret may be a word of the page's own script, style and markup. The page stays whole, and its data has no secret.
func TestSecretsThatAreWordsOfThePage(t *testing.T) {
	var plain bytes.Buffer
	if err := page.Write(&plain, page.Data{}, nil); err != nil {
		t.Fatal(err)
	}
	want, _, _ := fixed(t, plain.String())
	words := []string{
		"function", "const", "return", "true", "null", "false", "undefined", "document", "Math", "length", "=> {", `"use strict"`,
		"div", "html", "head", "body", "main", "meta", "title", "script", "style", "</script>", "</style>", "<!doctype html>", `id="data"`,
		"color", "width", "display", "default-src", "charset",
	}
	for part := range slices.Chunk(words, 10) {
		var secrets secret.Set
		for _, w := range part {
			secrets.Collect(secret.Header, "X-Api-Key: "+w)
			if !strings.Contains(plain.String(), w) {
				t.Errorf("the page has no %q", w)
			}
		}
		res := run(100)
		res.Label = "the label has " + strings.Join(part, " and ")
		var b bytes.Buffer
		if err := page.Write(&b, page.Data{Title: res.Label, Runs: []*page.View{page.NewView("run", res)}}, &secrets); err != nil {
			t.Fatal(err)
		}
		got, title, data := fixed(t, b.String())
		if got != want {
			t.Errorf("the page is damaged by one of %q", part)
		}
		var shown struct {
			Runs []struct{ Label string }
		}
		if err := json.Unmarshal([]byte(data), &shown); err != nil || len(shown.Runs) != 1 {
			t.Fatalf("the data is damaged by one of %q: %v", part, err)
		}
		for _, w := range part {
			if len(w) < 4 || w == "true" || w == "false" || w == "null" {
				continue // replaced after its name alone
			}
			if text := " " + w + " "; strings.Contains(shown.Runs[0].Label+" ", text) || strings.Contains(html.UnescapeString(title)+" ", text) {
				t.Errorf("the data has the secret %q", w)
			}
		}
	}
}

func TestViewHasTheNumbers(t *testing.T) {
	v := page.NewView("run", run(5000))
	lv := v.Levels[0]
	if lv.Requests != 4995 || lv.Failed != 5 || lv.Time == nil || len(lv.CDF[0]) == 0 || lv.CDF[1][len(lv.CDF[1])-1] != 1 {
		text, _ := json.Marshal(lv)
		t.Errorf("%.400s", text)
	}
	if n := len(lv.Time.Failed["server"]); n != len(lv.Time.Ended) {
		t.Errorf("failures in %d slices of %d", n, len(lv.Time.Ended))
	}
	var sum uint64
	for i := 2; i < len(lv.Time.Heat); i += 3 {
		sum += lv.Time.Heat[i]
	}
	if fmt.Sprint(lv.Latency.Percentiles[4][0]) != "50" || sum == 0 || sum > lv.Requests {
		t.Errorf("p50 %v, %d requests in the heat map", lv.Latency.Percentiles[4], sum)
	}
}

// The server's metrics lie on the time axis of the level: steps before its start are left out, a step without a value stays empty.
func TestServerMetricsOnTheTimeAxis(t *testing.T) {
	res := run(1000)
	lv := &res.Levels[0]
	one, three := 1.0, 3.0
	lv.ServerMetrics = &result.ServerMetrics{
		StartUnixNs: lv.Timeline.StartUnixNs - 2e9, StepNs: 1e9, PowerWatts: 400, JoulesPerInference: 2,
		Series: []result.ServerSeries{{Name: "requests_waiting", Title: "Requests waiting", Unit: "requests", From: "nv_x", Values: []*float64{&one, &one, nil, &three}}},
	}
	got := page.NewView("run", res).Levels[0].ServerMetrics
	if len(got.Seconds) != 2 || got.Seconds[0] != 0.5 || len(got.Lines) != 1 || got.Lines[0].Values[0] != nil || *got.Lines[0].Values[1] != 3 || got.Joules != 2 {
		t.Errorf("the page has %+v", got)
	}
}

// The page of a scenario has each class and all of them together, and no secret of a class.
func TestViewHasTheClasses(t *testing.T) {
	res := &result.Result{
		Classes: []result.Class{
			{Name: "chat", Command: "llm", Plan: &plan.Plan{Target: plan.Target{Model: "llama", URL: "http://user:s3cret@gpu:1"}}, Verdict: result.Verdict{State: result.Valid}},
			{Name: "images", Command: "profile", Verdict: result.Verdict{State: result.ClientLimited}},
		},
		Levels: []result.Level{{Class: "chat", Mode: plan.Concurrency, Concurrency: 2}, {Class: "images", Mode: plan.Concurrency, Concurrency: 3}},
		Whole:  &result.Level{Class: "all classes", Client: result.Client{Requests: 7}},
	}
	v := page.NewView("run", res)
	if len(v.Classes) != 2 || v.Classes[0].Model != "llama" || v.Classes[1].Verdict != result.ClientLimited || v.Whole == nil || v.Whole.Requests != 7 || v.Whole.Name != "all classes" {
		t.Errorf("%+v", v)
	}
	if v.Levels[1].Class != "images" || v.Levels[1].Name != "images, concurrency 3" {
		t.Errorf("%+v", v.Levels[1])
	}
	if strings.Contains(v.Classes[0].Target+string(v.Classes[0].Plan), "s3cret") {
		t.Errorf("%s", v.Classes[0].Plan)
	}
}
