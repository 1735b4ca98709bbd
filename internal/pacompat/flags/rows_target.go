package flags

import (
	"strconv"
	"strings"
	"time"

	"github.com/redline-bench/redline/internal/kind"
	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/secret"
)

func targetRows() []Row {
	return []Row{
		{
			Short: 'm', Arg: "NAME", Section: Target,
			Help: "Name of the model. Required.",
			set:  text(func(r *raw) *string { return &r.plan.Target.Model }),
		}, {
			Short: 'x', Arg: "VERSION", Section: Target, Default: "the server's choice",
			Help: "Version of the model. Give it to measure a version that is not the newest.",
			set:  text(func(r *raw) *string { return &r.plan.Target.Version }),
		}, {
			Short: 'u', Arg: "URL", Section: Target, Default: "localhost:8000, or localhost:8001 with -i grpc", Secret: secret.URL,
			Help: "Address of the server, HOST:PORT. For HTTP, the prefix https:// enables TLS.",
			set: func(r *raw, v string) error {
				r.urlSet, r.plan.Target.URL = true, v
				return nil
			},
		}, {
			Short: 'i', Arg: "PROTOCOL", Section: Target, Default: "http", Hint: values("http", "grpc"),
			Help: "Protocol: http or grpc. gRPC needs less CPU per request on both sides; HTTP works with more proxies.",
			set:  text(func(r *raw) *string { return &r.protocol }),
		}, {
			Long: "embedded", Section: Target, Face: RedlineOnly,
			Help: "Start the reference server for this run on free local ports, load it, and stop it at the end: for trials, and to " +
				"measure the cost of this client.",
			set: flag(func(r *raw) *bool { return &r.plan.Target.Embedded }),
		}, {
			Long: "embedded-arg", Arg: "ARG", Section: Target, Face: RedlineOnly, Repeat: true, Secret: secret.Option,
			Help: "Additional argument for the embedded server; see 'redline help serve'.",
			set: func(r *raw, v string) error {
				r.plan.Target.EmbeddedArgs = append(r.plan.Target.EmbeddedArgs, v)
				return nil
			},
		}, {
			Long: "service-kind", Arg: "KIND", Section: Target, Default: "triton",
			Hint: values(kind.Names(false)...),
			Help: "Kind of server. triton is any KServe v2 server, openai any HTTP server with JSON requests.",
			set: choice("--service-kind", "The available options are 'triton', 'tfserving', 'torchserve', or 'triton_c_api'.",
				func(r *raw) *string { return (*string)(&r.plan.Target.Kind) }, kind.Names(false)...),
		}, {
			Long: "bls-composing-models", Arg: "NAME[:VERSION],...", Section: Target, Repeat: true,
			Help: "Models that a BLS model calls. The server does not report them; name them to see their share of the time.",
			set:  addComposingModels,
		},
	}
}

// addComposingModels reads name[:version],... with any space in it.
func addComposingModels(r *raw, v string) error {
	for item := range strings.SplitSeq(strings.Join(strings.Fields(v), ""), ",") {
		name, version, _ := strings.Cut(item, ":")
		if name != "" || r.face == plan.PerfAnalyzer { // the original asks the server for a model without a name
			r.plan.Target.ComposingModels = append(r.plan.Target.ComposingModels, plan.ModelRef{Name: name, Version: version})
		}
	}
	return nil
}

func kindRows() []Row {
	return []Row{
		{
			Long: "endpoint", Arg: "PATH", Section: Kinds, Secret: secret.URL,
			Help: "openai: path of requests, such as v1/chat/completions.",
			set:  text(func(r *raw) *string { return &r.plan.Target.Endpoint }),
		}, {
			Long: "grpc-method", Arg: "PKG.SERVICE/METHOD", Section: Kinds,
			Help: "dynamic_grpc: method to call. Each request opens a stream, sends the messages of a step of the input data and " +
				"reads to the end.",
			set: func(r *raw, v string) error {
				if strings.Count(v, "/") != 1 {
					return usagef("Received gRPC method name '%s' that does not match the format: <package>.<service>/<method>.", v)
				}
				r.plan.Target.GRPCMethod = v
				return nil
			},
		}, {
			Long: "http-version", Arg: "VERSION", Section: Kinds, Face: RedlineOnly, Default: "auto", Hint: values("auto", "1.1", "2"),
			Help: "openai: HTTP version. 1.1 uses one connection per request in flight; 2 sends many requests over one connection, " +
				"also without TLS; auto lets the server choose over TLS and uses 1.1 without TLS.",
			set: func(r *raw, v string) error {
				if err := choice("--http-version", "", func(r *raw) *string { return &r.plan.Target.HTTPVersion }, "auto", "1.1", "2")(r, v); err != nil {
					return err
				}
				if v == "auto" {
					r.plan.Target.HTTPVersion = ""
				}
				return nil
			},
		}, {
			Long: "proto", Arg: "FILE", Section: Kinds, Face: RedlineOnly, Repeat: true, Hint: files(),
			Help: "dynamic_grpc: .proto file that describes the method, so that the input data can contain messages as JSON. By " +
				"default the description is read by gRPC reflection.",
			set: func(r *raw, v string) error {
				r.plan.Target.Protos = append(r.plan.Target.Protos, v)
				return nil
			},
		}, {
			Long: "model-signature-name", Arg: "NAME", Section: Kinds, Default: "serving_default",
			Help: "tfserving: signature of the saved model.",
			set:  text(func(r *raw) *string { return &r.plan.Target.SignatureName }),
		}, {
			Long: "triton-server-directory", Arg: "DIR", Section: Kinds, Default: "/opt/tritonserver", Hint: dirs(),
			Help: "triton_c_api: folder of the Triton installation; its lib/libtritonserver.so is loaded into this process.",
			set:  text(func(r *raw) *string { return &r.plan.Target.ServerDirectory }),
		}, {
			Long: "model-repository", Arg: "DIR", Section: Kinds, Hint: dirs(),
			Help: "triton_c_api: model repository to serve in this process. Required for this kind.",
			set:  text(func(r *raw) *string { return &r.plan.Target.ModelRepository }),
		},
	}
}

func serverRows() []Row {
	return []Row{
		{
			Long: "collect-metrics", Section: Server,
			Help: "Read the server's Prometheus metrics during each window, and report GPU utilization and memory.",
			set:  flag(func(r *raw) *bool { return &r.plan.Target.Metrics.Collect }),
		}, {
			Long: "metrics-url", Arg: "URL", Section: Server, Default: "port 8002 of the host of -u", Secret: secret.URL,
			Help: "Address of the server's Prometheus metrics.",
			set: func(r *raw, v string) error {
				r.metricsURLSet, r.metricsURL = true, v
				return nil
			},
		}, {
			Long: "metrics-interval", Arg: "N", Section: Server, Default: "1000", Unit: "ms",
			Help: "Interval between two readings of the metrics.",
			set: func(r *raw, v string) error {
				r.metricsIntSet = true
				return millis(1, "Failed to parse --metrics-interval. The value must be > 0 msecs.",
					func(r *raw) *time.Duration { return &r.metricsEvery })(r, v)
			},
		}, {
			Long: "trace-level", Arg: "LEVEL", Section: Server, Default: "as the server has it", Hint: values("OFF", "TIMESTAMPS", "TENSORS"),
			Help: "What the server traces during the run, to see where the time of a request is spent.",
			set: choice("--trace-level", "The available options are 'OFF', 'TIMESTAMPS', or 'TENSORS'.",
				func(r *raw) *string { return &r.plan.Target.Trace.Level }, "OFF", "TIMESTAMPS", "TENSORS"),
		}, {
			Long: "trace-rate", Arg: "N", Section: Server, Default: "as the server has it",
			Help: "Trace one request in N.",
			set:  text(func(r *raw) *string { return &r.plan.Target.Trace.Rate }),
		}, {
			Long: "trace-count", Arg: "N", Section: Server, Default: "as the server has it",
			Help: "Stop after N traces; -1 never stops.",
			set: number(-1, "Failed to parse --trace-count. The value must be >= 0 or set to -1 (default).",
				func(r *raw) *string { return &r.plan.Target.Trace.Count }),
		}, {
			Long: "log-frequency", Arg: "N", Section: Server, Default: "as the server has it",
			Help: "Write the server's trace file after every N traces; 0 writes it when the server ends.",
			set: number(0, "Failed to parse --log-frequency. The value must be >= 0.",
				func(r *raw) *string { return &r.plan.Target.Trace.LogFrequency }),
		},
	}
}

// number is integer for a value that the server takes as text.
func number(least int, message string, dst func(*raw) *string) func(*raw, string) error {
	return func(r *raw, v string) error {
		var n int
		if err := integer(least, message, func(*raw) *int { return &n })(r, v); err != nil {
			return err
		}
		*dst(r) = strconv.Itoa(n)
		return nil
	}
}
