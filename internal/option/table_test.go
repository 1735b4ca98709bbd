package option_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/redline-bench/redline/internal/option"
	"github.com/redline-bench/redline/internal/secret"
)

type values struct {
	On    bool
	Text  string
	N     int
	F     float64
	Share float64
	D     time.Duration
	Kind  string
	List  []string
	Rest  []string
	Fault string
}

func (v *values) rows() []option.Row {
	return append(option.Group("Options", []option.Row{
		{Long: "on", Short: 'o', Help: "switch it on", To: option.Switch(&v.On)},
		{Long: "off", Help: "switch it off", To: option.SwitchOff(&v.On)},
		{Long: "text", Short: 't', Arg: "WORD", Help: "a word", To: option.Text(&v.Text)},
		{Long: "number", Also: "count", Arg: "N", Help: "a number", Unit: "requests", To: option.Int(&v.N, 2)},
		{Long: "share", Arg: "P", Help: "a share", To: option.Float(&v.F, 0, 1)},
		{Long: "rate", Arg: "PCT", Help: "a rate", To: option.Percent(&v.Share, 100)},
		{Long: "time", Arg: "D", Help: "a time", To: option.Time(&v.D, time.Second)},
	}), option.Group("More options", []option.Row{
		{Long: "kind", Arg: "NAME", Help: "a kind. It may be written in any case", To: option.OneOf(&v.Kind, "One", "Two", "Three")},
		{Long: "a-very-long-name-of-an-option", Arg: "FILE", Repeat: true, Help: "a list", To: option.Append(&v.List)},
		{Also: "other-kind", Instead: "of another tool is not supported: use --kind"},
	})...)
}

func defaults() values {
	return values{Text: "a", N: 7, F: 0.5, Share: 0.03, D: time.Second, Kind: "one"}
}

func TestParse(t *testing.T) {
	f := func(line string, change func(v *values)) {
		t.Helper()
		want, got := defaults(), defaults()
		change(&want)
		table := option.Table{Rows: got.rows()}
		rest, err := table.Parse(strings.Fields(line))
		got.Rest = rest
		if err != nil {
			got.Fault = err.Error()
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s\n%s", line, diff)
		}
	}
	fault := func(line, text string) {
		t.Helper()
		f(line, func(v *values) { v.Fault = text })
	}
	f("", func(*values) {})
	f("-ot b --number=3 x --share 1 --time 250ms y --rate 5%", func(v *values) {
		v.On, v.Text, v.N, v.F, v.D, v.Share, v.Rest = true, "b", 3, 1, 250*time.Millisecond, 0.05, []string{"x", "y"}
	})
	f("--on --off --count 4", func(v *values) { v.N = 4 })
	f("--a-very x --a-very y", func(v *values) { v.List = []string{"x", "y"} })
	f("--kind ONE --kind two", func(v *values) { v.Kind = "two" })
	fault("--number 1", `--number is a whole number of at least 2, not "1"`)
	fault("--count 1", `--number is a whole number of at least 2, not "1"`)
	fault("--share NaN", `--share is a number from 0 to 1, not "NaN"`)
	fault("--rate 101", `--rate is a percentage from 0 to 100, not "101"`)
	fault("--time 5x", `--time is a time such as 5s or 250ms, or a number of seconds, not "5x"`)
	f("--time 5", func(v *values) { v.D = 5 * time.Second })
	fault("--kind four", `--kind is One, Two or Three, not "four"`)
	fault("--no", "unknown option '--no'; did you mean --on?")
	fault("--nubmer 3", "unknown option '--nubmer'; did you mean --number?")
	fault("--name-of-an", "unknown option '--name-of-an'; did you mean --a-very-long-name-of-an-option?")
	fault("--zzzzz", "unknown option '--zzzzz'")
	fault("-number=3", "option '-number' has two dashes: --number")
	fault("-other-kind=x", "-other-kind of another tool is not supported: use --kind")
	fault("--other-kind=x", "--other-kind of another tool is not supported: use --kind")
}

func TestHelp(t *testing.T) {
	v := defaults()
	c := option.Command{Intro: "Usage: test\n", Outro: "Examples\n", Rows: v.rows()}
	want := `Usage: test

Options
  -o, --on                      switch it on
      --off                     switch it off
  -t, --text WORD               a word (a)
      --number N                a number; also --count (7 requests)
      --share P                 a share (0.5)
      --rate PCT                a rate (3%)
      --time D                  a time; a time without a unit is in s
                                (1s)

More options
      --kind NAME               a kind. It may be written in any case
                                (One)
      --a-very-long-name-of-an-option FILE
                                a list; may be repeated

Examples
`
	if diff := cmp.Diff(want, c.Help(70)); diff != "" {
		t.Error(diff)
	}
	table := option.Table{Rows: v.rows()}
	if _, err := table.Parse([]string{"--number", "3", "--help"}); !errors.Is(err, option.ErrHelp) {
		t.Errorf("--help: %v", err)
	}
}

// The arguments that are stored, and the command line that files show, have no secret.
func TestArguments(t *testing.T) {
	var key, model string
	var headers []string
	table := option.Table{Secrets: &secret.Set{}, Rows: []option.Row{
		{Long: "key", Short: 'k', Arg: "KEY", Secret: secret.Whole, To: option.Text(&key)},
		{Long: "header", Arg: "HEADER", Secret: secret.Header, To: option.Append(&headers)},
		{Short: 'm', Arg: "MODEL", To: option.Text(&model)},
		{Long: "on", To: option.Ignore()},
	}}
	if _, err := table.Parse([]string{"-kHIDDEN", "--header", "Authorization: HIDDEN", "--on", "-m", "a b"}); err != nil || key != "HIDDEN" {
		t.Fatalf("%q, %v", key, err)
	}
	args := table.Arguments()
	if diff := cmp.Diff([]string{"--key=***", "--header=Authorization: ***", "--on", "-m=a b"}, args); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff("run --key '***' --header 'Authorization: ***' --on -m 'a b'", table.Command("run")); diff != "" {
		t.Error(diff)
	}
	public, secrets, names := table.Withhold(func(r *option.Row) bool { return r.Long == "on" })
	if diff := cmp.Diff([][]string{
		{"--key=***", "--header=Authorization: ***", "-m=a b"}, {"--key=HIDDEN", "--header=Authorization: HIDDEN", ""}, {"--key", "--header"},
	}, [][]string{public, secrets, names}); diff != "" {
		t.Error(diff)
	}
	if !table.Given("key") || !table.Given("m") || table.Given("other") {
		t.Error("Given is wrong")
	}
	again := option.Table{Rows: table.Rows}
	if _, err := again.Parse(args); err != nil || model != "a b" || key != secret.Mask {
		t.Errorf("read again: %q, %q, %v", model, key, err)
	}
}
