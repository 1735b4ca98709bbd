package inspect

import (
	"fmt"
	"net"
	"strings"

	"github.com/redline-bench/redline/internal/kind"
	"github.com/redline-bench/redline/internal/option"
	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/secret"
	"github.com/redline-bench/redline/internal/service"
	"github.com/redline-bench/redline/internal/tensor"
)

// words is a command line under construction.
type words []string

func (w *words) add(list ...string) {
	for _, s := range list {
		*w = append(*w, option.ShellWord(s))
	}
}

// command makes the command line for a model.
func (r *Report) command(q *Question, t plan.Target, m *service.Model) {
	w := words{"redline", "profile"}
	w.add("-m", t.Model)
	if t.Version != "" {
		w.add("-x", t.Version)
	}
	if t.Kind != kind.Default {
		w.add("--service-kind", string(t.Kind))
	}
	if m.Decoupled && t.Protocol == plan.HTTP {
		t.Protocol = plan.GRPC
		if !t.Embedded {
			t.URL = withPort(host(t.URL), plan.GRPC)
			r.Notes = append(r.Notes, "a decoupled model needs gRPC: correct the port if "+t.URL+" is not the server's gRPC port")
		}
	}
	w.server(t)
	if t.Protocol == plan.GRPC {
		w.add("-i", "grpc")
	}
	if m.Decoupled {
		w.add("--async", "--streaming")
	}
	inputs := m.Inputs // generated data has the optional ones too
	if q.InputFile != "" {
		inputs = needed(m)
		w.add("--input-data", q.InputFile)
	}
	if len(inputs) == 0 && m.Unconfigured {
		w = append(w, "--shape", "NAME:DATATYPE:DIMENSIONS")
		r.Notes = append(r.Notes, "the server does not state the inputs of the model: give each with --shape, such as INPUT0:FP32:-1,224; -1 is the batch dimension, which -b sets")
	}
	var sized []string
	for _, spec := range inputs {
		if !spec.Shape.Dynamic() {
			continue
		}
		if q.InputFile == "" {
			w.add("--shape", spec.Name+":"+strings.Trim(fixed(spec).String(), "[]"))
		}
		if spec.Type != tensor.Bytes {
			sized = append(sized, spec.Name)
		}
	}
	if len(sized) > 0 {
		r.Notes = append(r.Notes, fmt.Sprintf("variable dimensions of %s are set to %d: choose the sizes of your requests", strings.Join(sized, ", "), variable))
	}
	w.headers(t)
	if t.TLS.CAFile != "" {
		w.add(map[bool]string{true: "--ssl-grpc-root-certifications-file", false: "--ssl-https-ca-certificates-file"}[t.Protocol == plan.GRPC], t.TLS.CAFile)
	}
	if t.TLS.SkipVerifyPeer {
		w.add("--ssl-https-verify-peer", "0", "--ssl-https-verify-host", "0")
	}
	if t.TLS.GRPC {
		w.add("--ssl-grpc-use-ssl")
	}
	w.add("--concurrency-range", "1:8")
	r.Command = strings.Join(w, " ")
}

// server names the server.
func (w *words) server(t plan.Target) {
	if t.Embedded {
		w.add("--embedded")
		return
	}
	w.add("-u", secret.PublicURL(t.URL))
}

// headers repeats the headers without their secrets.
func (w *words) headers(t plan.Target) {
	for _, h := range t.Headers {
		w.add("-H", secret.Public(secret.Header, h.Name+": "+h.Value))
	}
}

// host is the host of an address.
func host(url string) string {
	_, rest, found := strings.Cut(url, "://")
	if !found {
		rest = url
	}
	rest, _, _ = strings.Cut(rest, "/")
	if h, _, err := net.SplitHostPort(rest); err == nil {
		return h
	}
	return rest
}
