package llm

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/redline-bench/redline/internal/command"
	"github.com/redline-bench/redline/internal/command/target"
	"github.com/redline-bench/redline/internal/inspect"
	"github.com/redline-bench/redline/internal/kind"
	"github.com/redline-bench/redline/internal/llm/dataset"
	api "github.com/redline-bench/redline/internal/llm/endpoint"
	"github.com/redline-bench/redline/internal/llm/load"
	"github.com/redline-bench/redline/internal/llm/ready"
	"github.com/redline-bench/redline/internal/option"
	"github.com/redline-bench/redline/internal/pace"
	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/service"
	"github.com/redline-bench/redline/internal/service/kserve/rpc"
	"github.com/redline-bench/redline/internal/service/openai"
	"github.com/redline-bench/redline/internal/traceid"
)

// traffic is what a plan asks to send, and the server that it is sent to. read makes it, start prepares it.
type traffic struct {
	*command.IO
	opts     *Plan         // what is asked for; nothing changes it
	written  *Plan         // opts without secrets, for the result
	table    *option.Table // the command line
	save     string        // file of a scenario that is written
	sigs     *command.Signals
	embedded *command.Embedded

	// The following is opts with what only the server, the prompts and the level say.
	load  load.Options
	data  dataset.Options
	urls  []string
	pages []string   // the server's own pages of metrics, if they are read
	gpus  []string   // pages of its GPUs
	plan  *plan.Plan // the target, for messages and the result

	svc      service.Service
	model    *service.Model
	ep       api.Endpoint
	tok      *tokens
	template *api.ChatTemplate // nil: none is applied
	info     dataset.Info
	hash     string // of the prompts of all levels
	timed    bool
	tracing  *traceid.Sampler // chooses the requests that are traced; nil chooses none
}

func (r *traffic) close() {
	if r.svc != nil {
		_ = r.svc.Close() // nothing is left to report it to
	}
	r.embedded.Stop()
}

// start does everything up to the first request.
func (r *traffic) start() error {
	o := r.opts
	r.data, r.urls, r.gpus = o.Data, o.addresses(), o.GPUs
	if k := api.Kind(o.Kind); o.Model == "" && k != api.Raw && k != api.Template {
		return r.noModel()
	}
	if err := r.Files.Writable(o.JSON); err != nil {
		return err
	}
	for _, file := range []string{o.TLS.CAFile, o.TLS.CertFile, o.TLS.KeyFile} {
		if _, err := os.Stat(file); file != "" && err != nil {
			return err
		}
	}
	var err error
	if r.tok, err = loadTokens(o.Tokenizer, r.Getenv); err != nil {
		return err
	}
	if o.ChatTemplate {
		if err := r.applyTemplate(); err != nil {
			return err
		}
	}
	if err := errors.Join(r.prompts(), r.tok.err()); err != nil {
		return err
	}
	if err := r.target(); err != nil {
		return err
	}
	if err := r.checkLimits(); err != nil {
		return err
	}
	if err := r.findPages(); err != nil {
		return err
	}
	return r.connect()
}

// noModel is the error of a run without a model: it names those of the server.
func (r *traffic) noModel() error {
	if err := r.target(); err != nil {
		return err
	}
	svc, err := r.lister()
	if err != nil {
		return err
	}
	defer svc.Close()
	return inspect.Missing(r.sigs.Soft, svc, r.peer())
}

// peer is the server as the kind that lists the models: the API generate is one of Triton's.
func (r *traffic) peer() plan.Target {
	t := r.plan.Target
	if api.Kind(r.opts.Kind) == api.Generate {
		t.Kind = plan.Triton
	}
	return t
}

// lister is the service to ask for the models.
func (r *traffic) lister() (service.Service, error) {
	return kind.Open(r.plan.With(func(p *plan.Plan) { p.Target = r.peer() }))
}

// prompts opens the prompts once, so that whatever is wrong with them is known before anything is sent.
func (r *traffic) prompts() error {
	o := r.opts
	d := &r.data
	if models := strings.Split(o.Model, ","); len(models) > 1 {
		d.Models = models
	}
	if err := r.readSystem(); err != nil {
		return err
	}
	d.RunID = fmt.Sprintf("%x", time.Now().UnixNano())
	given := len(o.modes()) > 0 || len(o.Concurrency) > 0
	d.Trace.IgnoreTimes = d.Trace.IgnoreTimes || o.NoFix || given && !o.Fixed || d.Trace.IgnoreDelays && !o.Fixed
	file := d.Path != ""
	bounded := r.load.Requests > 0 || r.load.Sessions > 0 || r.load.Duration > 0 || r.load.Until != nil || pace.Length(o.Stages)+pace.Length(o.SessionStages) > 0
	d.Once = d.Once || file && !bounded
	src, err := dataset.Open(r.sigs.Soft, *d, r.tok.forPrompts())
	if err != nil {
		return err
	}
	defer src.Close()
	r.info, r.timed = src.Describe(), src.Timed() && !d.Trace.IgnoreTimes
	r.hash = r.info.Hash
	if err := o.carries(&r.info); err != nil {
		return err
	}
	if r.info.Talks && !o.talks() {
		if r.info.Format != dataset.ShareGPT {
			return fmt.Errorf("--endpoint-type %s takes one prompt, but conversations have several turns: use chat, responses, messages or --apply-chat-template", o.Kind)
		}
		d.FirstTurn, r.info.Talks = true, false // as AIPerf and vLLM's bench take this file
	}
	if r.timed && o.ThinkTime.Mean > 0 {
		return fmt.Errorf("--think-time needs a closed loop, but %s has times to send at: add --concurrency", d.Path)
	}
	if o.Fixed && !src.Timed() {
		return fmt.Errorf("--fixed-schedule: %s has no times", d.Path)
	}
	if !file && !bounded {
		most := 1
		for _, c := range o.conversations() {
			most = max(most, c)
		}
		r.load.Requests = max(32, 4*most)
	}
	if err := r.tryWorkloads(); err != nil {
		return err
	}
	for _, c := range o.conversations() {
		if n := r.load.Requests; n > 0 && n < c && len(o.modes()) == 0 {
			fmt.Fprintf(r.Stderr, "redline llm: warning: %d requests cannot keep %d conversations busy: raise --request-count\n", n, c)
			break
		}
	}
	return nil
}

// tryWorkloads opens the prompts of every level, if levels differ in them, so that whatever is wrong is known before the load. The
// hash of the run is then that of all.
func (r *traffic) tryWorkloads() error {
	if !r.opts.several() {
		return nil
	}
	sum := sha256.New()
	list := r.opts.workloads(r.timed)
	for i := range list {
		if err := r.choose(&list[i]); err != nil {
			return fmt.Errorf("%s: %w", list[i].Prompts, err)
		}
		fmt.Fprintln(sum, r.info.Hash, list[i].Prompts)
	}
	r.hash = hex.EncodeToString(sum.Sum(nil)[:16])
	return r.choose(&list[0])
}

// choose sets the prompts of a level.
func (r *traffic) choose(s *step) error {
	if !r.opts.several() {
		return nil
	}
	s.apply(r.opts, &r.data, &r.load.Sessions)
	src, err := r.source(0)
	if err != nil {
		return err
	}
	r.info = src.(*dataset.Source).Describe()
	return src.Close()
}

// readSystem reads the system prompt where it is in a file.
func (r *traffic) readSystem() error {
	file := r.opts.SystemFile
	if file == "" {
		return nil
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("--system-prompt-file: %w", err)
	}
	if r.data.System = strings.TrimSpace(string(text)); r.data.System == "" {
		return fmt.Errorf("--system-prompt-file: %s is empty", file)
	}
	return nil
}

// target makes the plan of the server.
func (r *traffic) target() error {
	o := r.opts
	k := api.Kind(o.Kind)
	t := plan.Target{
		Kind: plan.OpenAI, Protocol: plan.HTTP, URL: r.urls[0], Model: o.model(), Headers: slices.Clone(o.Headers), TLS: o.TLS, Call: plan.Async, Timeout: r.load.Timeout,
		HTTPVersion: o.HTTP, MaxResponse: o.Largest, Connections: o.Conns,
	}
	t.TLS.CertType, t.TLS.KeyType, t.TLS.VerifyHostLevel = "PEM", "PEM", 2
	t.TLS.SkipVerifyPeer, t.TLS.SkipVerifyHost = o.Insecure, o.Insecure
	if k.GRPC() {
		t.Kind, t.Protocol, t.Streaming = plan.Triton, plan.GRPC, true
		t.TLS.GRPC = o.GRPCTLS
	}
	if err := r.addHeaders(&t, k); err != nil {
		return err
	}
	if o.Embedded {
		var err error
		if r.embedded, err = command.StartEmbedded(r.sigs.Soft, r.IO, nil); err != nil {
			return err
		}
		t.URL, t.Embedded = r.embedded.Address(t.Protocol), true
		if !k.GRPC() && k != api.Generate {
			t.URL = r.embedded.Address("openai")
		}
		r.urls = []string{t.URL}
	}
	t.Tracing = r.tracing
	r.plan = &plan.Plan{
		Segment: o.Segment, Target: t, Load: plan.Load{ThinkTime: o.ThinkTime}, Input: plan.Input{Batch: 1, SharedMemory: plan.NoSharedMemory},
	}
	return nil
}

// addHeaders adds the header of the API key, and others that the API needs.
func (r *traffic) addHeaders(t *plan.Target, k api.Kind) error {
	o := r.opts
	key := o.APIKey
	if o.APIKeyEnv != "" {
		if key = r.Getenv(o.APIKeyEnv); key == "" {
			return fmt.Errorf("--api-key-env: the variable %s is not set", o.APIKeyEnv)
		}
	}
	if k == api.Messages {
		t.Headers = append(t.Headers, plan.Header{Name: "anthropic-version", Value: "2023-06-01"})
	}
	if k.Form() && !slices.ContainsFunc(t.Headers, func(h plan.Header) bool { return strings.EqualFold(h.Name, "Content-Type") }) {
		t.Headers = append(t.Headers, plan.Header{Name: "Content-Type", Value: api.FormType})
	}
	r.Secrets.Add(key)
	switch {
	case key == "":
	case k == api.Messages:
		t.Headers = append(t.Headers, plan.Header{Name: "x-api-key", Value: key})
	default:
		t.Headers = append(t.Headers, plan.Header{Name: "Authorization", Value: "Bearer " + key})
	}
	return nil
}

// checkLimits tells before the load starts that so many connections cannot be made.
func (r *traffic) checkLimits() error {
	if len(r.opts.modes()) > 0 || r.opts.Fleet.Workers != "" { // workers have connections of their own
		return nil
	}
	return target.CheckConnections(&r.plan.Target, r.load.Segment.Share(slices.Max(r.opts.conversations())))
}

// connect makes the service and the endpoint, and asks the server what it must tell.
func (r *traffic) connect() error {
	o := r.opts
	body, err := o.body()
	if err != nil {
		return err
	}
	eo := api.Options{
		Kind: api.Kind(o.Kind), Model: o.model(), Stream: o.Streaming, Extra: o.Extra, LegacyMaxTokens: o.Legacy, NoUsage: o.NoUsage, ChunkUsage: o.Chunks, ExactOutput: o.ExactOutput,
		Body: body, ResponsePath: o.Response, Encode: r.tok.ids(), ChatTemplate: r.template,
	}
	eo.PromptPath, eo.CompletionsPath, _ = strings.Cut(o.Usage, ",")
	var list []service.Service
	if eo.Kind.GRPC() {
		if list, err = r.models(); err != nil {
			return err
		}
		eo.Metadata = r.model
		eo.Stream = (r.model.Decoupled || o.Streaming) && !o.NoStream
	}
	if r.ep, err = api.New(eo); err != nil {
		return err
	}
	if list == nil {
		if list, err = r.endpoints(); err != nil {
			return err
		}
	}
	if err := o.Wait.For(r.sigs.Soft, &ready.Model{Name: o.model(), Services: list, Endpoint: r.ep}); err != nil {
		return err
	}
	return r.askLengths(list[0])
}

// body is the template of requests; what has no brace is the name of its file.
func (p *Plan) body() (string, error) {
	if p.Template == "" || strings.Contains(p.Template, "{") {
		return p.Template, nil
	}
	text, err := os.ReadFile(p.Template)
	if err != nil {
		return "", fmt.Errorf("--template: %w", err)
	}
	return string(text), nil
}

// models makes the services over gRPC, and asks each for the model.
func (r *traffic) models() ([]service.Service, error) {
	list, err := r.services(func(t plan.Target) (service.Service, error) { return rpc.New(t, r.plan.Input) })
	for _, svc := range list {
		m, err := r.opts.Wait.Describe(r.sigs.Soft, svc)
		if err != nil {
			return nil, err
		}
		if r.model == nil {
			r.model = m
		}
	}
	return list, err
}

// endpoints makes the services over HTTP.
func (r *traffic) endpoints() ([]service.Service, error) {
	path := strings.TrimLeft(r.opts.Path, "/")
	if r.opts.Path == "" {
		path = r.ep.Path()
	}
	r.plan = r.plan.With(func(p *plan.Plan) { p.Target.Endpoint = path })
	return r.services(func(t plan.Target) (service.Service, error) { return openai.New(t) })
}

// services makes a service for each address.
func (r *traffic) services(open func(plan.Target) (service.Service, error)) (list []service.Service, err error) {
	for _, u := range r.urls {
		t := r.plan.Target
		t.URL = u
		svc, err := open(t)
		if err != nil {
			return nil, err
		}
		list = append(list, svc)
		if r.svc = list[0]; len(list) > 1 {
			r.svc = load.NewBalanced(list) // requests go to the services in turn
		}
	}
	return list, nil
}

var _ load.Source = (*dataset.Source)(nil)

// source opens the prompts of one measurement.
func (r *traffic) source(n int) (load.Source, error) {
	d := r.data
	d.Seed = r.seed(n)
	return dataset.Open(r.sigs.Soft, d, r.tok.forPrompts())
}

// seed is that of the prompts and of the schedule of the nth measurement of a level. Repeats have seeds of their own: with the
// same arrivals, runs agree with each other more than with the truth.
func (r *traffic) seed(n int) uint64 {
	if r.opts.SameSeed {
		return r.opts.Data.Seed
	}
	return r.opts.Data.Seed + uint64(n)
}

// streams tells whether answers come token by token.
func (r *traffic) streams() bool { return r.opts.Streaming || r.model != nil && r.model.Decoupled }
