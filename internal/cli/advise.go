package cli

import (
	"errors"
	"fmt"

	"github.com/redline-bench/redline/internal/command/target"
	"github.com/redline-bench/redline/internal/service"
	"github.com/redline-bench/redline/internal/workload"
)

// advise says in one line what went wrong, where, and what to do.
func (s *session) advise(err error) string {
	var se *service.Error
	var data *workload.DataError
	var start *startError
	switch {
	case errors.As(err, &data):
		return adviseData(data)
	case errors.As(err, &se):
		return target.Advise(&s.plan.Target, "-i", se)
	case errors.As(err, &start):
		return start.err.Error() // the step's name is perf_analyzer's
	default:
		return err.Error()
	}
}

func adviseData(e *workload.DataError) string {
	where := ""
	if e.Path != "" {
		where = e.Path + ": "
	}
	if e.Code != 0 {
		return fmt.Sprintf("%snot valid JSON at byte %d: check the file with a JSON validator", where, e.Offset)
	}
	return "input data: " + where + e.Text
}
