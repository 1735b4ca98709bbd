package serve

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"math"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redline-bench/redline/internal/command"
	"github.com/redline-bench/redline/internal/command/outcome"
	"github.com/redline-bench/redline/internal/option"
	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/refserver"
	"github.com/redline-bench/redline/internal/secret"
	"github.com/redline-bench/redline/internal/unit"
)

// options are the options of `redline serve`. Options that tritonserver also has have its names.
type options struct {
	config         refserver.Config
	http, grpc     endpoint
	metrics        endpoint
	openai         endpoint
	torchserve     endpoint
	tfserving      endpoint
	cert, key, ca  string
	control        string
	requestLog     string
	collector      outcome.Collector
	exitWithParent bool
}

// endpoint is the address on which one protocol listens.
type endpoint struct {
	host string
	port int
}

func (e endpoint) String() string { return net.JoinHostPort(e.host, strconv.Itoa(e.port)) }

// Command describes the command.
func Command() option.Command {
	return option.Command{Common: []string{
		"http-port", "grpc-port", "openai-port", "http-address", "model-repository", "delay", "ttft", "itl", "fault", "request-log",
	}, Rows: defaults().rows(), Intro: `Usage: redline serve [options]

Runs the reference server: an inference server with small built-in models and adjustable delays. It serves KServe v2
over HTTP and gRPC with Triton's extensions and, on separate ports, the APIs of OpenAI, TorchServe and TensorFlow
Serving. When all ports are open it prints one line: "ready" and the ports as JSON. It runs until it is interrupted.
docs/refserver.md has more.
`, Examples: `  redline serve
      serve everything on the usual ports, for this machine only
  redline serve --http-port 0 --grpc-port 0 --metrics-port 0
      use free ports; the line "ready {...}" names them
  redline serve --delay simple=20ms --request-log requests.jsonl
      respond with a known latency, to check the numbers of a client
  redline serve --model-repository my_models --model-control-mode explicit --load-model '*'
      serve your own models, which clients may load and unload
  redline serve --fault 'simple=reset,every=100'
      test how a client handles a connection reset at every 100th request
  redline serve --trace-config file=trace.json --trace-config level=TIMESTAMPS --trace-config rate=1
      trace where the time of each request is spent
  redline serve --otlp grpc://collector:4317
      send spans below those of a client with --trace-requests
`, Outro: `Faults
  error      respond with an error
  delay      delay the response by 100ms, or by the given time
  hang       never respond
  reset      reset the connection
  truncate   close the connection in the middle of the response
  length     announce a longer response than is sent
  malformed  send bytes that are not valid JSON, protobuf or events
  slow       send one byte every 10ms, or every given time
  goaway     send GOAWAY over HTTP/2, Connection: close over HTTP/1.1
  refuse     from now on, close every new connection
  die        end the server process
`}
}

// defaults are the options when none is given.
func defaults() *options {
	o := &options{
		http: endpoint{localhost, 8000}, grpc: endpoint{localhost, 8001}, metrics: endpoint{localhost, 8002},
		openai: endpoint{localhost, 9000}, torchserve: endpoint{localhost, 8080}, tfserving: endpoint{localhost, 8500}, control: "none",
		config: refserver.Config{Faults: map[string]string{}, Trace: map[string]string{}, Delays: map[string]time.Duration{}},
	}
	o.config.Pace.First, o.config.Pace.Each, o.config.Pace.Free = 15*time.Millisecond, 5*time.Millisecond, 1
	return o
}

const localhost = "127.0.0.1"

func (o *options) rows() []option.Row {
	c := &o.config
	return slices.Concat(o.portRows(), option.Group("Models", []option.Row{
		{Long: "model-repository", Arg: "DIR", Repeat: true, Help: "folder with more models in Triton's layout, MODEL/config.pbtxt and MODEL/VERSION/, " +
			"for the backends identity, add_sub, accumulate, sequence, repeat, delay, mock_llm, fault and blank", To: option.Append(&c.Repositories)},
		{Long: "model-control-mode", Arg: "MODE", Help: "none loads all models at the start and keeps them; explicit lets clients load and unload models", To: option.OneOf(&o.control, "none", "explicit")},
		{Long: "load-model", Arg: "MODEL", Repeat: true, Help: "model to load at the start in explicit mode, * for all models", To: option.Append(&c.Load)},
		{Long: "any-method", Arg: "SIZE", Help: "answer each method on the gRPC ports with one message of this many zero bytes, in place of their own methods: " +
			"to stand in for another server", To: option.Bytes(&c.AnyMethod, 0, math.MaxInt32)},
	}), o.paceRows(), option.Group("Faults", []option.Row{
		{Long: "fault", Arg: "MODEL=KIND[,every=N][,for=TIME]", Repeat: true, Help: "make the model fail at every request, or at every N-th; * for every model; a TIME without a unit is in ms; --help all lists the kinds. A client can " +
			"request a fault with the header X-Redline-Fault", To: option.Func(o.addFault)},
	}), option.Group("Security", []option.Row{
		{Long: "tls-cert", Arg: "FILE", Help: "PEM file of the server's certificate; every port then uses TLS", To: option.Text(&o.cert)},
		{Long: "tls-key", Arg: "FILE", Help: "PEM file of the certificate's private key", To: option.Text(&o.key)},
		{Long: "tls-client-ca", Arg: "FILE", Help: "PEM file of the authority that must have signed clients' certificates (mutual TLS)", To: option.Text(&o.ca)},
		{Long: "bearer-token", Arg: "TOKEN", Help: "token that every request must send, on every port", Secret: secret.Whole, To: option.Text(&c.Token)},
	}), option.Group("Logs, traces and metrics", slices.Concat([]option.Row{
		{Long: "request-log", Arg: "FILE", Writes: true, Help: "write a JSON line for each response: model, id, received_ns, replied_ns, traceparent if the request has one; for a stream also the send time (events_ns) " +
			"and the number of tokens (tokens) of each event", To: option.Text(&o.requestLog)},
		{Long: "trace-config", Arg: "[triton,]SETTING=VALUE", Repeat: true, Help: "write traces in Triton's format. SETTING is file, level (TIMESTAMPS or TENSORS), rate (trace every N-th request), " +
			"count, or log-frequency (traces per file). Clients can change all settings except file", To: option.Func(o.addTrace)},
	}, plan.CollectorRows("a span for each request with a sampled W3C traceparent to this OpenTelemetry collector, below the client's span", &o.collector.Endpoint, &o.collector.Headers, &o.collector.CA), []option.Row{
		{Long: "simulate-gpus", Arg: "N", Help: "number of simulated GPUs in the metrics", To: option.Int(&c.GPUs, 0)},
		{Long: "exit-with-parent", Help: "end the server when standard input is closed", To: option.Switch(&o.exitWithParent)},
	})))
}

// portRows are where the protocols listen.
func (o *options) portRows() []option.Row {
	const free = "; unless given, a free port is used if this one is in use or if --http-port is 0"
	var ports, addresses []option.Row
	for _, e := range []struct {
		to         *endpoint
		name, help string
	}{
		{&o.http, "http", "port of KServe v2 over HTTP; 0 picks a free port, here and below"},
		{&o.grpc, "grpc", "port of KServe v2 over gRPC"},
		{&o.metrics, "metrics", "port of the Prometheus metrics, at /metrics"},
		{&o.openai, "openai", "port of OpenAI, Anthropic messages, TGI generate and rerank" + free},
		{&o.torchserve, "torchserve", "port of TorchServe" + free},
		{&o.tfserving, "tfserving", "port of TensorFlow Serving over gRPC" + free},
	} {
		port := option.Parsed(&e.to.port, parsePort)
		port.Default = strconv.Itoa(e.to.port)
		ports = append(ports, option.Row{Long: e.name + "-port", Arg: "PORT", Help: e.help, To: port})
		addresses = append(addresses, option.Row{Long: e.name + "-address", Arg: "ADDRESS", Help: "address of --" + e.name + "-port", To: option.Text(&e.to.host)})
	}
	return append(option.Group("Ports", ports), option.Group("Addresses: 0.0.0.0 allows connections from other machines", addresses)...)
}

func parsePort(v string) (int, error) {
	n, err := strconv.ParseUint(v, 10, 16)
	if err != nil {
		return 0, fmt.Errorf("is a port from 0 to 65535, not %q", v)
	}
	return int(n), nil
}

// paceRows are how long responses take.
func (o *options) paceRows() []option.Row {
	p := &o.config.Pace
	return option.Group("Pace: how long responses take", []option.Row{
		{Long: "delay", Arg: "MODEL=TIME", Repeat: true, Help: "send every response of the model exactly this long after its request was received, such as simple=20ms; torchserve is the model of that port, any-method that of --any-method", To: option.Func(o.addDelay).In("ms")},
		{Long: "ttft", Arg: "TIME", Help: "language models (OpenAI port, tensorrt_llm): mean time from a request to its first token", To: option.Time(&p.First, time.Millisecond)},
		{Long: "itl", Arg: "TIME", Help: "language models: mean time between two tokens", To: option.Time(&p.Each, time.Millisecond)},
		{Long: "ttft-stddev", Arg: "TIME", Help: "standard deviation of --ttft", To: option.Time(&p.FirstDev, time.Millisecond)},
		{Long: "itl-stddev", Arg: "TIME", Help: "standard deviation of --itl", To: option.Time(&p.EachDev, time.Millisecond)},
		{Long: "token-distribution", Arg: "NAME", Help: "distribution of token times: constant, normal or lognormal", Default: "normal with a deviation, else constant", To: option.OneOf(&p.Distribution, "constant", "normal", "lognormal")},
		{Long: "prefill", Arg: "TIME", Help: "time added to the first token for each token of the prompt", To: option.Time(&p.Prefill, time.Millisecond)},
		{Long: "slowdown", Arg: "SHARE", Help: "share by which these times grow for each request in flight beyond --slowdown-above, such as 0.1", To: option.Float(&p.Slowdown, 0, 1e9)},
		{Long: "slowdown-above", Arg: "N", Help: "number of requests in flight that do not slow each other down", To: option.Int(&p.Free, 0)},
		{Long: "seed", Arg: "N", Default: "0", Help: "seed of all random delays and faults", To: option.Uint(&o.config.Seed, math.MaxUint64)},
	})
}

// parse reads the options and resolves those that depend on each other.
func parse(ctx context.Context, args []string, secrets *secret.Set) (*options, error) {
	o := defaults()
	table := &option.Table{Rows: o.rows(), Secrets: secrets}
	if _, err := command.Parse(table, args, 0, 0, ""); err != nil {
		return nil, err
	}
	o.freePorts(ctx, table)
	p := &o.config.Pace
	if p.Distribution == "" && (p.FirstDev > 0 || p.EachDev > 0) {
		p.Distribution = "normal"
	}
	if err := o.secure(); err != nil {
		return nil, err
	}
	o.config.Explicit = o.control == "explicit"
	o.config.HTTP, o.config.GRPC, o.config.Metrics = o.http.String(), o.grpc.String(), o.metrics.String()
	o.config.OpenAI, o.config.TorchServe, o.config.TFServing = o.openai.String(), o.torchserve.String(), o.tfserving.String()
	return o, nil
}

// freePorts picks free ports for OpenAI, TorchServe and TensorFlow Serving where no port was given and the default is in
// use, or where the HTTP port is free too. The ready line names them.
func (o *options) freePorts(ctx context.Context, table *option.Table) {
	for name, e := range map[string]*endpoint{"openai-port": &o.openai, "torchserve-port": &o.torchserve, "tfserving-port": &o.tfserving} {
		if !table.Given(name) && (o.http.port == 0 || taken(ctx, e.String())) {
			e.port = 0
		}
	}
}

func taken(ctx context.Context, address string) bool {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err == nil {
		_ = l.Close()
	}
	return err != nil
}

// secure reads the TLS files.
func (o *options) secure() error {
	if o.cert == "" && o.key == "" && o.ca == "" {
		return nil
	}
	if o.cert == "" || o.key == "" {
		return errors.New("TLS needs both --tls-cert and --tls-key")
	}
	pair, err := tls.LoadX509KeyPair(o.cert, o.key)
	if err != nil {
		return fmt.Errorf("read the certificate: %w", err)
	}
	o.config.TLS = &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}
	if o.ca == "" {
		return nil
	}
	pem, err := os.ReadFile(o.ca)
	if err != nil {
		return fmt.Errorf("read --tls-client-ca: %w", err)
	}
	o.config.TLS.ClientCAs = x509.NewCertPool()
	if !o.config.TLS.ClientCAs.AppendCertsFromPEM(pem) {
		return fmt.Errorf("--tls-client-ca: %s has no PEM certificate", o.ca)
	}
	o.config.TLS.ClientAuth = tls.RequireAndVerifyClientCert
	return nil
}

func (o *options) addDelay(v string) error {
	model, text, ok := strings.Cut(v, "=")
	d, err := unit.Time(text, time.Millisecond)
	if !ok || err != nil {
		return fmt.Errorf("is MODEL=TIME, as simple=20ms, not %q", v)
	}
	o.config.Delays[model] = d
	return nil
}

// addTrace reads a trace setting in tritonserver's syntax.
func (o *options) addTrace(v string) error {
	setting := v
	if mode, rest, ok := strings.Cut(v, ","); ok {
		if mode != "triton" {
			return fmt.Errorf("supports the mode triton, not %q", mode)
		}
		setting = rest
	}
	name, value, ok := strings.Cut(setting, "=")
	known := map[string]string{"file": "trace_file", "level": "trace_level", "rate": "trace_rate", "count": "trace_count", "log-frequency": "log_frequency"}
	if !ok || known[name] == "" {
		return fmt.Errorf("is SETTING=VALUE with file, level, rate, count or log-frequency, as file=trace.json, not %q", v)
	}
	name = known[name]
	if old := o.config.Trace[name]; old != "" && name == "trace_level" {
		value = old + "+" + value
	}
	o.config.Trace[name] = value
	return nil
}

func (o *options) addFault(v string) error {
	model, fault, ok := strings.Cut(v, "=")
	if !ok {
		return fmt.Errorf("is MODEL=KIND, as simple=error,every=10, not %q", v)
	}
	o.config.Faults[model] = fault
	return nil
}
