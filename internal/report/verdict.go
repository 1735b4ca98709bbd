package report

import (
	"io"

	"github.com/redline-bench/redline/internal/cleantext"
	"github.com/redline-bench/redline/internal/result"
)

// Verdict writes whether the numbers of a run can be trusted, and if not, why and what to try.
func Verdict(w io.Writer, r *result.Result, s Style) {
	p := page{Style: s}
	v := &r.Verdict
	color, meaning := verdictWords(v.State)
	p.linef("%s %s, %s", p.paint(bold, "Verdict:"), p.paint(color, string(v.State)), meaning)
	for _, r := range v.Reasons {
		p.linef("  %s", cleantext.Cut(r.What, 1000))
		if r.Try != "" {
			p.linef("    try: %s", cleantext.Line(r.Try))
		}
	}
	p.to(w)
}

// Meaning explains a state in a sentence.
func Meaning(state result.State) string {
	_, meaning := verdictWords(state)
	return meaning
}

func verdictWords(state result.State) (color, meaning string) {
	switch state {
	case result.Valid:
		return green, "the client kept up and every level is stable"
	case result.ClientLimited:
		return yellow, "the client, not the server, limited some of these numbers"
	case result.Unstable:
		return yellow, "some levels did not become stable"
	case result.TooShort:
		return yellow, "too few requests ended before the measurement did"
	case result.Failed:
		return red, "the run did not complete"
	case result.ServerFailed:
		return red, "too many requests failed"
	case result.Interrupted:
		return yellow, "the results are those up to the interrupt"
	}
	return red, "unknown state"
}
