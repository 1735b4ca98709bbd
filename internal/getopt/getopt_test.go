package getopt_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/redline-bench/redline/internal/getopt"
)

var opts = []getopt.Option{
	{Short: 'v'},
	{Short: 'm', Arg: true},
	{Long: "async", Short: 'a'},
	{Long: "input-data", Arg: true},
	{Long: "input-format", Arg: true},
	{Long: "rate", Arg: true},
	{Long: "rate-range", Arg: true},
	{Long: "measurement-interval", Short: 'p', Arg: true},
}

// walk renders what the scanner says of a line, one word an occurrence.
func walk(s *getopt.Scanner) (words []string, err error) {
	for {
		o, ok, err := s.Next()
		if err != nil || !ok {
			return words, err
		}
		w := "-" + string(opts[o.Index].Short)
		if o.Long {
			w = "--" + opts[o.Index].Long
		}
		if opts[o.Index].Arg {
			w += "=" + o.Value
		}
		words = append(words, w)
	}
}

func TestNext(t *testing.T) {
	f := func(line, want, strays string) {
		t.Helper()
		s := getopt.New(opts, strings.Fields(line))
		got, err := walk(s)
		if err != nil {
			t.Errorf("%q: %v", line, err)
		}
		if d := cmp.Diff(want, strings.Join(got, " ")); d != "" {
			t.Errorf("%q: %s", line, d)
		}
		if d := cmp.Diff(strays, strings.Join(s.Strays(), " ")); d != "" {
			t.Errorf("%q: strays: %s", line, d)
		}
	}
	f("", "", "")
	f("-v -v", "-v -v", "")
	f("-vva", "-v -v -a", "")
	f("-p2000 -p 3000", "-p=2000 -p=3000", "")
	f("-vap5", "-v -a -p=5", "")
	f("-vap 5", "-v -a -p=5", "")
	f("-mfoo", "-m=foo", "")
	f("-m=foo", "-m=foo", "")
	f("-m==foo", "-m==foo", "")
	f("-m =foo", "-m==foo", "")
	f("-m -v", "-m=-v", "")
	f("-m --", "-m=--", "")
	f("--rate 1", "--rate=1", "")
	f("--rate=1=2", "--rate=1=2", "")
	f("--rate= -v", "--rate= -v", "")
	f("--rate-r 5", "--rate-range=5", "")
	f("--input-d=x --meas 4", "--input-data=x --measurement-interval=4", "")
	f("--as", "--async", "")
	f("one -v two --rate 3 three", "-v --rate=3", "one two three")
	f("-v -- -v --rate", "-v", "-v --rate")
	f("- -v", "-v", "-")
	f("--rate -5", "--rate=-5", "")
}

func TestFaults(t *testing.T) {
	f := func(line string, want getopt.Error, text string) {
		t.Helper()
		_, err := walk(getopt.New(opts, strings.Fields(line)))
		var e *getopt.Error
		if !errors.As(err, &e) {
			t.Fatalf("%q: got %v, want an Error", line, err)
		}
		if d := cmp.Diff(want, *e); d != "" {
			t.Errorf("%q: %s", line, d)
		}
		if e.Error() != text {
			t.Errorf("%q: %q, want %q", line, e.Error(), text)
		}
	}
	f("-X", getopt.Error{Fault: getopt.UnknownShort, Raw: "-X", Short: 'X'}, "unknown option '-X'")
	f("-vXa", getopt.Error{Fault: getopt.UnknownShort, Raw: "-vXa", Short: 'X'}, "unknown option '-X'")
	f("-1", getopt.Error{Fault: getopt.UnknownShort, Raw: "-1", Short: '1'}, "unknown option '-1'")
	f("-vm", getopt.Error{Fault: getopt.NoShortValue, Raw: "-vm", Short: 'm'}, "option '-m' needs a value")
	f("--xyz=3", getopt.Error{Fault: getopt.UnknownLong, Raw: "--xyz=3", Name: "xyz"}, "unknown option '--xyz'")
	f("--async-x", getopt.Error{Fault: getopt.UnknownLong, Raw: "--async-x", Name: "async-x"}, "unknown option '--async-x'")
	f("--in=1", getopt.Error{
		Fault: getopt.Ambiguous, Raw: "--in=1", Name: "in",
		Candidates: []string{"input-data", "input-format"},
	}, "option '--in' could be --input-data or --input-format")
	f("--rate", getopt.Error{Fault: getopt.NoLongValue, Raw: "--rate", Name: "rate"}, "option '--rate' needs a value")
	f("--input-d", getopt.Error{Fault: getopt.NoLongValue, Raw: "--input-d", Name: "input-d"}, "option '--input-d' needs a value")
	f("--async=true", getopt.Error{Fault: getopt.UnexpectedValue, Raw: "--async=true", Name: "async"}, "option '--async' takes no value")
}

func TestGoesOnBehindAMistake(t *testing.T) {
	s := getopt.New(opts, []string{"-Xv", "--nope", "-mfoo"})
	var got []string
	for range 3 {
		words, err := walk(s)
		got = append(got, words...)
		if err != nil {
			got = append(got, err.Error())
		}
	}
	want := []string{"unknown option '-X'", "-v", "unknown option '--nope'", "-m=foo"}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// FuzzScanner holds two laws: a scan ends, and nothing is lost: every argument is an option, a value or a stray.
func FuzzScanner(f *testing.F) {
	f.Add("-v -mfoo --rate=3 x")
	f.Add("--in --= - -- -p")
	f.Add("-p= --input-d x -vap5")
	f.Fuzz(func(t *testing.T, line string) {
		args := strings.Split(line, " ")
		s := getopt.New(opts, args)
		bytes := len(line) + 1
		for range bytes + 1 {
			o, ok, err := s.Next()
			if err != nil {
				var e *getopt.Error
				if !errors.As(err, &e) || e.Error() == "" {
					t.Fatalf("%q: %v", line, err)
				}
				continue
			}
			if !ok {
				if len(s.Strays()) > len(args) {
					t.Fatalf("%q: more strays than arguments", line)
				}
				return
			}
			if o.Index < 0 || o.Index >= len(opts) {
				t.Fatalf("%q: index %d", line, o.Index)
			}
			if o.Value != "" && !strings.Contains(line, o.Value) {
				t.Fatalf("%q: value %q is not of the line", line, o.Value)
			}
		}
		t.Fatalf("%q: the scan does not end", line)
	})
}
