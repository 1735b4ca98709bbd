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

// options are those of `redline serve`. Where tritonserver has one, the name is the same.
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

// endpoint is where one protocol listens.
type endpoint struct {
	host string
	port int
}

func (e endpoint) String() string { return net.JoinHostPort(e.host, strconv.Itoa(e.port)) }

// Help explains the command.
func Help() string {
	return `Usage: redline serve [options]

Runs the reference server: a real inference server with small built-in models, whose delays can be pinned. It speaks
KServe v2 over HTTP and gRPC with Triton's extensions, and, on ports of their own, OpenAI, TorchServe and TensorFlow
Serving. When all ports listen it prints one line, "ready" and the ports as JSON. It runs until it is interrupted.
docs/refserver.md has more.
` + optionSet(&options{}).Help() + `
Faults
  error      an error
  delay      waits, for 100ms or the time given
  hang       no answer
  reset      resets the connection
  truncate   ends the connection in the middle of the answer
  length     announces more than it sends
  malformed  bytes that are no JSON, no protobuf, no event
  slow       byte by byte, 10ms or the time given between two
  goaway     GOAWAY over HTTP/2, Connection: close over HTTP/1.1
  refuse     closes every new connection from then on
  die        ends the server

Examples
  redline serve
      everything on the usual ports, for this machine only
  redline serve --http-port 0 --grpc-port 0 --metrics-port 0
      on free ports; the line "ready {...}" tells which
  redline serve --delay simple=20ms --request-log requests.jsonl
      a latency that is known, to hold a client's numbers against
  redline serve --model-repository my_models --model-control-mode explicit --load-model '*'
      models of one's own, which clients may load and unload
  redline serve --fault 'simple=reset,every=100'
      how does a client take a reset now and then?
  redline serve --trace-config file=trace.json --trace-config level=TIMESTAMPS --trace-config rate=1
      where the time of each request goes
`
}

// Names are the options of the command.
func Names() []string { return optionSet(&options{}).Names() }

func optionSet(o *options) *optset.Set {
	s := &optset.Set{}
	o.portOptions(s)
	s.Group("Models: what it serves")
	list := func(to *[]string, name, arg, help string) {
		s.Var(name, arg, "", help, func(v string) error { *to = append(*to, v); return nil })
	}
	list(&o.config.Repositories, "model-repository", "DIR", "a folder of models in Triton's layout, MODEL/config.pbtxt and MODEL/VERSION/, "+
		"besides the built-in ones, over the backends identity, add_sub, accumulate, sequence, repeat, delay, mock_llm, fault and blank. May be repeated")
	o.control = "none"
	optset.OneOf(s, &o.control, "model-control-mode", "MODE", "none loads all models and keeps them; explicit lets clients load and unload them", "none", "explicit")
	list(&o.config.Load, "load-model", "MODEL", "a model to load at the start in explicit mode; * is all of them. May be repeated")
	s.Int(&o.config.AnyMethod, "any-method", "BYTES", 0, "answer each method on the gRPC ports with one message of so many zero bytes, in place of their own methods: "+
		"to stand in for another server")
	o.paceOptions(s)
	s.Group("Trouble: how it misbehaves")
	o.config.Faults = map[string]string{}
	s.Var("fault", "MODEL=KIND[,every=N][,for=TIME]", "", "the model misbehaves, at each request or at each n-th; * is every model; the kinds are listed below. "+
		"A single request asks for one with the header X-Redline-Fault. May be repeated", o.addFault)
	s.Group("Security")
	s.Text(&o.cert, "tls-cert", "FILE", "a certificate in PEM form: every port speaks TLS")
	s.Text(&o.key, "tls-key", "FILE", "its private key")
	s.Text(&o.ca, "tls-client-ca", "FILE", "the authority that clients' certificates must come from: mutual TLS")
	s.Text(&o.config.Token, "bearer-token", "TOKEN", "the token that requests must present, on every port")
	s.Secret(secret.Whole, "bearer-token")
	s.Var("http-max-input-size", "BYTES", "0", "the largest JSON, raw body or unpacked body that the HTTP port takes; 0 is no limit", sizeOf(&o.config.MaxInput))
	o.config.MaxUnpacked = 1 << 30
	s.Var("max-unpacked-size", "BYTES", strconv.FormatInt(o.config.MaxUnpacked, 10), "how much packed requests may unpack to, all that are in work together; "+
		"a request that exceeds it is refused with 413 or RESOURCE_EXHAUSTED. Also the largest gRPC message. 0 is no limit", sizeOf(&o.config.MaxUnpacked))
	s.Group("Watching")
	s.Text(&o.requestLog, "request-log", "FILE", "a JSON line for each answer: model, id, received_ns, replied_ns, and for a stream when each event "+
		"left, events_ns, and how many tokens it had, tokens")
	o.config.Trace = map[string]string{}
	s.Var("trace-config", "[triton,]SETTING=VALUE", "", "traces as Triton writes them. SETTING is file, level (TIMESTAMPS or TENSORS), rate (every n-th "+
		"request), count, or log-frequency (traces in a file). Clients may change all but the file. May be repeated", o.addTrace)
	s.Int(&o.config.GPUs, "simulate-gpus", "N", 0, "pretend in the metrics that there are so many GPUs")
	s.Bool(&o.exitWithParent, "exit-with-parent", "end when standard input ends")
	return s
}

// portOptions declares where the protocols listen.
func (o *options) portOptions(s *optset.Set) {
	s.Group("Ports: where it listens")
	const free = "; a free one when that is in use, or when --http-port is 0, unless it is named"
	var addresses []func()
	listen := func(e *endpoint, name string, port int, help string) {
		*e = endpoint{"127.0.0.1", port}
		s.Var(name+"-port", "PORT", strconv.Itoa(port), help, e.setPort)
		addresses = append(addresses, func() { s.Text(&e.host, name+"-address", "ADDRESS", "the address of that port") })
	}
	listen(&o.http, "http", 8000, "KServe v2 over HTTP; 0 picks a free port, here and below")
	listen(&o.grpc, "grpc", 8001, "KServe v2 over gRPC")
	listen(&o.metrics, "metrics", 8002, "Prometheus text at /metrics")
	listen(&o.openai, "openai", 9000, "OpenAI, Anthropic messages, TGI generate and rerank"+free)
	listen(&o.torchserve, "torchserve", 8080, "TorchServe"+free)
	listen(&o.tfserving, "tfserving", 8500, "TensorFlow Serving over gRPC"+free)
	s.Group("Addresses: 0.0.0.0 lets other machines in")
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

// paceOptions declares how long answers take.
func (o *options) paceOptions(s *optset.Set) {
	s.Group("Pace: how long answers take")
	o.config.Delays = map[string]time.Duration{}
	s.Var("delay", "MODEL=TIME", "", "every answer of the model leaves exactly this long after its request came, as simple=20ms: something to hold "+
		"measurements against. torchserve is the model of that port, any-method that of --any-method. May be repeated", o.addDelay)
	p := &o.config.Pace
	p.First, p.Each, p.Free = 15*time.Millisecond, 5*time.Millisecond, 1
	s.Duration(&p.First, "ttft", "TIME", "language models, which are on the OpenAI port and in tensorrt_llm: from a request to its first token")
	s.Duration(&p.Each, "itl", "TIME", "between two tokens")
	s.Duration(&p.FirstDev, "ttft-stddev", "TIME", "the deviation of --ttft")
	s.Duration(&p.EachDev, "itl-stddev", "TIME", "the deviation of --itl")
	optset.OneOf(s, &p.Distribution, "token-distribution", "NAME", "constant, normal or lognormal; normal where there are deviations", "constant", "normal", "lognormal")
	s.Duration(&p.Prefill, "prefill", "TIME", "added to the first token for each token of the prompt")
	s.Float(&p.Slowdown, "slowdown", "SHARE", 0, 1e9, "added to all of these times for each request in flight beyond --slowdown-above, as 0.1: the knee")
	s.Int(&p.Free, "slowdown-above", "N", 0, "how many requests do not slow each other down")
	s.Var("seed", "N", "0", "makes scripted randomness repeat", func(v string) (err error) {
		if o.config.Seed, err = strconv.ParseUint(v, 10, 64); err != nil {
			err = fmt.Errorf("is a whole number, not %q", v)
		}
		return err
	})
	s.Bool(&o.config.Null, "null", "answer from memory, as fast as the machine can, without looking at the request: for benchmarks and calibration. "+
		"Tokens have no pace unless --ttft or --itl are given")
}

// parse reads the options and settles what depends on several.
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

// freePorts gives the lesser ports a free number, unless they were named, when the HTTP port is to be a free one or when
// theirs is taken: the ready line tells.
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

// secure reads the files of TLS.
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
		return fmt.Errorf("read the clients' authority: %w", err)
	}
	o.config.TLS.ClientCAs = x509.NewCertPool()
	if !o.config.TLS.ClientCAs.AppendCertsFromPEM(pem) {
		return fmt.Errorf("%s holds no certificate in PEM form", o.ca)
	}
	o.config.TLS.ClientAuth = tls.RequireAndVerifyClientCert
	return nil
}

// sizeOf reads a number of bytes.
func sizeOf(to *int64) func(string) error {
	return func(v string) error {
		n, err := strconv.ParseInt(v, 10, 64)
		if err != nil || n < 0 {
			return fmt.Errorf("is a number of bytes, not %q; 0 is no limit", v)
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

// addTrace takes a trace setting as tritonserver does.
func (o *options) addTrace(v string) error {
	setting := v
	if mode, rest, ok := strings.Cut(v, ","); ok {
		if mode != "triton" {
			return fmt.Errorf("knows the mode triton, not %q", mode)
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
