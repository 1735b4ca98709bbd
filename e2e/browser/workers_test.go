//go:build linux

package browser

import (
	"fmt"
	"testing"
	"time"

	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/report/page"
	"github.com/redline-bench/redline/internal/result"
)

// fleetOf makes a result that of n workers, of which the second limited its share and the last was lost.
func fleetOf(n int) func(*result.Result) {
	return func(res *result.Result) {
		res.Fleet = &result.Fleet{Run: "nightly", StartSkewNs: 30e3, ClockErrorNs: 50e3}
		for i := range n {
			m := result.Member{Name: fmt.Sprintf("load-%d", i+1)}
			if i == n-1 {
				m.Lost = "it sent nothing for 4.4s"
			}
			res.Fleet.Members = append(res.Fleet.Members, m)
		}
		for l := range res.Levels {
			lv := &res.Levels[l]
			lv.Mode, lv.Rate, lv.Concurrency = plan.RequestRate, 100*float64(l+1), 0
			for i, m := range res.Fleet.Members {
				lv.Workers = append(lv.Workers, result.Worker{
					Name: m.Name, Lost: m.Lost, ClientLimited: i == 1, Requests: 150, Failed: uint64(i % 2), InferPerSec: 49.5, P50Ns: 3e6, P99Ns: 5e6,
					Health: result.Health{AchievedInFlight: 0.2, CPUCores: 0.04, LagP99Ns: 90e3},
				})
			}
		}
	}
}

// workerRows are the rows of the first table of the workers: cells by number.
func workerRows(cells string) string {
	return `[...document.querySelector("#workers .scroll tbody").rows].map((r) => [` + cells + `].map((i) => r.cells[i].textContent).join(" ")).join("|")`
}

func TestWorkers(t *testing.T) {
	p := made{levels: 2, requests: 500, start: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), alter: fleetOf(3)}.open(t)
	p.want("a row for each worker, those with problems first, and one for all", workerRows("0, 1, 2, 3, 9"),
		"load-3 150 0 49.50 lost: it sent nothing for 4.4s|load-2 150 1 49.50 client-limited|load-1 150 0 49.50 complete|all 3 workers 500 0 "+p.text(`document.querySelector("#workers .sum").cells[3].textContent`)+" 1 lost")
	p.want("percentiles, requests in flight, CPU and send lag of a worker", workerRows("4, 5, 6, 7, 8")+`.split("|")[0]`, "3.00 ms 5.00 ms 0.2 0.04 90.0 µs")
	p.want("how exactly they worked together", `document.querySelector("#workers p.note").textContent`, "request rate 200. Fleet: run nightly, 3 workers (1 lost), started at most 130 µs apart, clocks known to within 50.0 µs")
	p.want("the other level", `document.querySelector("#workers details summary").textContent`, "Workers at request rate 100")
	p.atWidths("workers")
	p.quiet("file://")
	p = made{levels: 1, requests: 500, alter: fleetOf(45)}.open(t)
	p.want("rows of a large fleet", `document.querySelectorAll("#workers .scroll tbody")[0].rows.length`, "21")
	p.want("the other workers", `document.querySelector("#workers details summary").textContent + ": " + document.querySelectorAll("#workers .scroll tbody")[1].rows.length`, "25 more workers at request rate 100: 25")
	p = made{levels: 1, requests: 500}.open(t)
	p.want("a run without workers", `String(document.querySelector("#workers"))`, "null")
}

// The page of a run in progress shows each worker. A table that the reader opened stays open when the next state of the run comes. e2e/fleet has what a
// real run sends to the page.
func TestLiveWorkers(t *testing.T) {
	s := listen(t)
	show := func(requests int) {
		v := page.NewView("run", made{levels: 1, requests: requests, alter: fleetOf(45)}.result())
		v.Live = true
		s.Show(v)
	}
	show(100)
	p := open(t, s.URL())
	p.click(`document.querySelector("#workers summary")`)
	p.want("the table", `document.querySelector("#workers details").open`, "true")
	show(200)
	p.want("the next state", `document.querySelector("#workers .sum").cells[1].textContent`, "200")
	p.want("the table", `document.querySelector("#workers details").open`, "true")
	p.want("workers that go on", workerRows("9")+`.split("|")[2]`, "running")
	p.shot("live-workers")
	p.quiet("http://127.0.0.1:")
}
