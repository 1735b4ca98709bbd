package flags

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/redline-bench/redline/internal/kind"
	"github.com/redline-bench/redline/internal/option"
	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/secret"
)

func (r *raw) targetRows() []option.Row {
	t := &r.plan.Target
	return option.Group("Target", []option.Row{
		{
			Short: 'm', Word: "model", Arg: "NAME",
			Help: "name of the model. Required",
			To:   option.Text(&t.Model),
		}, {
			Short: 'x', Word: "model-version", Arg: "VERSION", Default: "the server's choice",
			Help: "version of the model. Give it to measure a version that is not the newest",
			To:   option.Text(&t.Version),
		}, {
			Short: 'u', Word: "url", Arg: "URL", Default: "localhost:8000, or localhost:8001 with -i grpc", Secret: secret.URL,
			Help: "address of the server: HOST:PORT, or a URL. The prefix https:// enables TLS",
			To:   option.Text(&t.URL),
		}, {
			Short: 'i', Word: "protocol", Arg: "PROTOCOL",
			Help: "protocol: http or grpc. gRPC needs less CPU per request on both sides; HTTP works with more proxies",
			To:   option.Text(&r.protocol).Of("http", "grpc"),
		}, {
			Long: "embedded", RedlineOnly: true,
			Help: "start the reference server for this run on free local ports, load it, and stop it at the end: for trials, and to " +
				"measure the cost of this client",
			To: option.Switch(&t.Embedded),
		}, {
			Long: "embedded-arg", Arg: "ARG", RedlineOnly: true, Repeat: true, Secret: secret.Option,
			Help: "additional argument for the embedded server; see 'redline help serve'",
			To:   option.Append(&t.EmbeddedArgs),
		}, {
			Long: "service-kind", Arg: "KIND",
			Help: "kind of server. triton is any KServe v2 server, openai any HTTP server with JSON requests",
			To:   option.Word((*string)(&t.Kind), kind.Names(false)...),
		}, {
			Long: "bls-composing-models", Arg: "NAME[:VERSION],...", Repeat: true,
			Help: "models that a BLS model calls. The server does not report them; name them to see their share of the time",
			To:   option.Func(r.addComposingModels),
		},
	})
}

// addComposingModels reads name[:version],... with any space in it.
func (r *raw) addComposingModels(v string) error {
	for item := range strings.SplitSeq(strings.Join(strings.Fields(v), ""), ",") {
		name, version, _ := strings.Cut(item, ":")
		if name != "" || r.compat { // perf_analyzer asks the server for a model without a name
			r.plan.Target.ComposingModels = append(r.plan.Target.ComposingModels, plan.ModelRef{Name: name, Version: version})
		}
	}
	return nil
}

func (r *raw) kindRows() []option.Row {
	t := &r.plan.Target
	return option.Group("Other service kinds", []option.Row{
		{
			Long: "endpoint", Arg: "PATH", Secret: secret.URL,
			Help: "openai: path of requests, such as v1/chat/completions",
			To:   option.Text(&t.Endpoint),
		}, {
			Long: "grpc-method", Arg: "PKG.SERVICE/METHOD",
			Help: "dynamic_grpc: method to call. Each request opens a stream, sends the messages of a step of the input data and " +
				"reads to the end",
			To: option.Func(func(v string) error {
				if strings.Count(v, "/") != 1 {
					return fmt.Errorf("is PACKAGE.SERVICE/METHOD, not %q", v)
				}
				t.GRPCMethod = v
				return nil
			}),
		}, {
			Long: "http-version", Arg: "VERSION", RedlineOnly: true,
			Help: "openai: HTTP version. 1.1 uses one connection per request in flight; 2 sends many requests over one connection, " +
				"also without TLS; auto lets the server choose over TLS and uses 1.1 without TLS",
			To: plan.HTTPVersion(&t.HTTPVersion),
		}, {
			Long: "proto", Arg: "FILE", RedlineOnly: true, Repeat: true,
			Help: "dynamic_grpc: .proto file that describes the method, so that the input data can contain messages as JSON. By " +
				"default the description is read by gRPC reflection",
			To: option.Append(&t.Protos),
		}, {
			Long: "model-signature-name", Arg: "NAME",
			Help: "tfserving: signature of the saved model",
			To:   option.Text(&t.SignatureName),
		}, {
			Long: "triton-server-directory", Arg: "DIR",
			Help: "triton_c_api: folder of the Triton installation; its lib/libtritonserver.so is loaded into this process",
			To:   option.Text(&t.ServerDirectory),
		}, {
			Long: "model-repository", Arg: "DIR",
			Help: "triton_c_api: model repository to serve in this process. Required for this kind",
			To:   option.Text(&t.ModelRepository),
		},
	})
}

func (r *raw) serverRows() []option.Row {
	t := &r.plan.Target
	return option.Group("Server metrics, traces and logs", []option.Row{
		{
			Long: "collect-metrics",
			Help: "read the server's Prometheus metrics during each window, and report GPU utilization and memory",
			To:   option.Switch(&t.Metrics.Collect),
		}, {
			Long: "metrics-url", Arg: "URL", Default: "port 8002 of the host of -u", Secret: secret.URL,
			Help: "address of the server's Prometheus metrics",
			To:   option.Text(&r.metricsURL),
		}, {
			Long: "metrics-interval", Arg: "TIME",
			Help: "interval between two readings of the metrics",
			To:   r.millis(1, &r.metricsEvery),
		}, {
			Long: "trace-level", Arg: "LEVEL", Default: "as the server has it",
			Help: "what the server traces during the run, to see where the time of a request is spent",
			To:   option.Word(&t.Trace.Level, "OFF", "TIMESTAMPS", "TENSORS"),
		}, {
			Long: "trace-rate", Arg: "N", Default: "as the server has it",
			Help: "trace one request in N",
			To:   option.Text(&t.Trace.Rate),
		}, {
			Long: "trace-count", Arg: "N", Default: "as the server has it",
			Help: "stop after N traces; -1 never stops",
			To:   number(-1, &t.Trace.Count),
		}, {
			Long: "log-frequency", Arg: "N", Default: "as the server has it",
			Help: "write the server's trace file after every N traces; 0 writes it when the server ends",
			To:   number(0, &t.Trace.LogFrequency),
		}, {
			Long: "trace-file", Arg: "FILE", RedlineOnly: true,
			Help: "read the server's trace file after the run, and show where the slowest requests spent their time, at the client and at the server; FILE is the file of Triton's --trace-config as this machine sees it",
			To:   option.Text(&t.Trace.File),
		},
	})
}

// number is option.Int for a value that the server takes as text.
func number(least int, to *string) option.Value {
	var n int
	v := option.Int(&n, least).Then(func(string) error {
		*to = strconv.Itoa(n)
		return nil
	})
	v.Default = ""
	return v
}
