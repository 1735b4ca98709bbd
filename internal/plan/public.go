package plan

import (
	"net/url"
	"slices"
	"strings"
)

// hidden stands for what must not be written down.
const hidden = "***"

// harmless are headers whose values tell nothing secret. All others may carry a key.
var harmless = []string{"accept", "accept-encoding", "content-type", "connection", "user-agent", "host", "x-request-id", "traceparent"}

// Public is a copy of the plan without secrets, for files and pages: header values, and the credentials and query of
// addresses.
func (p *Plan) Public() *Plan {
	if p == nil {
		return nil
	}
	c := *p
	c.Target.Headers = slices.Clone(p.Target.Headers)
	for i, h := range c.Target.Headers {
		if !slices.Contains(harmless, strings.ToLower(h.Name)) {
			c.Target.Headers[i].Value = hidden
		}
	}
	c.Target.URL = PublicURL(p.Target.URL)
	c.Target.Metrics.URL = PublicURL(p.Target.Metrics.URL)
	if path, _, asks := strings.Cut(p.Target.Endpoint, "?"); asks {
		c.Target.Endpoint = path + "?" + hidden
	}
	return &c
}

// PublicURL hides what of an address may be a secret. An address without a scheme has credentials too, if any, before
// its @.
func PublicURL(address string) string {
	scheme, rest, ok := strings.Cut(address, "://")
	if !ok {
		scheme, rest = "", address
	}
	if u, err := url.Parse("//" + rest); err == nil {
		if u.User != nil {
			u.User = url.User(hidden)
		}
		query := u.RawQuery != ""
		u.RawQuery, u.Fragment = "", ""
		rest = strings.ReplaceAll(strings.TrimPrefix(u.String(), "//"), url.QueryEscape(hidden), hidden)
		if query {
			rest += "?" + hidden
		}
	}
	if ok {
		return scheme + "://" + rest
	}
	return rest
}
