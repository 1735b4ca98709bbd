package llm

import (
	"errors"
	"fmt"
	"strings"

	"github.com/redline-bench/redline/internal/engine"
	"github.com/redline-bench/redline/internal/llm/dataset"
	api "github.com/redline-bench/redline/internal/llm/endpoint"
	"github.com/redline-bench/redline/internal/llm/load"
	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/secret"
)

// read reads the options of `redline llm` and holds them against one another. Their secrets go to secrets.
func read(args []string, secrets *secret.Set) (*options, load.Options, error) {
	o := defaults()
	err := o.parse(args, secrets)
	if err == nil {
		err = o.check()
	}
	if err != nil {
		return o, load.Options{}, err
	}
	lo, err := o.loadOptions()
	return o, lo, err
}

// seed tells whether the options are those of the Python perf tool for TensorRT-LLM: the report then has that tool's form.
func (o *options) seed() bool {
	if o.console != "" {
		return o.console == "blocks"
	}
	return o.protocol != "" || o.inputData != "" || o.tokenizerPath != ""
}

// check settles what the options leave open and names the first contradiction.
func (o *options) check() error {
	if err := o.checkNames(); err != nil {
		return err
	}
	if err := o.checkMedia(); err != nil {
		return err
	}
	if err := o.checkLoad(); err != nil {
		return err
	}
	if err := o.checkLists(); err != nil {
		return err
	}
	if err := o.checkSegment(); err != nil {
		return err
	}
	if err := o.checkFleet(); err != nil {
		return err
	}
	if err := o.warm.check(); err != nil {
		return err
	}
	if _, err := o.wanted(); err != nil {
		return err
	}
	return o.checkAnswers()
}

// checkSegment holds what processes that have parts of one load cannot do: they do not know how the others go on.
func (o *options) checkSegment() error {
	switch {
	case o.segment.Whole():
	case o.embedded:
		return errors.New("--segment and --embedded exclude each other: each part would load a server of its own")
	case o.several() || len(o.concurrency) > 1 || len(o.rates) > 1:
		return errors.New("--segment needs a load with one level: the parts of a load do not begin the next level together")
	case o.until != "":
		return errors.New("--segment and --until exclude each other: the parts of a load do not know what the others measured")
	case o.calibrate:
		return errors.New("--segment and --calibrate exclude each other: run 'redline calibrate llm' on each machine")
	}
	return nil
}

// checkNames settles options that have two names.
func (o *options) checkNames() error {
	switch {
	case o.inputData != "" && o.data.Path != "":
		return errors.New("--input-data and --input-file name the same thing: give one")
	case o.tokenizerPath != "" && o.tokenizer != "":
		return errors.New("--tokenizer-path and --tokenizer name the same thing: give one")
	case o.systemFile != "" && o.data.System != "":
		return errors.New("--system-prompt and --system-prompt-file name the same thing: give one")
	case (o.tls.CertFile != "") != (o.tls.KeyFile != ""):
		return errors.New("--cert-file and --key-file need each other")
	case o.apiKey != "" && o.apiKeyEnv != "":
		return errors.New("--api-key and --api-key-env exclude each other")
	}
	if o.inputData != "" {
		o.data.Path = o.inputData
	}
	if o.tokenizerPath != "" {
		o.tokenizer = o.tokenizerPath
	}
	if o.kind == "" {
		switch {
		case o.protocol == plan.GRPC, o.triton && o.protocol == "":
			o.kind = string(api.KServeText)
		case o.protocol == plan.HTTP:
			o.kind = string(api.Generate)
			o.streaming = !o.noStream
		default:
			o.kind = string(api.Chat)
		}
	}
	o.settleLists()
	if err := o.settle(); err != nil {
		return err
	}
	k := api.Kind(o.kind)
	switch {
	case k.GRPC() && o.protocol == plan.HTTP, !k.GRPC() && o.protocol == plan.GRPC:
		return fmt.Errorf("--endpoint-type %s cannot be used with -i %s", o.kind, o.protocol)
	case o.template != "" && k != api.Template:
		return errors.New("--template needs --endpoint-type template")
	case k == api.Template && (o.template == "" || o.path == ""):
		return errors.New(`--endpoint-type template needs --template FILE, or its text as --template '{"text": {{ text|tojson }}}', and --endpoint PATH`)
	case k.GRPC() && o.path != "":
		return errors.New("--endpoint is an HTTP path: a model over gRPC has none")
	case o.chatTemplate && o.tokenizer == "":
		return errors.New("--apply-chat-template needs --tokenizer DIR: the chat template is one of the tokenizer's files")
	case o.chatTemplate && !o.talks():
		return fmt.Errorf("--apply-chat-template: --endpoint-type %s takes no chat", o.kind)
	case len(o.urls) > 0 && o.embedded:
		return errors.New("--embedded and --url exclude each other")
	}
	if len(o.urls) == 0 {
		o.urls = []string{map[bool]string{true: "localhost:8001", false: "localhost:8000"}[k.GRPC()]}
	}
	return o.readAddresses()
}

// readAddresses reads what the user pastes as addresses: a scheme, the path of the API and a slash at the end are dropped.
func (o *options) readAddresses() error {
	protocol := plan.HTTP
	if api.Kind(o.kind).GRPC() {
		protocol = plan.GRPC
	}
	apis := []string{"v1", "v2", "generate", "generate_stream", "rerank"}
	if o.path != "" {
		apis = []string{o.path}
	}
	for i, text := range o.urls {
		url, tls, err := plan.Address(text, protocol, apis...)
		if err != nil {
			return err
		}
		o.urls[i], o.grpcTLS = url, o.grpcTLS || tls
	}
	return nil
}

// talks tells whether requests have a place for what was said before, and for a system prompt.
func (o *options) talks() bool {
	k := api.Kind(o.kind)
	return k.Talks() || o.chatTemplate && k.TakesText()
}

// modes counts what sets the load, and tells its names.
func (o *options) modes() []string {
	var out []string
	for _, m := range []struct {
		set  bool
		name string
	}{
		{len(o.rates) > 0, "--request-rate"},
		{len(o.stages) > 0, "--stages"},
		{len(o.sessionStages) > 0, "--concurrency-stages"},
		{o.userRate > 0, "--user-centric-rate"},
		{o.fixed, "--fixed-schedule"},
	} {
		if m.set {
			out = append(out, m.name)
		}
	}
	return out
}

func (o *options) checkLoad() error {
	modes := o.modes()
	switch {
	case o.closed && len(modes) > 0:
		return fmt.Errorf("--arrival-pattern concurrency_burst is a closed loop: use it with --concurrency, without %s", modes[0])
	case len(modes) > 1:
		return fmt.Errorf("%s exclude each other: each sets the load", strings.Join(modes, " and "))
	case len(modes) == 1 && len(o.concurrency) > 1:
		return fmt.Errorf("with %s, --concurrency is the limit of requests in flight: give one number", modes[0])
	case len(o.sessionStages) > 0 && len(o.concurrency) > 0:
		return errors.New("--concurrency-stages and --concurrency exclude each other")
	case o.spread > 0 && o.data.Pairs != "":
		return errors.New("--random-range-ratio and --sequence-distribution exclude each other")
	case o.chunks && o.noUsage:
		return errors.New("--per-chunk-usage and --no-usage exclude each other")
	case (o.userRate > 0) != (o.users > 0):
		return errors.New("--user-centric-rate and --num-users need each other")
	case o.fixed && o.noFix:
		return errors.New("--fixed-schedule and --no-fixed-schedule exclude each other")
	case o.fixed && o.data.Path == "":
		return errors.New("--fixed-schedule needs --input-file: the times are there")
	case o.rateRamp > 0 && len(o.rates) == 0:
		return errors.New("--request-rate-ramp-duration needs --request-rate")
	case o.ramp > 0 && (len(modes) > 0 || len(o.concurrency) == 0):
		return errors.New("--concurrency-ramp-duration needs --concurrency, without a rate")
	case o.thinkTime.Mean > 0 && len(modes) > 0 && len(o.sessionStages) == 0:
		return fmt.Errorf("--think-time needs a closed loop: use it with --concurrency, without %s", modes[0])
	case o.arrival != load.Gamma && o.smoothness > 0 && o.arrival != load.Poisson:
		return errors.New("--arrival-smoothness is the shape of gamma arrivals: use --arrival-pattern gamma")
	case o.smoothness > 0 && len(modes) == 0:
		return errors.New("--arrival-smoothness is the shape of arrivals at a rate: it needs --request-rate")
	case o.cancelRate > 0 && !o.table.Given("request-cancellation-delay") && o.cancelTokens == 0:
		return errors.New("--request-cancellation-rate needs --request-cancellation-delay or --request-cancellation-tokens")
	case o.cancelRate == 0 && (o.table.Given("request-cancellation-delay") || o.cancelTokens > 0):
		return errors.New("--request-cancellation-delay and -tokens need --request-cancellation-rate")
	case o.cancelTokens > 0 && o.data.Output.Mean == 0 && o.data.Path == "":
		return errors.New("--request-cancellation-tokens is a share of the requested tokens: add --output-tokens-mean")
	case o.cooldown > 0 && (o.duration == 0 || o.cooldown >= o.duration):
		return errors.New("--cooldown-duration is the end of --benchmark-duration: it needs a longer one")
	case o.until != "" && o.duration == 0 && o.requests == 0 && o.data.Path != "" && !o.data.Once:
		o.requests = 1 << 30
	}
	if o.smoothness > 0 {
		o.arrival = load.Gamma
	} else if o.arrival == load.Gamma {
		o.smoothness = 1
	}
	if len(modes) == 0 && len(o.concurrency) == 0 {
		o.concurrency = []int{1}
	}
	return nil
}

// checkAnswers looks at what needs streams.
func (o *options) checkAnswers() error {
	k := api.Kind(o.kind)
	system := o.data.System != "" || o.systemFile != "" || o.data.Prefix.SharedSystem > 0 || o.data.Bust == dataset.SystemPrefix || o.data.Bust == dataset.SystemSuffix
	streams := o.streams()
	switch {
	case system && !o.talks():
		return fmt.Errorf("--endpoint-type %s cannot carry a system prompt: omit it, or use chat or --apply-chat-template", o.kind)
	case o.data.Turns.Mean > 1 && !o.talks():
		return fmt.Errorf("--endpoint-type %s takes one prompt: conversations of several turns need chat, responses, messages or --apply-chat-template", o.kind)
	case !k.Streams() && o.streaming:
		return fmt.Errorf("--streaming: %s does not stream", o.kind)
	case o.streaming && o.noStream:
		return errors.New("--streaming and --no-streaming exclude each other")
	case o.prefill > 0 && !streams:
		return errors.New("--prefill-concurrency needs --streaming: without it there is no first token")
	case o.prefill > 0 && len(o.concurrency) > 0 && o.prefill > o.concurrency[0] && len(o.modes()) == 0:
		return fmt.Errorf("--prefill-concurrency %d is more than the concurrency %d", o.prefill, o.concurrency[0])
	case o.exactOutput && !k.SetsLeast():
		return fmt.Errorf("--output-tokens-mean-deterministic: --endpoint-type %s has no field for the least number of tokens; give the server's own field with --extra-inputs", o.kind)
	case o.exactOutput && o.data.Output.Mean == 0 && o.data.Path == "":
		return errors.New("--output-tokens-mean-deterministic needs --output-tokens-mean N")
	case o.cancelTokens > 0 && !streams:
		return errors.New("--request-cancellation-tokens needs --streaming")
	}
	if rankings(k) && o.data.Path == "" && o.data.Rankings.Passages.Mean == 0 {
		o.data.Rankings.Passages.Mean = 10
	}
	return nil
}

// levels are the loads, one after the other. timed: the prompts bring their own times.
func (o *options) levels(timed bool) []load.Level {
	most := 0
	if len(o.concurrency) > 0 {
		most = o.concurrency[0]
	}
	switch {
	case o.fixed, timed && len(o.modes()) == 0 && !o.noFix:
		return []load.Level{{Mode: plan.FixedSchedule, Concurrency: most}}
	case o.userRate > 0:
		return []load.Level{{Mode: plan.RequestRate, Rate: o.userRate, Users: o.users, Concurrency: most}}
	case len(o.stages) > 0:
		return []load.Level{{Mode: plan.RequestRate, Stages: o.stages, Concurrency: most}}
	case len(o.sessionStages) > 0:
		return []load.Level{{Mode: plan.Concurrency, Stages: o.sessionStages}}
	}
	var out []load.Level
	for _, r := range o.rates {
		out = append(out, load.Level{Mode: plan.RequestRate, Rate: r, Concurrency: most})
	}
	if len(out) > 0 {
		return out
	}
	for _, c := range o.concurrency {
		out = append(out, load.Level{Mode: plan.Concurrency, Concurrency: c})
	}
	return out
}

// loadOptions are how each level is measured.
func (o *options) loadOptions() (load.Options, error) {
	out := load.Options{
		Shape:    load.Shape{Arrival: o.arrival, Smoothness: o.smoothness, Ramp: max(o.ramp, o.rateRamp), Prefill: o.prefill},
		Requests: o.requests, Sessions: o.sessions, Duration: o.duration, Grace: o.grace,
		ThinkTime: o.thinkTime, Cooldown: o.cooldown,
		CancelShare: o.cancelRate / 100, CancelDelay: o.cancelDelay, CancelTokens: o.cancelTokens / 100,
		Timeout: o.timeout, MaxErrors: o.maxErrors, MaxErrorShare: o.endingErrorRate(),
		Confidence: o.confidence, Seed: o.data.Seed, Segment: o.segment,
	}
	if !o.table.Given("request-timeout-seconds") { // AIPerf's default of hours is no wish to wait so long for a sign of life
		out.Patience = engine.StallAfter
	}
	return out, o.parseTargets(&out)
}
