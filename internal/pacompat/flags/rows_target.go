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
			Help: "The model to load. Required.",
			set:  text(func(r *raw) *string { return &r.plan.Target.Model }),
		}, {
			Short: 'x', Arg: "VERSION", Section: Target, Default: "the server's choice",
			Help: "The model's version. Name one to measure it while a newer one is being served.",
			set:  text(func(r *raw) *string { return &r.plan.Target.Version }),
		}, {
			Short: 'u', Arg: "URL", Section: Target, Default: "localhost:8000, or localhost:8001 with -i grpc", Secret: secret.URL,
			Help: "Where the server listens, as HOST:PORT. For HTTP, https:// in front turns on TLS.",
			set: func(r *raw, v string) error {
				r.urlSet, r.plan.Target.URL = true, v
				return nil
			},
		}, {
			Short: 'i', Arg: "PROTOCOL", Section: Target, Default: "http", Hint: values("http", "grpc"),
			Help: "The protocol: http or grpc. gRPC costs both sides less for each request, HTTP passes more proxies.",
			set:  text(func(r *raw) *string { return &r.protocol }),
		}, {
			Long: "embedded", Section: Target, Face: RedlineOnly,
			Help: "Start the reference server for this run on free local ports, load it, and stop it at the end: for " +
				"trying things out, and for knowing what this client costs.",
			set: flag(func(r *raw) *bool { return &r.plan.Target.Embedded }),
		}, {
			Long: "embedded-arg", Arg: "ARG", Section: Target, Face: RedlineOnly, Repeat: true, Secret: secret.Option,
			Help: "One more argument for the embedded server, as 'redline serve' takes them.",
			set: func(r *raw, v string) error {
				r.plan.Target.EmbeddedArgs = append(r.plan.Target.EmbeddedArgs, v)
				return nil
			},
		}, {
			Long: "service-kind", Arg: "KIND", Section: Target, Default: "triton",
			Hint: values(kind.Names(false)...),
			Help: "What kind of server it is. triton is any KServe v2 server, openai any HTTP server that takes JSON.",
			set: choice("--service-kind", "The available options are 'triton', 'tfserving', 'torchserve', or 'triton_c_api'.",
				func(r *raw) *string { return (*string)(&r.plan.Target.Kind) }, kind.Names(false)...),
		}, {
			Long: "bls-composing-models", Arg: "NAME[:VERSION],...", Section: Target, Repeat: true,
			Help: "The models that a BLS model calls. The server cannot tell; name them to see their share of the time.",
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
			Help: "openai: the path to send requests to, such as v1/chat/completions.",
			set:  text(func(r *raw) *string { return &r.plan.Target.Endpoint }),
		}, {
			Long: "grpc-method", Arg: "PKG.SERVICE/METHOD", Section: Kinds,
			Help: "dynamic_grpc: the method to call. Each request opens a stream, sends the messages of a step of the input data and reads to the end.",
			set: func(r *raw, v string) error {
				if strings.Count(v, "/") != 1 {
					return usagef("Received gRPC method name '%s' that does not match the format: <package>.<service>/<method>.", v)
				}
				r.plan.Target.GRPCMethod = v
				return nil
			},
		}, {
			Long: "http-version", Arg: "VERSION", Section: Kinds, Face: RedlineOnly, Default: "auto", Hint: values("auto", "1.1", "2"),
			Help: "openai: 1.1, a connection for each request in flight; 2, many requests on one connection, without TLS too; " +
				"auto, what the server prefers over TLS and 1.1 without.",
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
			Help: "dynamic_grpc: a .proto file that describes the method, so that the input data can hold its messages as JSON. " +
				"Without one the server is asked through gRPC reflection.",
			set: func(r *raw, v string) error {
				r.plan.Target.Protos = append(r.plan.Target.Protos, v)
				return nil
			},
		}, {
			Long: "model-signature-name", Arg: "NAME", Section: Kinds, Default: "serving_default",
			Help: "tfserving: the signature of the saved model to call.",
			set:  text(func(r *raw) *string { return &r.plan.Target.SignatureName }),
		}, {
			Long: "triton-server-directory", Arg: "DIR", Section: Kinds, Default: "/opt/tritonserver", Hint: dirs(),
			Help: "triton_c_api: where Triton is installed; its lib/libtritonserver.so is loaded into this process.",
			set:  text(func(r *raw) *string { return &r.plan.Target.ServerDirectory }),
		}, {
			Long: "model-repository", Arg: "DIR", Section: Kinds, Hint: dirs(),
			Help: "triton_c_api: the model repository to serve in this process. Required for that kind.",
			set:  text(func(r *raw) *string { return &r.plan.Target.ModelRepository }),
		},
	}
}

func serverRows() []Row {
	return []Row{
		{
			Long: "collect-metrics", Section: Server,
			Help: "Read the server's Prometheus endpoint during each window and report GPU use and memory beside the latencies.",
			set:  flag(func(r *raw) *bool { return &r.plan.Target.Metrics.Collect }),
		}, {
			Long: "metrics-url", Arg: "URL", Section: Server, Default: "port 8002 of the host of -u", Secret: secret.URL,
			Help: "Where that endpoint is.",
			set: func(r *raw, v string) error {
				r.metricsURLSet, r.metricsURL = true, v
				return nil
			},
		}, {
			Long: "metrics-interval", Arg: "N", Section: Server, Default: "1000", Unit: "ms",
			Help: "How often it is read.",
			set: func(r *raw, v string) error {
				r.metricsIntSet = true
				return millis(1, "Failed to parse --metrics-interval. The value must be > 0 msecs.",
					func(r *raw) *time.Duration { return &r.metricsEvery })(r, v)
			},
		}, {
			Long: "trace-level", Arg: "LEVEL", Section: Server, Default: "as the server has it", Hint: values("OFF", "TIMESTAMPS", "TENSORS"),
			Help: "What the server's tracer should record during the run: to see where the time goes inside.",
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
			Help: "Let the server write its trace file after every N traces; 0 only at its end.",
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
