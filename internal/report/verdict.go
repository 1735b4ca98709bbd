package report

import (
	"io"
	"slices"

	"github.com/redline-bench/redline/internal/result"
)

// Verdict writes whether the numbers of a run can be trusted, and if not, why and what to try.
func Verdict(w io.Writer, r *result.Result, s Style) {
	p := page{Style: s}
	v := &r.Verdict
	color, meaning := verdictWords(r)
	p.linef("%s %s, %s", p.paint(bold, "Verdict:"), p.paint(color, string(v.State)), meaning)
	for _, why := range Reasons(r) {
		for _, what := range why.What {
			p.linef("  %s", what)
		}
		if why.Try != "" {
			p.linef("    try: %s", why.Try)
		}
	}
	for _, note := range Notes(r) {
		p.linef("  %s", note)
	}
	p.to(w)
}

// Untested tells whether a run is valid as far as it was tested: no rule was applied to tell whether its levels are stable.
func Untested(r *result.Result) bool {
	return r.Verdict.State == result.Valid && slices.ContainsFunc(r.Levels, func(lv result.Level) bool { return lv.Untested && !lv.Idle })
}

// Meaning explains the verdict of a result in a sentence.
func Meaning(r *result.Result) string {
	_, meaning := verdictWords(r)
	return meaning
}

func verdictWords(r *result.Result) (color, meaning string) {
	switch r.Verdict.State {
	case result.Valid:
		if len(r.Levels) > 0 && !slices.ContainsFunc(r.Levels, func(lv result.Level) bool { return !lv.Idle }) {
			return green, "this part of the load had nothing to send"
		}
		if len(r.Levels) == 0 { // a search without an answer
			return green, "the client kept up"
		}
		if Untested(r) { // green is for what was tested
			return bold, "the client kept up; stability was not tested"
		}
		return green, "the client kept up and every level is stable"
	case result.ClientLimited:
		return yellow, "the client, not the server, limited some of these numbers"
	case result.Unstable:
		return yellow, "some levels did not become stable"
	case result.TooShort:
		return yellow, "the run is too short to judge"
	case result.Failed:
		answered := func(lv result.Level) bool { return lv.Client.Requests > 0 }
		switch {
		case r.Error != "":
			return red, "the run did not complete"
		case len(r.Levels) > 0 && !slices.ContainsFunc(r.Levels, answered):
			return red, "nothing was measured"
		}
		return red, "responses were wrong"
	case result.ServerFailed:
		return red, "too many requests failed"
	case result.Interrupted:
		return yellow, "the results are those up to the interrupt"
	}
	return red, "unknown state"
}
