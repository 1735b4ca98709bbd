package inspect

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/redline-bench/redline/internal/cleantext"
	"github.com/redline-bench/redline/internal/kind"
	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/service"
)

// What names the server in a few words.
func (r *Report) What() string {
	api := kind.Of(r.Kind).API + " over " + map[plan.Protocol]string{plan.HTTP: "HTTP", plan.GRPC: "gRPC"}[r.Protocol]
	if name := cleantext.Cut(strings.TrimSpace(r.Server.Name+" "+r.Server.Version), 80); name != "" {
		return name + ", " + api
	}
	return api
}

// Text writes the report as text.
func (r *Report) Text(w io.Writer) {
	t := table{tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)}
	t.row("Server", r.What())
	t.row("Address", r.URL)
	if r.Model == nil {
		r.models(t)
	} else {
		r.model(t)
	}
	if len(r.Endpoints) > 0 {
		t.head("Endpoints")
		for _, e := range r.Endpoints {
			t.row("  "+e.Type, e.Path, map[bool]string{true: "answers", false: "not there"}[e.Answers])
		}
	}
	t.end()
	if r.Command != "" {
		fmt.Fprintf(w, "\nMeasure it\n  %s\n", r.Command)
		for _, n := range r.Notes {
			fmt.Fprintf(w, "  (%s)\n", n)
		}
	}
}

// models lists the models with their states.
func (r *Report) models(t table) {
	if r.ModelsErr != "" {
		t.row("Models", "no list: "+r.ModelsErr)
		return
	}
	count := "none"
	missing, _ := r.NotReady()
	switch n := len(r.Models); {
	case n > 0 && missing == 0:
		count = fmt.Sprintf("%d, all ready", n)
	case n > 0:
		count = fmt.Sprintf("%d, %d ready", n, n-missing)
	}
	t.row("Models", count)
	if len(r.Models) == 0 {
		return
	}
	t.head("")
	t.row("  NAME", "VERSION", "STATE")
	for _, m := range r.Models {
		t.row("  "+cleantext.Cut(m.Name, 80), cmp.Or(cleantext.Cut(m.Version, 20), "-"), state(m))
	}
	t.end()
}

func state(m service.ListedModel) string {
	text := strings.ToLower(cleantext.Cut(m.State, 40))
	return cmp.Or(text, "not loaded") + because(m)
}

// model describes the requested model.
func (r *Report) model(t table) {
	m := r.Model
	t.row("Model", cleantext.Cut(strings.TrimSpace(m.Name+" "+m.Version), 120))
	if m.Platform != "" {
		t.row("Platform", cleantext.Cut(m.Platform, 80))
	}
	t.row("Batching", r.batching())
	if !m.Unconfigured {
		t.row("Sequences", map[bool]string{true: "yes: requests belong to sequences", false: "no"}[m.Sequential()])
		t.row("Decoupled", map[bool]string{true: "yes: a request can have any number of responses", false: "no"}[m.Decoupled])
	}
	if m.Cache {
		t.row("Cache", "a response cache answers repeated requests")
	}
	t.specs("Inputs", m.Inputs, m.Unconfigured)
	t.specs("Outputs", m.Outputs, m.Unconfigured)
	if len(m.Composing) > 0 {
		t.head("Steps")
		t.steps(m.Composing, "  ")
	}
}

func (r *Report) batching() string {
	m := r.Model
	switch {
	case m.Unconfigured && r.batch > 0:
		return "the first dimension of each input is variable: -b sets it; the server states no limit"
	case m.Unconfigured:
		return "not stated by the server"
	}
	how := map[service.Scheduler]string{service.DynamicBatcher: "; the server gathers requests (dynamic batching)"}[m.Scheduler]
	if m.MaxBatch == 0 {
		return "no" + how
	}
	return fmt.Sprintf("up to %d in a request%s", m.MaxBatch, how)
}

// table writes aligned rows.
type table struct{ *tabwriter.Writer }

func (t table) row(cells ...string) { fmt.Fprintln(t, strings.Join(cells, "\t")) }

// head begins a part whose columns are aligned by themselves, with a title if there is one.
func (t table) head(title string) {
	t.end()
	t.row()
	if title != "" {
		t.row(title)
	}
}

func (t table) end() { _ = t.Flush() } // the underlying writer keeps its errors

// specs lists tensors; a server without model configurations may not state them.
func (t table) specs(title string, list []service.TensorSpec, unconfigured bool) {
	t.head(title)
	for _, s := range list {
		var marks []string
		if s.Optional {
			marks = append(marks, "optional")
		}
		if s.ShapeTensor {
			marks = append(marks, "shape tensor")
		}
		cells := []string{"  " + cleantext.Cut(s.Name, 80), s.Type.String(), s.Shape.String()}
		if len(marks) > 0 {
			cells = append(cells, strings.Join(marks, ", "))
		}
		t.row(cells...)
	}
	if len(list) == 0 {
		t.row(map[bool]string{true: "  not stated by the server", false: "  none"}[unconfigured])
	}
}

// steps lists the models of an ensemble, those of a nested ensemble below it.
func (t table) steps(list []service.Composing, indent string) {
	for _, c := range list {
		t.row(indent + cleantext.Cut(strings.TrimSpace(c.Name+" "+c.Version), 80))
		t.steps(c.Parts, indent+"  ")
	}
}
