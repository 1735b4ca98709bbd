package results

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/redline-bench/redline/internal/cleantext"
	"github.com/redline-bench/redline/internal/command"
	"github.com/redline-bench/redline/internal/command/runs"
	"github.com/redline-bench/redline/internal/history"
	"github.com/redline-bench/redline/internal/option"
	"github.com/redline-bench/redline/internal/report/columns"
	"github.com/redline-bench/redline/internal/unit"
)

// History is `redline history`.
func History(p *command.IO, args []string) (int, error) {
	var o historyOptions
	if _, err := command.Parse(&option.Table{Rows: o.rows()}, args, 0, 0, ""); err != nil {
		return 0, err
	}
	store := runs.Store(p)
	if store == nil {
		return 0, errors.New("no history: REDLINE_HISTORY is off, or no home folder is set")
	}
	return 0, doHistory(p, store, &o)
}

// HistoryCommand describes history.
func HistoryCommand() option.Command {
	return option.Command{Rows: new(historyOptions).rows(), Intro: `Usage: redline history [options]

Lists the runs kept on this machine, the newest last. Every run of profile, llm, simple and stress is kept as a folder
of plain files unless --no-history is given. REDLINE_HISTORY sets the folder ("off" keeps no runs); the default is in
the user's data folder. When the runs exceed 512 MiB (REDLINE_HISTORY_MIB), the oldest are deleted.
`}
}

// historyOptions are those of `redline history`.
type historyOptions struct {
	json   bool
	number int
	remove string
	keep   int
	where  bool
}

func (o *historyOptions) rows() []option.Row {
	o.number = 20
	return option.Group("Options", []option.Row{
		{Long: "number", Short: 'n', Arg: "N", Help: "number of newest runs to list; 0 lists all", To: option.Int(&o.number, 0)},
		{Long: "json", Help: "print one JSON object per run and line", To: option.Switch(&o.json)},
		{Long: "remove", Arg: "RUN", Help: "delete one run", To: option.Text(&o.remove)},
		{Long: "keep", Arg: "N", Help: "delete all except the newest N runs; 0 deletes none", To: option.Int(&o.keep, 0)},
		{Long: "where", Help: "print the folder of the history", To: option.Switch(&o.where)},
	})
}

func doHistory(p *command.IO, store *history.Store, o *historyOptions) error {
	switch {
	case o.where:
		_, err := fmt.Fprintln(p.Stdout, store.Dir)
		return err
	case o.remove != "":
		return store.Remove(o.remove)
	case o.keep > 0:
		return store.Prune(o.keep, 0)
	}
	list, err := store.List()
	if err != nil {
		return err
	}
	if o.number > 0 {
		list = list[max(0, len(list)-o.number):]
	}
	if o.json {
		return printJSONLines(p.Stdout, list)
	}
	if len(list) == 0 {
		_, err := fmt.Fprintln(p.Stdout, "no runs yet")
		return err
	}
	rows := [][]string{{"run", "when", "command", "model", "levels", "best", "p99 there", "verdict"}}
	for _, e := range list {
		verdict := string(e.Verdict)
		if e.MissedRules > 0 {
			verdict += ", " + unit.Count(e.MissedRules, "rule") + " missed"
		}
		rows = append(rows, []string{
			e.ID, e.Start.Local().Format(time.DateTime), e.Did(), cleantext.Line(e.Model), strconv.Itoa(e.Levels),
			figure(e.Best, 6, "/s"), figure(e.P99Ms, 4, " ms"), verdict,
		})
	}
	if width := p.LineWidth(); width > 0 {
		rows = columns.Fit(rows, []string{"when", "levels", "model", "command"}, width) // the name of a run has its time and model
	}
	t := tabwriter.NewWriter(p.Stdout, 0, 4, 2, ' ', 0)
	for _, row := range rows {
		fmt.Fprintln(t, strings.Join(row, "\t"))
	}
	return t.Flush()
}

// figure writes a number with its unit; a run without the number has 0 there.
func figure(v float64, digits int, suffix string) string {
	if v == 0 {
		return columns.Unknown
	}
	return unit.Digits(v, digits) + suffix
}

// printJSONLines prints each value as one line of JSON.
func printJSONLines[T any](w io.Writer, list []T) error {
	e := json.NewEncoder(w)
	for _, v := range list {
		if err := e.Encode(v); err != nil {
			return err
		}
	}
	return nil
}
