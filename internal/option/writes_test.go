package option_test

import (
	"os"
	"strings"
	"testing"

	"github.com/redline-bench/redline/internal/option"
)

func TestFilesAreNotWrittenOver(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, name := range []string{"in", "other"} {
		if err := os.WriteFile(name, nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("in", "link"); err != nil {
		t.Fatal(err)
	}
	f := func(line, want string) {
		t.Helper()
		var in, out, more string
		table := option.Table{Rows: []option.Row{
			{Long: "in", Arg: "FILE", To: option.Text(&in)},
			{Long: "out", Short: 'o', Arg: "FILE", Writes: true, To: option.Text(&out)},
			{Long: "more", Arg: "FILE", Writes: true, To: option.Text(&more)},
		}}
		_, err := table.Parse(strings.Fields(line))
		switch {
		case want == "" && err != nil:
			t.Errorf("%s: %v", line, err)
		case want != "" && (err == nil || err.Error() != want):
			t.Errorf("%s: %v, want %s", line, err, want)
		}
	}
	f("--in in --out new --more other", "")
	f("--in in -o ./in", "-o would write over ./in, which --in reads: give another name")
	f("--out link --in in", "--out would write over link, which --in reads: give another name")
	f("--in other,in --out in", "--out would write over in, which --in reads: give another name")
	f("--in payload:in --out in", "--out would write over in, which --in reads: give another name")
	f("in --out in", "--out would write over in, which is also read: give another name")
	f("--out new --more ./new", "--out and --more would both write new: give two names")
	f("--out in --more in", "--out and --more would both write in: give two names")
	f("--out a --out a", "")
	f("--out /dev/null --more /dev/null", "")
}
