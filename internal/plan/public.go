package plan

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/redline-bench/redline/internal/secret"
)

// carrier is a value that can carry a secret: the option that gives it, and how it is written down.
type carrier struct {
	option string
	value  *string
	public string
}

// carriers returns a copy of the plan, and the values in it that can carry secrets.
func (p *Plan) carriers() (*Plan, []carrier) {
	c := *p
	t := &c.Target
	t.Headers, t.Parameters, t.EmbeddedArgs, c.Secrets = slices.Clone(t.Headers), slices.Clone(t.Parameters), slices.Clone(t.EmbeddedArgs), nil
	o := &c.Outcome
	o.ServerMetrics, o.OTLPHeaders = slices.Clone(o.ServerMetrics), slices.Clone(o.OTLPHeaders)
	list := []carrier{
		{"-u", &t.URL, secret.PublicURL(t.URL)},
		{"--nats", &c.Fleet.NATS.URL, secret.Public(secret.URL, c.Fleet.NATS.URL)},
		{"--metrics-url", &t.Metrics.URL, secret.PublicURL(t.Metrics.URL)},
	}
	if path, _, asks := strings.Cut(t.Endpoint, "?"); asks {
		list = append(list, carrier{"--endpoint", &t.Endpoint, path + "?" + secret.Mask})
	}
	for i := range t.Headers {
		if h := &t.Headers[i]; !secret.Harmless(h.Name) {
			list = append(list, carrier{"-H " + h.Name, &h.Value, secret.Mask})
		}
	}
	for i := range t.Parameters {
		if v := &t.Parameters[i]; secret.SensitivePair(v.Name, v.Value) {
			list = append(list, carrier{"--request-parameter " + v.Name, &v.Value, secret.Mask})
		}
	}
	for i := range t.EmbeddedArgs {
		a := &t.EmbeddedArgs[i]
		list = append(list, carrier{"--embedded-arg", a, secret.Public(secret.Option, *a)})
	}
	for i := range o.ServerMetrics {
		list = append(list, carrier{"--server-metrics", &o.ServerMetrics[i], secret.PublicURL(o.ServerMetrics[i])})
	}
	list = append(list, carrier{"--otlp", &o.OTLP, secret.PublicURL(o.OTLP)}, carrier{"--prometheus-remote-write", &o.RemoteWrite, secret.PublicURL(o.RemoteWrite)})
	for i := range o.OTLPHeaders {
		if h := &o.OTLPHeaders[i]; !secret.Harmless(h.Name) {
			list = append(list, carrier{"--otlp-header " + h.Name, &h.Value, secret.Mask})
		}
	}
	return &c, list
}

// Public is the plan as it is written down: without secrets. Secrets names the options that gave them.
func (p *Plan) Public() *Plan {
	if p == nil {
		return nil
	}
	c, list := p.carriers()
	for _, s := range list {
		*s.value = s.public
	}
	c.Secrets = masked(list)
	return c
}

// masked are the options whose values a plan lacks.
func masked(list []carrier) []string {
	var options []string
	for _, s := range list {
		if strings.Contains(*s.value, secret.Mask) && !slices.Contains(options, s.option) {
			options = append(options, s.option)
		}
	}
	return options
}

// Given are values that a written plan lacks, or that replace those it has. Empty ones are not given.
type Given struct {
	Headers                   []Header
	Parameters                []Parameter
	URL, Endpoint, MetricsURL string
	EmbeddedArgs              []string
}

// AddParameter adds the value of a parameter, as --request-parameter gives it.
func (g *Given) AddParameter(text string) error {
	parts := strings.Split(text, ":")
	if len(parts) != 3 {
		return errors.New("is NAME:VALUE:TYPE")
	}
	g.Parameters = append(g.Parameters, Parameter{Name: parts[0], Value: parts[1], Type: parts[2]})
	return nil
}

// Complete puts values into a written plan and checks it. Its error names the options that are still missing.
func (p *Plan) Complete(g Given) (*Plan, error) {
	c, _ := p.carriers()
	t := &c.Target
	for _, h := range g.Headers {
		i := slices.IndexFunc(t.Headers, func(old Header) bool { return strings.EqualFold(old.Name, h.Name) && old.Value == secret.Mask })
		if i < 0 {
			return nil, fmt.Errorf("-H %s: the result lacks no value of such a header", h.Name)
		}
		t.Headers[i].Value = h.Value
	}
	for _, v := range g.Parameters {
		i := slices.IndexFunc(t.Parameters, func(old Parameter) bool { return old.Name == v.Name && old.Value == secret.Mask })
		if i < 0 {
			return nil, fmt.Errorf("--request-parameter %s: the result lacks no value of such a parameter", v.Name)
		}
		t.Parameters[i].Value = v.Value
	}
	for _, v := range []struct {
		to    *string
		value string
	}{{&t.URL, g.URL}, {&t.Endpoint, g.Endpoint}, {&t.Metrics.URL, g.MetricsURL}} {
		if v.value != "" {
			*v.to = v.value
		}
	}
	if g.EmbeddedArgs != nil {
		t.EmbeddedArgs = g.EmbeddedArgs
	}
	if g.URL != "" {
		t.Embedded, t.EmbeddedArgs = false, nil
	}
	if _, list := c.carriers(); masked(list) != nil {
		return nil, fmt.Errorf("the result keeps no secrets: give %s again", strings.Join(masked(list), ", "))
	}
	if text, err := json.Marshal(c); err != nil || strings.Contains(string(text), secret.Mask) {
		return nil, errors.New("the result lacks a value that was removed as a secret: give the options of the run again")
	}
	return New(*c)
}
