package cli

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/redline-bench/redline/internal/refserver"
)

// serveFlags are the options of redline serve. Where tritonserver has one, the name is the same.
type serveFlags struct {
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
	port uint
}

func (e endpoint) String() string {
	return net.JoinHostPort(e.host, strconv.FormatUint(uint64(e.port), 10))
}

// runServe runs the reference server until ctx ends and returns the exit code.
func runServe(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	opts, err := parseServe(ctx, args, stdout)
	if errors.Is(err, flag.ErrHelp) {
		return exitOK
	}
	if err == nil {
		err = serve(ctx, opts, stdin, stdout)
	}
	if err != nil {
		fmt.Fprintf(stderr, "redline serve: %v\n", err)
		return exitError
	}
	return exitOK
}

// options declares the options; serveHelp explains them.
func (o *serveFlags) options() *flag.FlagSet {
	o.config.Delays, o.config.Faults, o.config.Trace = map[string]time.Duration{}, map[string]string{}, map[string]string{}
	o.config.Die = func() { os.Exit(exitError) }
	set := flag.NewFlagSet("redline serve", flag.ContinueOnError)
	set.SetOutput(io.Discard)
	listen := func(e *endpoint, name string, port uint) {
		set.StringVar(&e.host, name+"-address", "127.0.0.1", "")
		set.UintVar(&e.port, name+"-port", port, "")
	}
	listen(&o.http, "http", 8000)
	listen(&o.grpc, "grpc", 8001)
	listen(&o.metrics, "metrics", 8002)
	listen(&o.openai, "openai", 9000)
	listen(&o.torchserve, "torchserve", 8080)
	listen(&o.tfserving, "tfserving", 8500)
	o.paceOptions(set)
	set.StringVar(&o.cert, "tls-cert", "", "")
	set.StringVar(&o.key, "tls-key", "", "")
	set.StringVar(&o.ca, "tls-client-ca", "", "")
	set.StringVar(&o.config.Token, "bearer-token", "", "")
	list := func(name string, to *[]string) {
		set.Func(name, "", func(v string) error { *to = append(*to, v); return nil })
	}
	list("model-repository", &o.config.Repositories)
	list("load-model", &o.config.Load)
	set.Int64Var(&o.config.MaxInput, "http-max-input-size", 0, "")
	set.StringVar(&o.control, "model-control-mode", "none", "")
	set.Func("delay", "", o.addDelay)
	set.Func("fault", "", o.addFault)
	set.Func("trace-config", "", o.addTrace)
	set.IntVar(&o.config.GPUs, "simulate-gpus", 0, "")
	set.StringVar(&o.requestLog, "request-log", "", "")
	set.Uint64Var(&o.config.Seed, "seed", 0, "")
	set.BoolVar(&o.config.Null, "null", false, "")
	set.BoolVar(&o.exitWithParent, "exit-with-parent", false, "")
	return set
}

// paceOptions declares the pace of the language models.
func (o *serveFlags) paceOptions(set *flag.FlagSet) {
	p := &o.config.Pace
	set.DurationVar(&p.First, "ttft", 15*time.Millisecond, "")
	set.DurationVar(&p.Each, "itl", 5*time.Millisecond, "")
	set.DurationVar(&p.FirstDev, "ttft-stddev", 0, "")
	set.DurationVar(&p.EachDev, "itl-stddev", 0, "")
	set.StringVar(&p.Distribution, "token-distribution", "", "")
	set.DurationVar(&p.Prefill, "prefill", 0, "")
	set.Float64Var(&p.Slowdown, "slowdown", 0, "")
	set.IntVar(&p.Free, "slowdown-above", 1, "")
}

// pace gives the pace what it needs but was not told.
func (o *serveFlags) pace(set *flag.FlagSet) error {
	p := &o.config.Pace
	if p.First < 0 || p.Each < 0 || p.FirstDev < 0 || p.EachDev < 0 || p.Prefill < 0 || p.Slowdown < 0 {
		return errors.New("the pace of tokens has no negative times and no negative --slowdown")
	}
	if p.Distribution == "" && (p.FirstDev > 0 || p.EachDev > 0) {
		p.Distribution = "normal"
	}
	chosen := map[string]bool{}
	set.Visit(func(f *flag.Flag) { chosen[f.Name] = true })
	if o.config.Null && !chosen["ttft"] {
		p.First = 0
	}
	if o.config.Null && !chosen["itl"] {
		p.Each = 0
	}
	return nil
}

func parseServe(ctx context.Context, args []string, help io.Writer) (*serveFlags, error) {
	o := &serveFlags{}
	set := o.options()
	if err := set.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			_, err = io.WriteString(help, serveHelp)
			return nil, errors.Join(flag.ErrHelp, err)
		}
		return nil, err
	}
	switch {
	case set.NArg() > 0:
		return nil, fmt.Errorf("unexpected argument %q; see redline serve --help", set.Arg(0))
	case o.config.MaxInput < 0:
		return nil, errors.New("--http-max-input-size is a number of bytes; 0 is no limit")
	case o.control != "none" && o.control != "explicit":
		return nil, fmt.Errorf("--model-control-mode is none or explicit, not %q", o.control)
	}
	o.freePorts(ctx, set)
	if err := o.pace(set); err != nil {
		return nil, err
	}
	if err := o.secure(); err != nil {
		return nil, err
	}
	o.config.Explicit = o.control == "explicit"
	o.config.HTTP, o.config.GRPC, o.config.Metrics = o.http.String(), o.grpc.String(), o.metrics.String()
	o.config.OpenAI, o.config.TorchServe, o.config.TFServing = o.openai.String(), o.torchserve.String(), o.tfserving.String()
	return o, nil
}

// freePorts gives the lesser ports a free number, unless they were chosen, when the HTTP port is to be a free one or when
// theirs is taken: the ready line tells.
func (o *serveFlags) freePorts(ctx context.Context, set *flag.FlagSet) {
	chosen := map[string]bool{}
	set.Visit(func(f *flag.Flag) { chosen[f.Name] = true })
	for name, e := range map[string]*endpoint{"openai-port": &o.openai, "torchserve-port": &o.torchserve, "tfserving-port": &o.tfserving} {
		if !chosen[name] && (o.http.port == 0 || taken(ctx, e.String())) {
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
func (o *serveFlags) secure() error {
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

func (o *serveFlags) addDelay(v string) error {
	model, text, ok := strings.Cut(v, "=")
	d, err := time.ParseDuration(text)
	if !ok || err != nil || d < 0 {
		return errors.New("write MODEL=TIME, as simple=20ms")
	}
	o.config.Delays[model] = d
	return nil
}

// addTrace takes a trace setting as tritonserver does.
func (o *serveFlags) addTrace(v string) error {
	if mode, rest, ok := strings.Cut(v, ","); ok {
		if mode != "triton" {
			return fmt.Errorf("trace mode %q is not known: only triton is", mode)
		}
		v = rest
	}
	name, value, ok := strings.Cut(v, "=")
	known := map[string]string{"file": "trace_file", "level": "trace_level", "rate": "trace_rate", "count": "trace_count", "log-frequency": "log_frequency"}
	if !ok || known[name] == "" {
		return errors.New("write SETTING=VALUE, as file=trace.json; SETTING is file, level, rate, count or log-frequency")
	}
	name = known[name]
	if old := o.config.Trace[name]; old != "" && name == "trace_level" {
		value = old + "+" + value
	}
	o.config.Trace[name] = value
	return nil
}

func (o *serveFlags) addFault(v string) error {
	model, fault, ok := strings.Cut(v, "=")
	if !ok {
		return errors.New("write MODEL=KIND, as simple=error,every=10")
	}
	o.config.Faults[model] = fault
	return nil
}

// serve runs the server until ctx ends, or until stdin ends where that was asked for.
func serve(ctx context.Context, o *serveFlags, stdin io.Reader, stdout io.Writer) (err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if o.requestLog != "" {
		file, err := os.Create(o.requestLog)
		if err != nil {
			return fmt.Errorf("open the request log: %w", err)
		}
		defer func() { err = errors.Join(err, file.Close()) }()
		o.config.RequestLog = file
	}
	if o.exitWithParent {
		go func() {
			_, _ = io.Copy(io.Discard, stdin) // whatever ends it, the parent is gone
			cancel()
		}()
	}
	server, err := refserver.Start(ctx, o.config)
	if err != nil {
		return err
	}
	a := server.Addresses()
	_, err = fmt.Fprintf(stdout, "ready {\"http\":%s,\"grpc\":%s,\"metrics\":%s,\"openai\":%s,\"torchserve\":%s,\"tfserving\":%s}\n",
		port(a.HTTP), port(a.GRPC), port(a.Metrics), port(a.OpenAI), port(a.TorchServe), port(a.TFServing))
	if err == nil {
		<-ctx.Done()
	}
	return errors.Join(err, server.Close())
}

func port(address string) string {
	_, p, err := net.SplitHostPort(address)
	if err != nil {
		return "0"
	}
	return p
}
