package term_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redline-bench/redline/internal/result"
	"github.com/redline-bench/redline/internal/term"
)

// viewer is a view on a screen whose size and time the test sets.
type viewer struct {
	*term.Line
	*screen
	*clock
	width, height int
}

func newView(width, height int, look term.Look) *viewer {
	v := &viewer{screen: &screen{width: width}, clock: &clock{t: time.Unix(1000, 0)}, width: width, height: height}
	v.Line = term.New(v.screen, func() (int, int) { return v.width, v.height }, v.now).View(look)
	return v
}

// level shows a level whose throughput grows from half of rate to rate, and ends it.
func (v *viewer) level(number, levels int, rate float64, end bool) {
	for i := range 8 {
		v.clock.t = v.clock.t.Add(time.Second)
		v.Show(term.Status{
			Level: fmt.Sprint("concurrency ", number), Number: number, Levels: levels, Elapsed: time.Second, Window: 5 * time.Second, Requests: 100,
			Rate: rate * float64(8+i+1) / 16, Median: time.Duration(number) * time.Millisecond, Left: 3 * time.Second,
		})
	}
	if end {
		v.EndLevel(term.Status{Rate: rate, Median: time.Duration(number) * time.Millisecond})
	}
}

func TestView(t *testing.T) {
	v := newView(100, 24, term.Look{Unicode: true})
	v.level(1, 3, 1000, true)
	v.level(2, 3, 2000, false)
	same(t, "two levels", v.String(), strings.TrimSpace(`
level 2 of 3, concurrency 2 | about 3.0 s left | 2000 infer/sec | p50 2.00 ms
  level           infer/sec                                       p50
  concurrency 1        1000  ▃▃▃▄▄▄▄▅                         1.00 ms  ▅▅▅▅▅▅▅▅
> concurrency 2        2000  ▅▆▆▇▇███                         2.00 ms  ████████`))
	fmt.Fprint(v.Writer(v.screen), "a line\n")
	if got := v.String(); !strings.HasPrefix(got, "a line\nlevel 2 of 3") || strings.Count(got, "\n") != 4 {
		t.Errorf("other output stands above the view:\n%s", got)
	}
	v.Clear()
	same(t, "cleared", v.String(), "a line\n")
	v.level(3, 3, 4000, false)
	if got := v.String(); strings.Count(got, "\n") != 5 || !strings.Contains(got, "concurrency 1") {
		t.Errorf("after Clear:\n%s", got)
	}
}

func TestViewFits(t *testing.T) {
	for width := 1; width < 130; width += 7 {
		for _, height := range []int{1, 2, 3, 4, 24} {
			v := newView(width, height, term.Look{Unicode: width%2 == 0, Color: width%2 == 1})
			for n := range 3 {
				v.level(n+1, 9, 1000, true)
			}
			for n := 4; n <= 30; n++ {
				v.clock.t = v.clock.t.Add(time.Second)
				v.Show(term.Status{Level: "concurrency 4", Number: n, Levels: 30, Rate: 1e6, Median: time.Second})
			}
			if v.wrapped || len(v.rows) > max(1, height-1) {
				t.Fatalf("%d columns and %d rows:\n%s", width, height, v)
			}
		}
	}
}

// The oldest levels are left out first.
func TestViewKeepsTheNewestLevels(t *testing.T) {
	v := newView(60, 6, term.Look{})
	for n := 1; n <= 9; n++ {
		v.level(n, 9, float64(1000*n), n < 9)
	}
	for _, want := range []string{"7 earlier levels", "concurrency 8", "> concurrency 9"} {
		if !strings.Contains(v.String(), want) {
			t.Errorf("%s is missing:\n%s", want, v)
		}
	}
	if strings.Contains(v.String(), "concurrency 1") || strings.ContainsRune(v.String(), '█') {
		t.Errorf("old levels, or blocks without Unicode:\n%s", v)
	}
}

// A terminal that becomes narrower folds what is on the screen. The next drawing replaces all of it.
func TestViewAfterResize(t *testing.T) {
	v := newView(100, 24, term.Look{})
	v.level(1, 2, 1000, false)
	var folded [][]rune
	for _, row := range v.rows {
		for len(row) > 40 {
			folded, row = append(folded, row[:40]), row[40:]
		}
		folded = append(folded, row)
	}
	v.rows, v.row, v.screen.width, v.width = folded, len(folded)-1, 40, 40
	v.level(1, 2, 1000, false)
	if len(v.rows) != 3 || v.wrapped {
		t.Errorf("%d rows:\n%s", len(v.rows), v)
	}
}

func TestViewHasNoStylesWithoutColor(t *testing.T) {
	var plain, styled strings.Builder
	for _, c := range []struct {
		to    *strings.Builder
		color bool
	}{{&plain, false}, {&styled, true}} {
		l := term.New(c.to, func() (int, int) { return 80, 24 }, time.Now).View(term.Look{Color: c.color})
		l.Show(status())
	}
	if strings.Contains(plain.String(), "\x1b[1m") || !strings.Contains(styled.String(), "\x1b[1m") {
		t.Errorf("%q\n%q", plain.String(), styled.String())
	}
}

func TestViewIsDrawnAtMostFourTimesASecond(t *testing.T) {
	v := newView(100, 24, term.Look{})
	for range 1000 {
		v.Show(status())
		v.clock.t = v.clock.t.Add(time.Millisecond)
	}
	if v.writes != 4 {
		t.Errorf("%d drawings in a second", v.writes)
	}
}

// While the process is stopped, nothing is drawn; the view comes back below what the shell wrote.
func TestViewHeld(t *testing.T) {
	v := newView(100, 24, term.Look{})
	v.level(1, 2, 1000, false)
	release := v.Hold()
	v.level(1, 2, 1000, false)
	same(t, "held", v.String(), "")
	fmt.Fprint(v.screen, "[1]+ Stopped\r\n")
	release()
	v.level(1, 2, 1000, false)
	if got := v.String(); !strings.HasPrefix(got, "[1]+ Stopped\nlevel 1 of 2") || strings.Count(got, "\n") != 3 {
		t.Errorf("after release:\n%s", got)
	}
}

// fleetOf is the workers of a fleet, of which the last may be lost.
func fleetOf(n int, lost bool) func() []result.Worker {
	return func() []result.Worker {
		var list []result.Worker
		for i := range n {
			list = append(list, result.Worker{Name: fmt.Sprint("worker-", i+1), Requests: 100, InferPerSec: 250, P50Ns: 2e6})
		}
		if lost {
			list[n-1].Lost = "it sent nothing for 4.4s"
		}
		return list
	}
}

// A view shows each worker of a fleet below the levels, the lost ones first; many workers leave room for the levels.
func TestViewShowsWorkers(t *testing.T) {
	v := newView(80, 24, term.Look{})
	s := term.Status{Level: "request rate 500", Number: 1, Rate: 500, Median: 2 * time.Millisecond, Requests: 1000, Workers: fleetOf(2, false)}
	v.Show(s)
	same(t, "two workers", strings.Join(trimmed(v.String()), "\n"), strings.Trim(`
request rate 500 | 500 infer/sec | p50 2.00 ms | 2 workers
  level              infer/sec                           p50
> request rate 500         500  #                    2.00 ms  #
  worker
  worker-1                 250                       2.00 ms
  worker-2                 250                       2.00 ms`, "\n"))
	v = newView(80, 10, term.Look{})
	s.Workers = fleetOf(20, true)
	v.Show(s)
	same(t, "many workers", strings.Join(trimmed(v.String()), "\n"), strings.Trim(`
request rate 500 | 500 infer/sec | p50 2.00 ms | 1 of 20 workers lost
  level              infer/sec                           p50
> request rate 500         500  #                    2.00 ms  #
  worker
! worker-20               lost
  worker-1                 250                       2.00 ms
  18 more workers`, "\n"))
}

// trimmed are the lines of a screen without the blanks at their ends.
func trimmed(screen string) (lines []string) {
	for line := range strings.Lines(screen) {
		lines = append(lines, strings.TrimRight(line, " \n"))
	}
	return lines
}

// The workers are asked at most once a second, however often the line is drawn.
func TestWorkersAreAskedOnceASecond(t *testing.T) {
	v := newView(100, 24, term.Look{})
	asked := 0
	for range 3000 {
		s := status()
		s.Workers = func() []result.Worker { asked++; return fleetOf(3, false)() }
		v.Show(s)
		v.clock.t = v.clock.t.Add(time.Millisecond)
	}
	if asked != 3 {
		t.Errorf("the workers were asked %d times in three seconds", asked)
	}
}

func TestWorkersAsJSON(t *testing.T) {
	var out strings.Builder
	l := term.NewJSON(&out, time.Now)
	s := status()
	s.Workers = fleetOf(2, true)
	l.Show(s)
	if want := `"workers":[{"name":"worker-1","requests":100,"failed":0,"rate":250,"p50_ms":2},{"name":"worker-2","requests":100,"failed":0,"rate":250,"p50_ms":2,"lost":"it sent nothing for 4.4s"}]`; !strings.Contains(out.String(), want) {
		t.Errorf("%s has no %s", out.String(), want)
	}
}
