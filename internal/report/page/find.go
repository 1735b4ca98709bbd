package page

import (
	"slices"

	"github.com/redline-bench/redline/internal/cleantext"
	"github.com/redline-bench/redline/internal/result"
)

// cleanFind is a search whose texts can be shown: they may contain text of the server.
func cleanFind(f *result.Find) *result.Find {
	if f == nil {
		return nil
	}
	c := *f
	c.Reason = cleantext.Line(f.Reason)
	c.Probes = slices.Clone(f.Probes)
	for i := range c.Probes {
		c.Probes[i].Why = cleantext.Cut(c.Probes[i].Why, 500)
	}
	return &c
}

// cleanTune is a search for a configuration whose texts can be shown.
func cleanTune(t *result.Tune) *result.Tune {
	if t == nil {
		return nil
	}
	c := *t
	c.Reason = cleantext.Line(t.Reason)
	c.Candidates = slices.Clone(t.Candidates)
	for i := range c.Candidates {
		c.Candidates[i].Failed = cleantext.Cut(cleantext.Line(c.Candidates[i].Failed), 500)
	}
	return &c
}
