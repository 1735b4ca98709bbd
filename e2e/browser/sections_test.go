//go:build linux

package browser

import (
	"testing"
	"time"

	"github.com/redline-bench/redline/internal/pace"
	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/result"
)

// figureOf is the value of an objective's metric, with its interval; the interval has no upper end where high is 0.
func figureOf(objective, unit string, value, low, high float64) result.FindFigure {
	return result.FindFigure{Objective: objective, Value: &value, Unit: unit, Interval: &result.Interval{Low: low, High: high, Open: high == 0, Level: 0.99}}
}

// searched makes a result that of a search: probes of every decision, a capacity and a knee.
func searched(res *result.Result) {
	const p99, errors = "p99<60ms", "error_rate<1%"
	probe := func(load, value, low, high float64, decision string, sure bool) result.FindProbe {
		return result.FindProbe{
			Load: load, Purpose: "bisect", Seconds: 5, Requests: int(5 * load), Decision: decision, Sure: sure, Why: p99 + " " + decision,
			Figures: []result.FindFigure{figureOf(p99, "ms", value, low, high), figureOf(errors, "%", 0, 0, 0.4)},
		}
	}
	res.Command, res.CommandLine = "find", "redline find profile -m made --slo p99<60ms --slo error_rate<1%"
	res.Find = &result.Find{
		By: "rate", State: "complete",
		FindAnswer: result.FindAnswer{
			Tier: "slo", Objectives: []string{p99, errors}, Outcome: "found", Capacity: &result.Capacity{Value: 74.1, Interval: result.Interval{Low: 73.4, High: 75.6, Level: 0.99}},
			Bracket: result.Interval{Low: 73.4, High: 75.6, Level: 0.99}, Confirmed: true, LimitedBy: "server", FailsAt: 78.82, Binding: p99, Knee: 46.87,
		},
		Probes: []result.FindProbe{
			probe(93.73, 140, 110, 170, "fails", true), probe(46.87, 31.1, 27, 35, "holds", true), probe(66.28, 47.3, 41, 53, "holds", true),
			probe(78.82, 66, 55, 0, "fails", false), probe(72.28, 51, 44, 62, "holds", false), probe(75.48, 61, 50, 70, "client limit", true),
		},
	}
}

func TestSearch(t *testing.T) {
	p := made{levels: 1, requests: 500, start: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), alter: searched}.open(t)
	p.want("the first section", `document.querySelector("main > section[id]").id`, "capacity")
	p.want("the answer", `[...document.querySelectorAll("#capacity .tile")].map((t) => t.innerText.split("\n").slice(0, 2).join(" ")).join("|")`, "Capacity 74.1 requests/s|Confirmed yes|Fails at 78.82 requests/s|Knee 46.87 requests/s|Probes 6")
	p.want("its interval", `document.querySelector("#capacity .tile i").textContent`, "between 73.4 and 75.6 with 99 % confidence")
	p.want("a chart for each objective", `[...document.querySelectorAll("#capacity .chart h3")].map((h) => h.textContent)`, "p99<60ms,error_rate<1%")
	p.want("the legend of the marks", `[...document.querySelector("#capacity .key").children].map((s) => s.textContent.slice(0, 1)).join("")`, "●○■□▲┃")
	if got := p.written("p99<60ms", `/capacity|knee|limit/.test(t.text)`); got != "capacity 74.1,knee 46.87,limit 60 ms" {
		t.Errorf("the chart has the labels %s", got)
	}
	p.want("every probe with its decision", `[...document.querySelectorAll("#capacity .scroll tbody tr")].map((r) => r.cells[7].textContent + " " + r.cells[7].className.split(" ").pop()).join()`,
		"fails bad,holds good,holds good,fails? bad,holds? good,client limit warn")
	p.want("elements that were written as text", `document.body.innerText.includes("[object")`, "false")
	p.atWidths("search")
	p.quiet("file://")
}

// The label of a capacity without a knee stands on the side of its line where it covers fewer intervals.
func TestLabelOfTheCapacity(t *testing.T) {
	p := made{levels: 1, requests: 500, alter: func(res *result.Result) { searched(res); res.Find.Knee = 0 }}.open(t)
	if got := p.written("p99<60ms", `t.text.startsWith("capacity")`); got != "capacity 74.1" {
		t.Errorf("the chart has the label %s", got)
	}
	p.want("its side", `window.texts.find((t) => t.chart === "p99<60ms" && t.text.startsWith("capacity")).align`, "right")
}

// Several tiers have a row each; a button chooses the tier that the charts show.
func TestSearchOfTiers(t *testing.T) {
	p := made{levels: 1, requests: 500, alter: func(res *result.Result) {
		searched(res)
		f := res.Find
		slow := f.FindAnswer
		slow.Tier, slow.Objectives, slow.Outcome, slow.Capacity, slow.Knee, slow.Binding = "slow", []string{"p99<1s"}, "all hold", &result.Capacity{Value: 93.73, Interval: result.Interval{Low: 93.73, Open: true, Level: 0.99}}, 0, "p99<1s"
		f.Tier = "fast"
		f.Tiers = []result.FindAnswer{f.FindAnswer, slow}
		for i := range f.Probes {
			pr := &f.Probes[i]
			pr.Figures = append(pr.Figures, figureOf("p99<1s", "ms", *pr.Figures[0].Value, 1, 200))
			pr.Tiers = []result.FindDecision{{Tier: "fast", Decision: pr.Decision, Sure: pr.Sure}, {Tier: "slow", Decision: "holds", Sure: true}}
		}
	}}.open(t)
	p.want("the answers", `document.querySelector("#capacity .scroll table").innerText.split("\n").slice(1).map((r) => r.split("\t").slice(0, 2).join(" ")).join("|")`, "fast 74.1 requests/s|slow at least 93.73 requests/s")
	p.click(`document.querySelectorAll("#capacity .tools button")[1]`)
	p.want("the charts of a tier", `[...document.querySelectorAll("#capacity .chart h3")].map((h) => h.textContent)`, "p99<1s")
	p.want("its marks", `document.querySelector("#capacity .key").children[0].textContent`, "●holds")
	p.quiet("file://")
}

// scenarioOf makes a result that of a scenario: two classes with stages, and one in closed loop if mixed.
func scenarioOf(mixed bool) func(*result.Result) {
	return func(res *result.Result) {
		whole := res.Levels[0]
		whole.Class, whole.Mode, whole.Concurrency = "all classes", "", 0
		res.Command, res.CommandLine, res.Scenario, res.Plan, res.Whole = "run", "redline run search.yaml", "search assistant", nil, &whole
		for i, name := range []string{"chat", "embeddings", "rerank"} {
			lv := &res.Levels[i]
			lv.Class, lv.Mode, lv.Concurrency, lv.Rate = name, plan.RequestRate, 0, 30
			lv.Stages = []pace.Stage{{From: 20, To: 40, Time: time.Second}, {From: 40, To: 40, Time: time.Second}}
			if mixed && name == "rerank" {
				lv.Mode, lv.Concurrency, lv.Stages = plan.Concurrency, 2, nil
			}
			res.Classes = append(res.Classes, result.Class{
				Name: name, Command: "profile", Plan: &plan.Plan{Target: plan.Target{Model: name + "-model", URL: "host:8000"}}, Verdict: result.Verdict{State: result.Valid},
			})
		}
	}
}

func TestClasses(t *testing.T) {
	p := made{levels: 3, requests: 500, start: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), alter: scenarioOf(false)}.open(t)
	p.want("the heading", `document.querySelector("h1").textContent`, "search assistant")
	p.want("the first section", `document.querySelector("main > section[id]").id`, "classes")
	p.want("a row for each class, and one for all", `[...document.querySelectorAll("#classes .scroll tbody tr")].map((r) => [0, 1, 2, 7, 9].map((i) => r.cells[i].textContent).join(" ")).join("|")`,
		"chat valid 500 2 stages, mean 35 /s chat-model|embeddings valid 500 2 stages, mean 35 /s embeddings-model|rerank valid 500 2 stages, mean 35 /s rerank-model|all classes valid 500  ")
	const legend = `[...document.querySelectorAll("#classes .chart")].map((c) => c.querySelector("h3").textContent + ": " + [...c.querySelectorAll(".u-series:not(.aside) .u-label")].map((l) => l.textContent).join()).join("|")`
	p.want("the charts", legend, "Requests per second by class: chat,embeddings,rerank,requested in all|Mean latency by class: chat,embeddings,rerank")
	p.want("the choice of the charts over time", `[...document.querySelectorAll("#time .tools button")].map((b) => b.textContent)`, "all classes,chat,embeddings,rerank")
	p.want("the requested rate of all classes", `[...document.querySelectorAll("#time .chart")].find((c) => c.querySelector("h3").textContent === "Requests per second").querySelector(".u-legend").innerText.includes("requested")`, "true")
	p.want("the tables call rows classes", `[...document.querySelectorAll("#levels th[scope=col]")][0].textContent`, "class")
	p.atWidths("classes")
	p.quiet("file://")
	p = made{levels: 3, requests: 500, alter: scenarioOf(true)}.open(t)
	p.want("the charts where a class has no rate", legend, "Requests per second by class: chat,embeddings,rerank|Mean latency by class: chat,embeddings,rerank")
}

// The page of a server that died tells the reason once, and counts the failures of the whole level: those after the last window too.
func TestTheServerDied(t *testing.T) {
	p := made{levels: 1, requests: 500, start: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), alter: func(res *result.Result) {
		res.Error = "the server does not answer"
		res.Verdict = result.Verdict{State: result.ServerFailed, Reasons: []result.Reason{{What: res.Error, Try: "look at the server's log"}}}
		res.Levels[0].Failures = []result.Failure{{Class: "connect", Text: "connection refused", Count: 64}}
	}}.open(t)
	p.want("the reason in the verdict", `document.querySelector(".verdict").innerText.split("does not answer").length - 1`, "1")
	p.want("failures", `[...document.querySelectorAll(".tile")].find((t) => t.innerText.startsWith("Failed")).querySelector("b").textContent`, "64")
	p.quiet("file://")
}
