// Package inspect identifies a server, lists its models, and describes one of them; and makes an input file and a command line to
// profile that model.
//
// It finds the kind of server and the protocol by trying: a server of another kind refuses the request. All requests go through
// service.Lister and service.Service, so this package does not depend on a protocol.
package inspect

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/redline-bench/redline/internal/cleantext"
	"github.com/redline-bench/redline/internal/kind"
	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/record"
	"github.com/redline-bench/redline/internal/secret"
	"github.com/redline-bench/redline/internal/service"
	"github.com/redline-bench/redline/internal/workload"
)

// Question is what to ask a server.
type Question struct {
	// Target is the server, and the model to describe, if any. An empty Kind or Protocol is detected.
	Target plan.Target
	// Open makes the service of a target.
	Open func(plan.Target) (service.Service, error)
	// Timeout bounds each step.
	Timeout time.Duration
	// InputFile is the input file that the command line names; empty: none.
	InputFile string
	// Brief asks only for the server and its models.
	Brief bool
	// KeyVariable is the environment variable with the API key; empty: none.
	KeyVariable string
}

// Report is what was found out about a server.
type Report struct {
	URL       string                `json:"url"`
	Kind      plan.Kind             `json:"service_kind"`
	Protocol  plan.Protocol         `json:"protocol"`
	Server    service.Server        `json:"server"`
	Models    []service.ListedModel `json:"models"`
	ModelsErr string                `json:"models_error,omitempty"` // why there is no list
	Model     *service.Model        `json:"model,omitempty"`
	Endpoints []Endpoint            `json:"endpoints,omitempty"`
	Command   string                `json:"command,omitempty"`
	Notes     []string              `json:"notes,omitempty"` // on the command
	// Input is the content of an input file for the model; nil if none can be made.
	Input []byte `json:"-"`
	// Took is the time of the fastest of a few small requests.
	Took time.Duration `json:"-"`

	batch int // the largest batch of Model, 0 if it does not batch
}

// Look asks the server.
func (q *Question) Look(ctx context.Context) (*Report, error) {
	t, svc, id, err := q.find(ctx)
	if err != nil {
		return nil, err
	}
	defer svc.Close()
	r := &Report{URL: secret.PublicURL(t.URL), Kind: t.Kind, Protocol: t.Protocol, Server: id, Models: []service.ListedModel{}}
	r.list(ctx, svc, q.Timeout)
	switch {
	case q.Brief:
	case kind.Of(t.Kind).Endpoints:
		err = r.describeAPI(ctx, q, t, svc)
	case t.Model != "":
		err = r.describe(ctx, q, t, svc)
	}
	return r, err
}

// list requests the list of models, and measures the response time with three more requests.
func (r *Report) list(ctx context.Context, svc service.Service, timeout time.Duration) {
	l, ok := svc.(service.Lister)
	if !ok {
		r.ModelsErr = fmt.Sprintf("servers of kind %s do not list their models", r.Kind)
		return
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	models, err := l.Models(ctx)
	again := func() error { _, err := l.Models(ctx); return err }
	switch {
	case err != nil:
		r.ModelsErr = cleantext.Line(err.Error())
		again = func() error { _, err := l.Identify(ctx); return err }
	case models != nil:
		r.Models = models
	}
	for range 3 {
		begun := time.Now()
		if again() != nil {
			return
		}
		if took := time.Since(begun); r.Took == 0 || took < r.Took {
			r.Took = took
		}
	}
}

// describe requests the description of one model, and makes the input file and the command line for it.
func (r *Report) describe(ctx context.Context, q *Question, t plan.Target, svc service.Service) error {
	ctx, cancel := context.WithTimeout(ctx, q.Timeout)
	defer cancel()
	m, err := svc.Describe(ctx)
	if err != nil {
		return fmt.Errorf("no description of model %q: %s%s", t.Model, cleantext.Line(err.Error()), hint(r.Models, t.Model, t.Version))
	}
	r.Model = m
	full, err := workload.Complete(plan.Input{}, m)
	if err != nil { // the inputs are not stated
		if q.InputFile != "" {
			return fmt.Errorf("no input file can be made for model %q: the server does not state its inputs", m.Name)
		}
		r.command(q, t, m)
		return nil
	}
	r.batch = full.MaxBatch
	r.Input, err = sample(full)
	if err != nil && q.InputFile != "" {
		return err
	}
	r.command(q, t, full)
	return nil
}

// find finds out what kind of server answers at the address, and over which protocol.
func (q *Question) find(ctx context.Context) (plan.Target, service.Service, service.Server, error) {
	var faults []*service.Error
	silent := map[string]bool{} // addresses where nothing answers
	for _, t := range q.candidates() {
		if silent[t.URL] {
			continue
		}
		svc, err := q.Open(t)
		if err != nil {
			return t, nil, service.Server{}, err
		}
		id, err := q.identify(ctx, svc)
		if err == nil {
			return t, svc, id, nil
		}
		_ = svc.Close() // it was of no use
		if ctx.Err() != nil {
			return t, nil, id, ctx.Err()
		}
		e, ok := errors.AsType[*service.Error](err)
		if !ok {
			return t, nil, id, err
		}
		silent[t.URL] = e.Class == record.Connect || e.Class == record.Timeout
		faults = append(faults, e)
	}
	return q.Target, nil, service.Server{}, q.unknown(ctx, faults)
}

// identify asks a server what it is. One that cannot say that is requested the model.
func (q *Question) identify(ctx context.Context, svc service.Service) (service.Server, error) {
	ctx, cancel := context.WithTimeout(ctx, q.Timeout)
	defer cancel()
	if l, ok := svc.(service.Lister); ok {
		return l.Identify(ctx)
	}
	_, err := svc.Describe(ctx)
	return service.Server{}, err
}

// candidates are the targets to try, in this order.
func (q *Question) candidates() []plan.Target {
	var out []plan.Target
	for _, c := range kind.Candidates() {
		t := q.Target
		scheme, _, has := strings.Cut(t.URL, "://")
		grpc := scheme == "grpc" || scheme == "grpcs"
		switch {
		case t.Kind != "" && t.Kind != c.Name, t.Protocol != "" && t.Protocol != c.Protocol:
			continue
		case has && grpc && c.Protocol != plan.GRPC:
			continue
		case has && !grpc && c.Protocol == plan.GRPC && t.Protocol == "": // a URL of HTTP, unless -i says grpc
			continue
		case !c.ModelList && t.Model == "": // the server can be asked for a model only
			continue
		}
		t.Kind, t.Protocol = c.Name, c.Protocol
		if c.Address(&t, t.URL) != nil {
			continue // the address is none of this protocol
		}
		t.URL = withPort(t.URL, c.Protocol)
		if c.Signature {
			t.SignatureName = "serving_default"
		}
		out = append(out, t)
	}
	return out
}

// withPort adds the usual port of Triton to an address without one. A URL has a port by its scheme.
func withPort(url string, p plan.Protocol) string {
	host, path, _ := strings.Cut(url, "/")
	if strings.Contains(url, "://") || path != "" {
		return url
	}
	if _, _, err := net.SplitHostPort(host); err == nil {
		return url
	}
	_, port, _ := net.SplitHostPort(p.Address())
	return net.JoinHostPort(strings.Trim(host, "[]"), port)
}

// unknown says why no kind of server was found.
func (q *Question) unknown(ctx context.Context, faults []*service.Error) error {
	url := secret.PublicURL(q.Target.URL)
	if len(faults) == 0 {
		return fmt.Errorf("-u %s, -i and --service-kind do not fit together: leave -i and --service-kind out", url)
	}
	for _, e := range faults {
		if e.Code == http.StatusUnauthorized || e.Code == http.StatusForbidden {
			return fmt.Errorf("%s asks for a key: give it with --api-key-env VARIABLE, or as a header with -H", url)
		}
	}
	if i := slices.IndexFunc(faults, func(e *service.Error) bool { return e.Class != record.Connect && e.Class != record.Timeout }); i >= 0 {
		if what := Stranger(ctx, q.Target, false); what != "" {
			return errors.New(what)
		}
		why := cleantext.Line(faults[i].Error())
		return fmt.Errorf("%s answers, but not as KServe v2 over HTTP or gRPC, nor with a list of models at /v1/models (%s): "+
			"check the port; -i and --service-kind say what to expect", url, why)
	}
	return errors.New(cleantext.Line(faults[0].Error()))
}

// NotReady counts the models that are not ready. broken counts those that failed: models that were unloaded are not ready on
// purpose.
func (r *Report) NotReady() (all, broken int) {
	for _, m := range r.Models {
		if m.State != service.Ready {
			all++
			if m.State != "" && m.Reason != "unloaded" {
				broken++
			}
		}
	}
	return all, broken
}
