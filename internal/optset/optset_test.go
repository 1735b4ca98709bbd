package optset_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/redline-bench/redline/internal/optset"
)

type values struct {
	On    bool
	Text  string
	N     int
	F     float64
	D     time.Duration
	Kind  string
	Rest  []string
	Fault string
}

func parse(args ...string) values {
	v := values{Text: "a", N: 7, F: 0.5, D: time.Second}
	s := &optset.Set{}
	s.Group("Options")
	s.Bool(&v.On, "on,o", "switch it on")
	s.Text(&v.Text, "text,t", "WORD", "a word")
	s.Int(&v.N, "number", "N", 2, "a number")
	s.Float(&v.F, "share", "P", 0, 1, "a share")
	s.Duration(&v.D, "time", "D", "a time")
	optset.OneOf(s, &v.Kind, "kind", "NAME", "a kind", "One", "Two")
	rest, err := s.Parse(args)
	v.Rest = rest
	if err != nil {
		v.Fault = err.Error()
	}
	return v
}

func TestParse(t *testing.T) {
	f := func(line string, want values) {
		t.Helper()
		if diff := cmp.Diff(want, parse(strings.Fields(line)...)); diff != "" {
			t.Errorf("%s\n%s", line, diff)
		}
	}
	f("", values{Text: "a", N: 7, F: 0.5, D: time.Second})
	f("-ot b --number=3 x --share 1 --time 250ms y", values{On: true, Text: "b", N: 3, F: 1, D: 250 * time.Millisecond, Rest: []string{"x", "y"}})
	f("--number 1", values{Text: "a", N: 7, F: 0.5, D: time.Second, Fault: `--number is a whole number of at least 2, not "1"`})
	f("--share NaN", values{Text: "a", N: 7, F: 0.5, D: time.Second, Fault: `--share is a number from 0 to 1, not "NaN"`})
	f("--time 5", values{Text: "a", N: 7, F: 0.5, D: time.Second, Fault: `--time is a time with its unit, as 5s or 250ms, not "5"`})
	f("--kind ONE --kind two", values{Text: "a", N: 7, F: 0.5, D: time.Second, Kind: "two"})
	f("--kind three", values{Text: "a", N: 7, F: 0.5, D: time.Second, Fault: `--kind is One or Two, not "three"`})
	f("--no", values{Text: "a", N: 7, F: 0.5, D: time.Second, Fault: `unknown option '--no'`})
}

func TestHelp(t *testing.T) {
	s := &optset.Set{}
	n := 3
	s.Group("Options")
	s.Int(&n, "number,n", "N", 0, "how many")
	kind := "one"
	optset.OneOf(s, &kind, "kind,k", "NAME", "which kind", "One", "Two")
	s.Int(&n, "a-very-long-name-of-an-option", "N", 0, "how many more")
	want := `
Options
  -n, --number N                how many (3)
  -k, --kind NAME               which kind (One)
      --a-very-long-name-of-an-option N
                                how many more (3)
`
	if diff := cmp.Diff(want, s.Help()); diff != "" {
		t.Error(diff)
	}
	if _, err := s.Parse([]string{"--number", "1", "--help"}); !errors.Is(err, optset.ErrHelp) {
		t.Errorf("--help: %v", err)
	}
	if diff := cmp.Diff([]string{"--number", "--kind", "--a-very-long-name-of-an-option"}, s.Names()); diff != "" {
		t.Error(diff)
	}
}

func TestAliasesAreTheSameOption(t *testing.T) {
	var s optset.Set
	n := 0
	s.Int(&n, "synthetic-input-tokens-mean", "N", 1, "length of made prompts")
	s.Alias("synthetic-input-tokens-mean", "isl")
	if _, err := s.Parse([]string{"--isl", "7"}); err != nil || n != 7 {
		t.Errorf("%d, %v", n, err)
	}
	if help := s.Help(); strings.Count(help, "--isl") != 1 || !strings.Contains(help, "also --isl") {
		t.Error(help)
	}
}
