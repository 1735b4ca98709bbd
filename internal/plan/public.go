package plan

import (
	"slices"
	"strings"

	"github.com/redline-bench/redline/internal/secret"
)

// Public is a copy of the plan without secrets, for files and pages: header values, and the credentials and query of
// addresses.
func (p *Plan) Public() *Plan {
	if p == nil {
		return nil
	}
	c := *p
	c.Target.Headers = slices.Clone(p.Target.Headers)
	for i, h := range c.Target.Headers {
		if !secret.Harmless(h.Name) {
			c.Target.Headers[i].Value = secret.Mask
		}
	}
	c.Target.URL = secret.PublicURL(p.Target.URL)
	c.Target.Metrics.URL = secret.PublicURL(p.Target.Metrics.URL)
	if path, _, asks := strings.Cut(p.Target.Endpoint, "?"); asks {
		c.Target.Endpoint = path + "?" + secret.Mask
	}
	return &c
}
