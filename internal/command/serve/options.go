package serve

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/redline-bench/redline/internal/command"
	"github.com/redline-bench/redline/internal/optset"
	"github.com/redline-bench/redline/internal/refserver"
	"github.com/redline-bench/redline/internal/secret"
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
	exitWithParent bool
}

// endpoint is the address on which one protocol listens.
type endpoint struct {
	host string
	port int
}

func (e endpoint) String() string { return net.JoinHostPort(e.host, strconv.Itoa(e.port)) }

// Help explains the command.
func Help() string {
	return `Usage: redline serve [options]

Runs the reference server: an inference server with small built-in models and adjustable delays. It serves KServe v2
over HTTP and gRPC with Triton's extensions and, on separate ports, the APIs of OpenAI, TorchServe and TensorFlow
Serving. When all ports are open it prints one line: "ready" and the ports as JSON. It runs until it is interrupted.
docs/refserver.md has more.
` + optionSet(&options{}).Help() + `
Faults
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

Examples
  redline serve
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
`
}

// Names are the options of the command.
func Names() []string { return optionSet(&options{}).Names() }

func optionSet(o *options) *optset.Set {
	s := &optset.Set{}
	o.portOptions(s)
	s.Group("Models")
	list := func(to *[]string, name, arg, help string) {
		s.Var(name, arg, "", help, func(v string) error { *to = append(*to, v); return nil })
	}
	list(&o.config.Repositories, "model-repository", "DIR", "folder with more models in Triton's layout, MODEL/config.pbtxt and MODEL/VERSION/, "+
		"for the backends identity, add_sub, accumulate, sequence, repeat, delay, mock_llm, fault and blank; may be repeated")
	o.control = "none"
	optset.OneOf(s, &o.control, "model-control-mode", "MODE", "none loads all models at the start and keeps them; explicit lets clients load and unload models", "none", "explicit")
	list(&o.config.Load, "load-model", "MODEL", "model to load at the start in explicit mode, * for all models; may be repeated")
	s.Int(&o.config.AnyMethod, "any-method", "BYTES", 0, "respond to every method on the gRPC ports with one message of this many zero bytes, instead of "+
		"serving their own methods: to replace another server")
	o.paceOptions(s)
	s.Group("Faults")
	o.config.Faults = map[string]string{}
	s.Var("fault", "MODEL=KIND[,every=N][,for=TIME]", "", "make the model fail at every request, or at every N-th; * for every model; the kinds are listed below. "+
		"A client can request a fault with the header X-Redline-Fault; may be repeated", o.addFault)
	s.Group("Security")
	s.Text(&o.cert, "tls-cert", "FILE", "PEM file of the server's certificate; every port then uses TLS")
	s.Text(&o.key, "tls-key", "FILE", "PEM file of the certificate's private key")
	s.Text(&o.ca, "tls-client-ca", "FILE", "PEM file of the authority that must have signed clients' certificates (mutual TLS)")
	s.Text(&o.config.Token, "bearer-token", "TOKEN", "token that every request must send, on every port")
	s.Secret(secret.Whole, "bearer-token")
	s.Var("http-max-input-size", "BYTES", "0", "size limit of JSON, raw body and decompressed body on the HTTP port; 0 for no limit", sizeOf(&o.config.MaxInput))
	o.config.MaxUnpacked = 1 << 30
	s.Var("max-unpacked-size", "BYTES", strconv.FormatInt(o.config.MaxUnpacked, 10), "size limit of all decompressed requests in progress together, and of one gRPC message; "+
		"a request that exceeds it is refused with 413 or RESOURCE_EXHAUSTED; 0 for no limit", sizeOf(&o.config.MaxUnpacked))
	s.Group("Logs, traces and metrics")
	s.Text(&o.requestLog, "request-log", "FILE", "write a JSON line for each response: model, id, received_ns, replied_ns; for a stream also the send time "+
		"(events_ns) and the number of tokens (tokens) of each event")
	o.config.Trace = map[string]string{}
	s.Var("trace-config", "[triton,]SETTING=VALUE", "", "write traces in Triton's format. SETTING is file, level (TIMESTAMPS or TENSORS), rate (trace every N-th "+
		"request), count, or log-frequency (traces per file). Clients can change all settings except file; may be repeated", o.addTrace)
	s.Int(&o.config.GPUs, "simulate-gpus", "N", 0, "number of simulated GPUs in the metrics")
	s.Bool(&o.exitWithParent, "exit-with-parent", "end the server when standard input is closed")
	return s
}

// portOptions declares where the protocols listen.
func (o *options) portOptions(s *optset.Set) {
	s.Group("Ports")
	const free = "; unless given, a free port is used if the default is in use or if --http-port is 0"
	var addresses []func()
	listen := func(e *endpoint, name string, port int, help string) {
		*e = endpoint{"127.0.0.1", port}
		s.Var(name+"-port", "PORT", strconv.Itoa(port), help, e.setPort)
		addresses = append(addresses, func() { s.Text(&e.host, name+"-address", "ADDRESS", "address to listen on for --"+name+"-port") })
	}
	listen(&o.http, "http", 8000, "port of KServe v2 over HTTP; 0 picks a free port, here and below")
	listen(&o.grpc, "grpc", 8001, "port of KServe v2 over gRPC")
	listen(&o.metrics, "metrics", 8002, "port of the Prometheus metrics, at /metrics")
	listen(&o.openai, "openai", 9000, "port of OpenAI, Anthropic messages, TGI generate and rerank"+free)
	listen(&o.torchserve, "torchserve", 8080, "port of TorchServe"+free)
	listen(&o.tfserving, "tfserving", 8500, "port of TensorFlow Serving over gRPC"+free)
	s.Group("Addresses: 0.0.0.0 allows connections from other machines")
	for _, add := range addresses {
		add()
	}
}

func (e *endpoint) setPort(v string) error {
	n, err := strconv.ParseUint(v, 10, 16)
	if err != nil {
		return fmt.Errorf("is a port from 0 to 65535, not %q", v)
	}
	e.port = int(n)
	return nil
}

// paceOptions declares how long responses take.
func (o *options) paceOptions(s *optset.Set) {
	s.Group("Pace: how long responses take")
	o.config.Delays = map[string]time.Duration{}
	s.Var("delay", "MODEL=TIME", "", "send every response of the model exactly this long after its request was received, such as simple=20ms; "+
		"torchserve is the model of that port, any-method that of --any-method; may be repeated", o.addDelay)
	p := &o.config.Pace
	p.First, p.Each, p.Free = 15*time.Millisecond, 5*time.Millisecond, 1
	s.Duration(&p.First, "ttft", "TIME", "language models (OpenAI port, tensorrt_llm): mean time from a request to its first token")
	s.Duration(&p.Each, "itl", "TIME", "language models: mean time between two tokens")
	s.Duration(&p.FirstDev, "ttft-stddev", "TIME", "standard deviation of --ttft")
	s.Duration(&p.EachDev, "itl-stddev", "TIME", "standard deviation of --itl")
	optset.OneOf(s, &p.Distribution, "token-distribution", "NAME", "distribution of token times: constant, normal or lognormal (default: normal with a deviation, else constant)", "constant", "normal", "lognormal")
	s.Duration(&p.Prefill, "prefill", "TIME", "time added to the first token for each token of the prompt")
	s.Float(&p.Slowdown, "slowdown", "SHARE", 0, 1e9, "share by which these times grow for each request in flight beyond --slowdown-above, such as 0.1")
	s.Int(&p.Free, "slowdown-above", "N", 0, "number of requests in flight that do not slow each other down")
	s.Var("seed", "N", "0", "seed of all random delays and faults", func(v string) (err error) {
		if o.config.Seed, err = strconv.ParseUint(v, 10, 64); err != nil {
			err = fmt.Errorf("is a whole number, not %q", v)
		}
		return err
	})
	s.Bool(&o.config.Null, "null", "send prepared responses as fast as possible, without reading the request's content: for benchmarks and calibration. "+
		"Tokens are sent without delay unless --ttft or --itl is given")
}

// parse reads the options and resolves those that depend on each other.
func parse(ctx context.Context, args []string, secrets *secret.Set) (*options, error) {
	o := &options{}
	set := optionSet(o)
	set.Secrets = secrets
	if _, err := command.Parse(set, args, 0, 0, ""); err != nil {
		return nil, err
	}
	o.freePorts(ctx, set)
	p := &o.config.Pace
	if p.Distribution == "" && (p.FirstDev > 0 || p.EachDev > 0) {
		p.Distribution = "normal"
	}
	if o.config.Null && !set.Given("ttft") {
		p.First = 0
	}
	if o.config.Null && !set.Given("itl") {
		p.Each = 0
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
func (o *options) freePorts(ctx context.Context, set *optset.Set) {
	for name, e := range map[string]*endpoint{"openai-port": &o.openai, "torchserve-port": &o.torchserve, "tfserving-port": &o.tfserving} {
		if !set.Given(name) && (o.http.port == 0 || taken(ctx, e.String())) {
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

// sizeOf returns a parser for a number of bytes.
func sizeOf(to *int64) func(string) error {
	return func(v string) error {
		n, err := strconv.ParseInt(v, 10, 64)
		if err != nil || n < 0 {
			return fmt.Errorf("is a number of bytes, not %q; 0 means no limit", v)
		}
		*to = n
		return nil
	}
}

func (o *options) addDelay(v string) error {
	model, text, ok := strings.Cut(v, "=")
	d, err := time.ParseDuration(text)
	if !ok || err != nil || d < 0 {
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
