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
