package option

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var opts = []Row{
	{Short: 'v'},
	{Short: 'm', Arg: "X"},
	{Long: "async", Short: 'a'},
	{Long: "input-data", Arg: "X"},
	{Long: "input-format", Arg: "X"},
	{Long: "rate", Arg: "X"},
	{Long: "rate-range", Arg: "X"},
	{Long: "measurement-interval", Short: 'p', Arg: "X"},
	{Long: "isl", Also: "prompt-length prompt-size", Arg: "X"},
	{Also: "ra config", Instead: "is another tool's"},
	{Long: "metrics", Arg: "[X]", Optional: true},
}

// walk renders what the scanner says of a line, one word an occurrence.
func walk(s *scanner) (words []string, err *SyntaxError) {
	for {
		g, ok, err := s.next()
		if err != nil || !ok {
			return words, err
		}
		w := g.form
		if g.row.Arg != "" {
			w += "=" + g.value
		}
		words = append(words, w)
	}
}

func TestNext(t *testing.T) {
	f := func(line, want, strays string) {
		t.Helper()
		s := &scanner{rows: opts, args: strings.Fields(line)}
		got, err := walk(s)
		if err != nil {
			t.Errorf("%q: %v", line, err)
		}
		if d := cmp.Diff(want, strings.Join(got, " ")); d != "" {
			t.Errorf("%q: %s", line, d)
		}
		if d := cmp.Diff(strays, strings.Join(s.strays, " ")); d != "" {
			t.Errorf("%q: strays: %s", line, d)
		}
	}
	f("", "", "")
	f("-v -v", "-v -v", "")
	f("--metrics x --metrics=y --metrics -v --metrics", "--metrics=x --metrics=y --metrics= -v --metrics=", "")
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
	f("--prompt-size 4 --prompt 5 --isl=6", "--prompt-size=4 --prompt-length=5 --isl=6", "")
	f("--config --config=1 --ra", "--config --config --ra", "") // --ra is no prefix of --rate here
	f("one -v two --rate 3 three", "-v --rate=3", "one two three")
	f("-v -- -v --rate", "-v", "-v --rate")
	f("- -v", "-v", "-")
	f("--rate -5", "--rate=-5", "")
}

func TestFaults(t *testing.T) {
	f := func(line string, want SyntaxError, text string) {
		t.Helper()
		_, e := walk(&scanner{rows: opts, args: strings.Fields(line)})
		if e == nil {
			t.Fatalf("%q: no error", line)
		}
		if d := cmp.Diff(want, *e); d != "" {
			t.Errorf("%q: %s", line, d)
		}
		if e.Error() != text {
			t.Errorf("%q: %q, want %q", line, e.Error(), text)
		}
	}
	f("-X", SyntaxError{Fault: UnknownShort, Raw: "-X", Short: 'X'}, "unknown option '-X'")
	f("-vXa", SyntaxError{Fault: UnknownShort, Raw: "-vXa", Short: 'X'}, "unknown option '-X'")
	f("-1", SyntaxError{Fault: UnknownShort, Raw: "-1", Short: '1'}, "unknown option '-1'")
	f("-vm", SyntaxError{Fault: NoShortValue, Raw: "-vm", Short: 'm'}, "option '-m' needs a value")
	f("--conf", SyntaxError{Fault: UnknownLong, Raw: "--conf", Name: "conf"}, "unknown option '--conf'")
	f("--xyz=3", SyntaxError{Fault: UnknownLong, Raw: "--xyz=3", Name: "xyz"}, "unknown option '--xyz'")
	f("--async-x", SyntaxError{Fault: UnknownLong, Raw: "--async-x", Name: "async-x", Candidates: []string{"async"}}, "unknown option '--async-x'; did you mean --async?")
	f("-async", SyntaxError{Fault: OneDash, Raw: "-async", Name: "async"}, "option '-async' has two dashes: --async")
	f("--in=1", SyntaxError{
		Fault: Ambiguous, Raw: "--in=1", Name: "in",
		Candidates: []string{"input-data", "input-format"},
	}, "option '--in' could be --input-data or --input-format")
	f("--rate", SyntaxError{Fault: NoLongValue, Raw: "--rate", Name: "rate"}, "option '--rate' needs a value")
	f("--input-d", SyntaxError{Fault: NoLongValue, Raw: "--input-d", Name: "input-d"}, "option '--input-d' needs a value")
	f("--async=true", SyntaxError{Fault: UnexpectedValue, Raw: "--async=true", Name: "async"}, "option '--async' takes no value")
}

func TestGoesOnBehindAMistake(t *testing.T) {
	s := &scanner{rows: opts, args: []string{"-Xv", "--nope", "-mfoo"}}
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
		s := &scanner{rows: opts, args: args}
		bytes := len(line) + 1
		for range bytes + 1 {
			g, ok, err := s.next()
			if err != nil {
				if err.Error() == "" {
					t.Fatalf("%q: no words for %+v", line, *err)
				}
				continue
			}
			if !ok {
				if len(s.strays) > len(args) {
					t.Fatalf("%q: more strays than arguments", line)
				}
				return
			}
			if g.row == nil {
				t.Fatalf("%q: no row", line)
			}
			if g.value != "" && !strings.Contains(line, g.value) {
				t.Fatalf("%q: value %q is not of the line", line, g.value)
			}
		}
		t.Fatalf("%q: the scan does not end", line)
	})
}
