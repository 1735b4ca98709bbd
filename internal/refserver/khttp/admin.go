package khttp

import (
	"net/http"
	"strings"

	"github.com/redline-bench/redline/internal/refserver/core"
	"github.com/redline-bench/redline/internal/refserver/infer"
	"github.com/redline-bench/redline/internal/refserver/rjson"
)

// repository takes /v2/repository[/REPO]/index and /v2/repository[/REPO]/models/NAME/(load|unload).
func (h *Handler) repository(x *exchange, rest []string) {
	x.kind = jsonText
	named := false
	if len(rest) > 0 && rest[0] != "index" && rest[0] != "models" {
		named, rest = true, rest[1:]
	}
	switch {
	case len(rest) == 1 && rest[0] == "index":
		h.repositoryIndex(x)
	case len(rest) == 3 && rest[0] == "models" && rest[1] != "" && (rest[2] == "load" || rest[2] == "unload"):
		if !x.allow(http.MethodPost) {
			return
		}
		if named {
			x.fail(infer.Errorf(infer.Unsupported, "'repository_name' specification is not supported"))
			return
		}
		h.control(x, rest[1], rest[2] == "load")
	default:
		x.notFound()
	}
}

// document reads a JSON body; nil when there is none.
func (x *exchange) document() (*rjson.Value, error) {
	body, err := x.body()
	if err != nil || len(body) == 0 {
		return nil, err
	}
	return parseJSON(body, x.most)
}

func (h *Handler) repositoryIndex(x *exchange) {
	if !x.allow(http.MethodPost) {
		return
	}
	doc, err := x.document()
	if err != nil {
		x.fail(err)
		return
	}
	ready := false
	if v := doc.Find("ready"); v != nil {
		if v.Kind != rjson.Bool {
			x.fail(bad("Invalid value for 'ready': expected a boolean"))
			return
		}
		ready = v.True
	}
	b := []byte{'['}
	for i, e := range h.core.Models.Index(ready) {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, `{"name":`...)
		b = rjson.AppendString(b, e.Name)
		for _, f := range []struct{ name, value string }{{"version", e.Version}, {"state", e.State}, {"reason", e.Reason}} {
			if f.value != "" {
				b = append(append(append(b, `,"`...), f.name...), `":`...)
				b = rjson.AppendString(b, f.value)
			}
		}
		b = append(b, '}')
	}
	x.done(append(b, ']'))
}

func (h *Handler) control(x *exchange, name string, load bool) {
	doc, err := x.document()
	if err != nil {
		x.fail(err)
		return
	}
	par := doc.Find("parameters")
	if load {
		config := ""
		if v := par.Find("config"); v != nil {
			if v.Kind != rjson.String {
				x.fail(infer.Errorf(infer.Internal, notString))
				return
			}
			config = v.Text
		}
		err = h.core.Models.Load(name, config, files(par))
	} else {
		dependents := false
		if err = boolean("unload_dependents", par.Find("unload_dependents"), &dependents); err == nil {
			err = h.core.Models.Unload(name, dependents)
		}
	}
	if err != nil {
		x.fail(err)
		return
	}
	x.done(nil)
}

// files lists the files that come along with a load request.
func files(par *rjson.Value) []string {
	if par == nil {
		return nil
	}
	var out []string
	for i := range par.Members {
		if file, ok := strings.CutPrefix(par.Members[i].Name, "file:"); ok {
			out = append(out, file)
		}
	}
	return out
}

// settings changes settings if the request is a POST, and reports whether to show them.
func (x *exchange) settings(change func(doc *rjson.Value) error) bool {
	switch x.req.Method {
	case http.MethodGet:
		return true
	case http.MethodPost:
		doc, err := x.document()
		if err == nil {
			err = change(doc)
		}
		if err != nil {
			x.fail(err)
		}
		return err == nil
	default:
		return x.allow(http.MethodGet)
	}
}

func (h *Handler) trace(x *exchange, name string) {
	x.kind = jsonText
	if name != "" {
		if _, err := h.core.Models.Get(name, ""); err != nil {
			x.fail(bad("Request for unknown model : %s", name))
			return
		}
	}
	ok := x.settings(func(doc *rjson.Value) error {
		changes, err := traceChanges(doc)
		if err != nil {
			return err
		}
		return h.core.Trace.Update(name, changes)
	})
	if !ok {
		return
	}
	b := []byte{'{'}
	for i, s := range h.core.Trace.Get(name) {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(rjson.AppendString(b, s.Name), ':')
		if s.Name == "trace_level" {
			b = appendStrings(b, s.Values)
		} else {
			b = rjson.AppendString(b, s.Values[0])
		}
	}
	x.done(append(b, '}'))
}

func traceChanges(doc *rjson.Value) ([]core.Setting, error) {
	var out []core.Setting
	if doc == nil {
		return nil, nil
	}
	for i := range doc.Members {
		m := &doc.Members[i]
		s := core.Setting{Name: m.Name}
		switch m.Value.Kind {
		case rjson.Null:
		case rjson.String, rjson.Number:
			s.Values = []string{m.Value.Text}
		case rjson.Array:
			for k := range m.Value.Items {
				s.Values = append(s.Values, m.Value.Items[k].Text)
			}
		case rjson.Bool, rjson.Object:
			return nil, wrong(m.Name, notString)
		}
		out = append(out, s)
	}
	return out, nil
}

func (h *Handler) logging(x *exchange) {
	x.kind = jsonText
	ok := x.settings(func(doc *rjson.Value) error {
		return h.core.Logs.Update(logChanges(doc), core.LogErrors{Kind: wrongLog, Format: func(got string) error {
			return infer.Errorf(infer.Unavailable, "invalid argument for --log_format, got: %s", got)
		}})
	})
	if !ok {
		return
	}
	b := []byte{'{'}
	for i, s := range h.core.Logs.Get() {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(rjson.AppendString(b, s.Name), ':')
		b = appendValue(b, s.Value)
	}
	x.done(append(b, '}'))
}

// wrongLog is the error for a log setting of the wrong kind.
func wrongLog(_ string, is any) error {
	text := notString
	switch is.(type) {
	case bool:
		text = notBool
	case uint64:
		text = notUnsigned
	}
	return infer.Errorf(infer.Internal, "%s", text)
}

func logChanges(doc *rjson.Value) []core.LogSetting {
	var out []core.LogSetting
	if doc == nil {
		return nil
	}
	for i := range doc.Members {
		s := core.LogSetting{Name: doc.Members[i].Name}
		switch v := &doc.Members[i].Value; v.Kind {
		case rjson.Bool:
			s.Value = v.True
		case rjson.String:
			s.Value = v.Text
		case rjson.Number:
			s.Value, _ = v.Uint()
		case rjson.Null, rjson.Array, rjson.Object:
		}
		out = append(out, s)
	}
	return out
}
