package traffic

import (
	"fmt"

	"github.com/redline-bench/redline/internal/plan"
)

// WriteIdle says that this process has nothing to send at a level, and how it would have, where an option keeps it from that.
func (s *Traffic) WriteIdle() {
	p, hint := s.Plan, ""
	if p.Load.Mode == plan.RequestRate && !s.Async && p.Segment.Index >= p.Load.MaxThreads {
		hint = fmt.Sprintf("; use --async, or raise --max-threads above %d", p.Load.MaxThreads)
	}
	fmt.Fprintf(s.Stdout, "  Idle: other parts send all requests of this level, part %v has none%s\n", p.Segment, hint)
}
