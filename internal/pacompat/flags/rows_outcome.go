package flags

import "github.com/redline-bench/redline/internal/plan"

// outcomeRows are the options that every measuring command of redline shares.
func outcomeRows() []Row {
	var rows []Row
	for _, o := range plan.OutcomeOptions() {
		row := Row{
			Long: o.Long, Arg: o.Arg, Section: Outcomes, Face: RedlineOnly, Help: o.Help, Default: o.Default, Repeat: o.Repeat,
			Hint: Hint{Files: o.File, Values: o.Values},
			set: func(r *raw, v string) error {
				if err := o.Set(&r.plan.Outcome, v); err != nil {
					return line("--%s %v", o.Long, err)
				}
				return nil
			},
		}
		rows = append(rows, row)
	}
	return rows
}
