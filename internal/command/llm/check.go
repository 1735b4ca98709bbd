package llm

import (
	"cmp"
	"slices"
	"strings"

	"github.com/redline-bench/redline/internal/engine"
	"github.com/redline-bench/redline/internal/llm/dataset"
	api "github.com/redline-bench/redline/internal/llm/endpoint"
	"github.com/redline-bench/redline/internal/llm/load"
	"github.com/redline-bench/redline/internal/llm/metric"
	"github.com/redline-bench/redline/internal/plan"
)

// newPlan returns a draft as a plan, or all its faults. A plan that goes through newPlan again stays the same.
func newPlan(draft Plan) (*Plan, error) {
	p := &draft
	p.URLs = slices.Clone(p.URLs) // readAddresses changes them
	var f plan.Faults
	f.Add(p.readAddresses())
	p.checkTarget(&f)
	p.checkLoad(&f)
	p.checkLists(&f)
	p.checkSegment(&f)
	p.checkFleet(&f)
	p.Warm.check(&f)
	p.checkResponses(&f)
	_, err := p.wanted()
	f.Add(err)
	f.Add(p.parseTargets(&load.Options{}))
	if len(p.Extra) == 0 {
		p.Extra = nil
	}
	if p.Smoothness > 0 {
		p.Arrival = load.Gamma
	}
	if p.Until != "" && p.Duration == 0 && p.Requests == 0 && p.Data.Path != "" && !p.Data.Once {
		p.Requests = 1 << 30
	}
	if rankings(api.Kind(p.Kind)) && p.Data.Path == "" && p.Data.Rankings.Passages.Mean == 0 {
		p.Data.Rankings.Passages.Mean = 10
	}
	return p, f.Err()
}

// checkSegment holds what processes that have parts of one load cannot do: they do not know how the others go on.
func (p *Plan) checkSegment(f *plan.Faults) {
	if p.Segment.Whole() {
		return
	}
	f.When(p.Embedded, "--segment and --embedded exclude each other: each part would load a server of its own")
	f.When(p.several() || len(p.Concurrency) > 1 || len(p.Rates) > 1, "--segment needs a load with one level: the parts of a load do not begin the next level together")
	f.When(p.Until != "", "--segment and --until exclude each other: the parts of a load do not know what the others measured")
	f.When(p.Calibrate, "--segment and --calibrate exclude each other: run 'redline calibrate llm' on each machine")
}

// checkTarget holds the endpoint against what is sent to it.
func (p *Plan) checkTarget(f *plan.Faults) {
	k := api.Kind(p.Kind)
	f.When((p.TLS.CertFile != "") != (p.TLS.KeyFile != ""), "--cert-file and --key-file need each other")
	f.When(p.APIKey != "" && p.APIKeyEnv != "", "--api-key and --api-key-env exclude each other")
	f.When(p.SystemFile != "" && p.Data.System != "", "--system-prompt and --system-prompt-file name the same thing: give one")
	f.When(k.GRPC() && p.Protocol == plan.HTTP || !k.GRPC() && p.Protocol == plan.GRPC, "--endpoint-type %s cannot be used with -i %s", p.Kind, p.Protocol)
	f.When(p.Template != "" && k != api.Template, "--template needs --endpoint-type template")
	f.When(k == api.Template && (p.Template == "" || p.Path == ""),
		`--endpoint-type template needs --template FILE, or its text as --template '{"text": {{ text|tojson }}}', and --endpoint PATH`)
	f.When(k.GRPC() && p.Path != "", "--endpoint is an HTTP path: a model over gRPC has none")
	f.When(p.ChatTemplate && p.Tokenizer == "", "--apply-chat-template needs --tokenizer DIR: the chat template is one of the tokenizer's files")
	f.When(p.ChatTemplate && !p.talks(), "--apply-chat-template: --endpoint-type %s takes no chat", p.Kind)
	f.When(len(p.URLs) > 0 && p.Embedded, "--embedded and --url exclude each other")
}

// readAddresses reads what the user pastes as addresses: a scheme, the path of the API and a slash at the end are dropped.
func (p *Plan) readAddresses() error {
	protocol := plan.HTTP
	if api.Kind(p.Kind).GRPC() {
		protocol = plan.GRPC
	}
	apis := []string{"v1", "v2", "generate", "generate_stream", "rerank"}
	if p.Path != "" {
		apis = []string{p.Path}
	}
	for i, text := range p.URLs {
		url, tls, err := plan.Address(text, protocol, apis...)
		if err != nil {
			return err
		}
		p.URLs[i], p.GRPCTLS = url, p.GRPCTLS || tls
	}
	return nil
}

// addresses are those of the servers: Triton's usual one where none is given.
func (p *Plan) addresses() []string {
	switch {
	case len(p.URLs) > 0:
		return p.URLs
	case api.Kind(p.Kind).GRPC():
		return []string{plan.GRPC.Address()}
	}
	return []string{plan.HTTP.Address()}
}

// talks tells whether requests have a place for what was said before, and for a system prompt.
func (p *Plan) talks() bool {
	k := api.Kind(p.Kind)
	return k.Talks() || p.ChatTemplate && k.TakesText()
}

// modes are the names of the options that set the load.
func (p *Plan) modes() []string {
	var out []string
	for _, m := range []struct {
		set  bool
		name string
	}{
		{len(p.Rates) > 0, "--request-rate"},
		{len(p.Stages) > 0, "--stages"},
		{len(p.SessionStages) > 0, "--concurrency-stages"},
		{p.UserRate > 0, "--user-centric-rate"},
		{p.Fixed, "--fixed-schedule"},
	} {
		if m.set {
			out = append(out, m.name)
		}
	}
	return out
}

func (p *Plan) checkLoad(f *plan.Faults) {
	modes := p.modes()
	if len(modes) > 0 {
		f.When(p.Closed, "--arrival-pattern concurrency_burst is a closed loop: use it with --concurrency, without %s", modes[0])
		f.When(len(modes) > 1, "%s exclude each other: each sets the load", strings.Join(modes, " and "))
		f.When(len(modes) == 1 && len(p.Concurrency) > 1, "with %s, --concurrency is the limit of requests in flight: give one number", modes[0])
		f.When(p.ThinkTime.Mean > 0 && len(p.SessionStages) == 0, "--think-time needs a closed loop: use it with --concurrency, without %s", modes[0])
	}
	f.When(len(p.SessionStages) > 0 && len(p.Concurrency) > 0, "--concurrency-stages and --concurrency exclude each other")
	f.When(p.Spread > 0 && p.Data.Pairs != "", "--random-range-ratio and --sequence-distribution exclude each other")
	f.When(p.ServerCounts && p.OwnCounts, "--use-server-token-count and --no-use-server-token-count exclude each other")
	f.When(p.Chunks && p.NoUsage, "--per-chunk-usage and --no-usage exclude each other")
	f.When((p.UserRate > 0) != (p.Users > 0), "--user-centric-rate and --num-users need each other")
	f.When(p.Fixed && p.NoFix, "--fixed-schedule and --no-fixed-schedule exclude each other")
	f.When(p.Fixed && p.Data.Path == "", "--fixed-schedule needs --input-file: the times are there")
	f.When(p.RateRamp > 0 && len(p.Rates) == 0, "--request-rate-ramp-duration needs --request-rate")
	f.When(p.Ramp > 0 && (len(modes) > 0 || len(p.Concurrency) == 0), "--concurrency-ramp-duration needs --concurrency, without a rate")
	f.When(p.Arrival == load.Constant && p.Smoothness > 0, "--arrival-smoothness is the shape of gamma arrivals: use --arrival-pattern gamma")
	f.When(p.Arrival != load.Constant && p.Smoothness > 0 && len(modes) == 0, "--arrival-smoothness is the shape of arrivals at a rate: it needs --request-rate")
	f.When(p.CancelRate > 0 && p.CancelDelay == nil && p.CancelTokens == 0, "--request-cancellation-rate needs --request-cancellation-delay or --request-cancellation-tokens")
	f.When(p.CancelRate == 0 && (p.CancelDelay != nil || p.CancelTokens > 0), "--request-cancellation-delay and -tokens need --request-cancellation-rate")
	f.When(p.CancelTokens > 0 && p.Data.Output.Mean == 0 && p.Data.Path == "", "--request-cancellation-tokens is a share of the requested tokens: add --output-tokens-mean")
	f.When(p.Cooldown > 0 && p.Cooldown >= p.Duration, "--cooldown-duration is the end of --benchmark-duration: it needs a longer one")
}

// checkResponses looks at what needs streams.
func (p *Plan) checkResponses(f *plan.Faults) {
	k := api.Kind(p.Kind)
	system := p.Data.System != "" || p.SystemFile != "" || p.Data.Prefix.SharedSystem > 0 || p.Data.Bust == dataset.SystemPrefix || p.Data.Bust == dataset.SystemSuffix
	streams, most := p.streams(), p.conversations()
	f.When(system && !p.talks(), "--endpoint-type %s cannot carry a system prompt: omit it, or use chat or --apply-chat-template", p.Kind)
	f.When(p.Data.Turns.Mean > 1 && !p.talks(),
		"--endpoint-type %s takes one prompt: conversations of several turns need chat, responses, messages or --apply-chat-template", p.Kind)
	f.When(!k.Streams() && p.Streaming, "--streaming: %s does not stream", p.Kind)
	f.When(p.Streaming && p.NoStream, "--streaming and --no-streaming exclude each other")
	f.When(p.Prefill > 0 && !streams, "--prefill-concurrency needs --streaming: without it there is no first token")
	if len(most) > 0 && len(p.modes()) == 0 {
		f.When(streams && p.Prefill > most[0], "--prefill-concurrency %d is more than the concurrency %d", p.Prefill, most[0])
	}
	f.When(p.ExactOutput && !k.SetsLeast(),
		"--output-tokens-mean-deterministic: --endpoint-type %s has no field for the least number of tokens; give the server's own field with --extra-inputs", p.Kind)
	f.When(p.ExactOutput && p.Data.Output.Mean == 0 && p.Data.Path == "", "--output-tokens-mean-deterministic needs --output-tokens-mean N")
	f.When(p.CancelTokens > 0 && !streams, "--request-cancellation-tokens needs --streaming")
}

// levels are the loads, one after the other. timed: the prompts bring their own times.
func (p *Plan) levels(timed bool) []load.Level {
	most := 0
	if len(p.Concurrency) > 0 {
		most = p.Concurrency[0]
	}
	switch {
	case p.Fixed, timed && len(p.modes()) == 0 && !p.NoFix:
		return []load.Level{{Mode: plan.FixedSchedule, Concurrency: most}}
	case p.UserRate > 0:
		return []load.Level{{Mode: plan.RequestRate, Rate: p.UserRate, Users: p.Users, Concurrency: most}}
	case len(p.Stages) > 0:
		return []load.Level{{Mode: plan.RequestRate, Stages: p.Stages, Concurrency: most}}
	case len(p.SessionStages) > 0:
		return []load.Level{{Mode: plan.Concurrency, Stages: p.SessionStages}}
	}
	var out []load.Level
	for _, r := range p.Rates {
		out = append(out, load.Level{Mode: plan.RequestRate, Rate: r, Concurrency: most})
	}
	if len(out) > 0 {
		return out
	}
	for _, c := range p.conversations() {
		out = append(out, load.Level{Mode: plan.Concurrency, Concurrency: c})
	}
	return out
}

// loadOptions are how each level is measured.
func (p *Plan) loadOptions() load.Options {
	out := load.Options{
		Shape:    load.Shape{Arrival: p.Arrival, Smoothness: p.Smoothness, Ramp: max(p.Ramp, p.RateRamp), Prefill: p.Prefill},
		Requests: p.Requests, Sessions: p.Sessions, Duration: p.Duration, Grace: p.Grace,
		ThinkTime: p.ThinkTime, Cooldown: p.Cooldown, CancelShare: p.CancelRate / 100, CancelTokens: p.CancelTokens / 100,
		Timeout: cmp.Or(p.Timeout, requestTimeout), MaxErrors: p.MaxErrors, MaxErrorShare: p.MaxErrorRate,
		Confidence: p.Confidence, Seed: p.Data.Seed, Segment: p.Segment,
	}
	if p.Arrival == load.Gamma && p.Smoothness == 0 {
		out.Smoothness = 1
	}
	if p.CancelDelay != nil {
		out.CancelDelay = *p.CancelDelay
	}
	if p.Timeout == 0 { // AIPerf's default of hours is no wish to wait so long for a sign of life
		out.Patience = engine.StallAfter
	}
	_ = p.parseTargets(&out) // newPlan has read them
	return out
}

// parseTargets reads what needs the metrics' names.
func (p *Plan) parseTargets(to *load.Options) error {
	var f plan.Faults
	if p.Goodput != "" {
		list, err := metric.ParseGoodput(p.Goodput)
		f.When(err != nil, "--goodput %w", err)
		to.Goodput = list
	}
	if p.Until != "" {
		t, err := metric.ParseTarget(p.Until)
		f.When(err != nil, "--until %w", err)
		to.Until = &t
	}
	return f.Err()
}
