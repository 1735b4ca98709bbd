package term_test

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/redline-bench/redline/internal/term"
)

// screen is a terminal of a given width and any height. It knows the carriage return, the line feed, moving up, clearing to
// the end of the row and of the screen, and styles, which it ignores.
type screen struct {
	width   int
	rows    [][]rune
	row     int
	col     int
	wrapped bool
	writes  int
}

var escape = regexp.MustCompile(`^\x1b\[([0-9]*)([A-Za-z])`)

func (s *screen) Write(p []byte) (int, error) {
	s.writes++
	if s.rows == nil {
		s.rows = make([][]rune, 1)
	}
	rest := string(p)
	for rest != "" {
		if m := escape.FindStringSubmatch(rest); m != nil {
			s.control(m[2], m[1])
			rest = rest[len(m[0]):]
			continue
		}
		r, n := utf8.DecodeRuneInString(rest)
		rest = rest[n:]
		s.put(r)
	}
	return len(p), nil
}

func (s *screen) control(what, number string) {
	row := &s.rows[s.row]
	switch what {
	case "A":
		n, _ := strconv.Atoi(number)
		s.row -= n
		if s.row < 0 {
			panic("moved above the screen")
		}
	case "J":
		s.rows = s.rows[:s.row+1]
		fallthrough
	case "K":
		*row = (*row)[:min(s.col, len(*row))]
	}
}

func (s *screen) feed() {
	s.row, s.col = s.row+1, 0
	if s.row == len(s.rows) {
		s.rows = append(s.rows, nil)
	}
}

func (s *screen) put(r rune) {
	switch r {
	case '\r':
		s.col = 0
	case '\n':
		s.feed()
	default:
		if s.col == s.width {
			s.wrapped = true
			s.feed()
		}
		row := &s.rows[s.row]
		for len(*row) <= s.col {
			*row = append(*row, ' ')
		}
		(*row)[s.col] = r
		s.col++
	}
}

func (s *screen) String() string {
	var lines []string
	for _, r := range s.rows {
		lines = append(lines, string(r))
	}
	return strings.Join(lines, "\n")
}

// clock is a time that the test moves.
type clock struct{ t time.Time }

func (c *clock) now() time.Time { return c.t }

func newLine(width int) (*term.Line, *screen, *clock) {
	s, c := &screen{width: width}, &clock{t: time.Unix(1000, 0)}
	return term.New(s, func() (int, int) { return width, 24 }, c.now), s, c
}

func status() term.Status {
	return term.Status{
		Level: "concurrency 8", Pass: 2, Passes: 10, Elapsed: 1800 * time.Millisecond, Window: 5 * time.Second,
		Requests: 100, Rate: 12345.6, Median: 412 * time.Microsecond, Failed: 3,
	}
}

func same(t *testing.T, what string, got, want any) {
	t.Helper()
	if d := cmp.Diff(got, want); d != "" {
		t.Errorf("%s (-got +want):\n%s", what, d)
	}
}

func TestLine(t *testing.T) {
	f := func(name string, change func(*term.Status), want string) {
		t.Helper()
		l, s, _ := newLine(140)
		st := status()
		change(&st)
		l.Show(st)
		same(t, name, s.String(), want)
	}
	f("time window", func(*term.Status) {}, "concurrency 8 | window 2 of at most 10 | 3.2 s left | 12346 infer/sec | p50 412 µs | 3 failed")
	f("count window", func(s *term.Status) { s.Window, s.Wanted, s.Failed, s.Rate = 0, 500, 0, 12.345 },
		"concurrency 8 | window 2 of at most 10 | 100 of 500 requests | 12.3 infer/sec | p50 412 µs")
	f("nothing yet", func(s *term.Status) {
		s.Requests, s.Failed, s.Rate, s.Elapsed, s.Passes = 0, 0, 0, 6*time.Second, 1
	}, "concurrency 8 | window 2 | 0.0 s left | 0 infer/sec")
	f("one level of a run", func(s *term.Status) { s.Number, s.Levels, s.Left = 3, 8, 2*time.Minute+5*time.Second },
		"level 3 of 8, concurrency 8 | window 2 of at most 10 | about 2 min 05 s left | 12346 infer/sec | p50 412 µs | 3 failed")
	f("a search", func(s *term.Status) { s.Number, s.Failed = 3, 0 },
		"level 3, concurrency 8 | window 2 of at most 10 | 3.2 s left | 12346 infer/sec | p50 412 µs")
	f("a language model", func(s *term.Status) {
		*s = term.Status{
			Level: "concurrency 8", Number: 1, Levels: 2, Requests: 120, Wanted: 500, Rate: 8.12, Unit: "requests/s", Median: time.Second,
			Tokens: 812, FirstToken: 15200 * time.Microsecond, Left: 47 * time.Second,
		}
	}, "level 1 of 2, concurrency 8 | 120 of 500 requests | about 47 s left | 812 tokens/s | 8.12 requests/s | TTFT p50 15.2 ms")
}

func TestNeverWraps(t *testing.T) {
	for width := range 130 {
		if width == 0 {
			continue
		}
		l, s, _ := newLine(width)
		st := status()
		st.Level = "Größe ×" + st.Level
		l.Show(st)
		if s.wrapped || len(s.rows) != 1 {
			t.Fatalf("wraps at width %d:\n%s", width, s)
		}
	}
}

func TestLeavesOutWhatMattersLess(t *testing.T) {
	f := func(width int, want string) {
		t.Helper()
		l, s, _ := newLine(width)
		l.Show(status())
		same(t, fmt.Sprint("width ", width), s.String(), want)
	}
	f(80, "concurrency 8 | 3.2 s left | 12346 infer/sec | p50 412 µs | 3 failed")
	f(60, "3.2 s left | 12346 infer/sec | p50 412 µs | 3 failed")
	f(50, "12346 infer/sec | p50 412 µs | 3 failed")
	f(30, "12346 infer/sec | 3 failed")
	f(11, "12346 infe")
}

func TestDrawsAtMostTenTimesASecond(t *testing.T) {
	l, s, c := newLine(100)
	for range 1000 {
		l.Show(status())
		c.t = c.t.Add(time.Millisecond)
	}
	if s.writes != 10 {
		t.Errorf("%d drawings in a second", s.writes)
	}
}

func TestOtherOutputComesFirst(t *testing.T) {
	l, s, c := newLine(100)
	out := l.Writer(s)
	st := status()
	line := "concurrency 8 | window 2 of at most 10 | 3.2 s left | 12346 infer/sec | p50 412 µs | 3 failed"
	l.Show(st)
	fmt.Fprint(out, "short\n")
	same(t, "the line moves down", s.String(), "short\n"+line)

	st.Rate = 99
	l.Show(st) // too early to be drawn, but known
	fmt.Fprint(out, "next\n")
	same(t, "the newest line", s.String(), "short\nnext\n"+strings.Replace(line, "12346", "99", 1))

	fmt.Fprint(out, "half ")
	c.t = c.t.Add(time.Second)
	l.Show(st)
	same(t, "a line that is not finished is left alone", s.String(), "short\nnext\nhalf ")
	fmt.Fprint(out, "done\n")
	same(t, "and then it is back", s.String(), "short\nnext\nhalf done\n"+strings.Replace(line, "12346", "99", 1))

	l.Clear()
	fmt.Fprint(out, "end\n")
	same(t, "gone", s.String(), "short\nnext\nhalf done\nend\n")
}

func TestClearBetweenLevelsShowsTheNextAtOnce(t *testing.T) {
	l, s, _ := newLine(100)
	l.Show(status())
	l.Clear()
	same(t, "cleared", s.String(), "")
	l.Show(status())
	if s.String() == "" {
		t.Error("the next line waited")
	}
}

func TestNoTerminalNoLine(t *testing.T) {
	f, err := os.Create(filepath.Join(t.TempDir(), "out"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	l := term.Open(f, f)
	if l != nil {
		t.Fatal("a file is no terminal")
	}
	var b bytes.Buffer
	l.Show(status())
	fmt.Fprint(l.Writer(&b), "text\n")
	l.Clear()
	same(t, "output", b.String(), "text\n")
	if l.Writer(&b) != io.Writer(&b) {
		t.Error("the writer is wrapped for nothing")
	}
}

func TestUnknownWidth(t *testing.T) {
	s := &screen{width: 80}
	l := term.New(s, func() (int, int) { return 0, 0 }, time.Now)
	l.Show(status())
	if got := s.String(); got == "" || len(got) > 79 {
		t.Errorf("got %q", got)
	}
}

func TestConcurrentUse(t *testing.T) {
	l, _, _ := newLine(100)
	out := l.Writer(io.Discard)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 100 {
				l.Show(status())
				_, _ = out.Write([]byte("x\n"))
				l.Clear()
			}
		})
	}
	wg.Wait()
}
