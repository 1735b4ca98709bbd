package llm

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	api "github.com/redline-bench/redline/internal/llm/endpoint"
	"github.com/redline-bench/redline/internal/option"
)

// genaiperfRows are options of GenAI-Perf that other options of this command replace, and perf_analyzer's that people give with
// them. Some have a meaning; for the others the error says what to use instead.
func (o *options) genaiperfRows() []option.Row {
	rows := []option.Row{
		{Long: "backend", Arg: "NAME", Help: "tensorrtllm or vllm: a text model of Triton over gRPC, like --endpoint-type kserve", To: option.Func(func(v string) error {
			if v != "tensorrtllm" && v != "vllm" {
				return fmt.Errorf("is tensorrtllm or vllm, for a text model of Triton, not %q: name another API with --endpoint-type", v)
			}
			o.triton = true
			return nil
		}).Of("tensorrtllm", "vllm")},
		{Long: "service-kind", Arg: "KIND", Help: "triton: a text model of Triton over gRPC, like --endpoint-type kserve; openai: an HTTP API", To: option.Func(func(v string) error {
			switch o.triton = v == "triton"; v {
			case "triton", "openai":
				return nil
			case "dynamic_grpc", "tensorrtllm_engine":
				_, err := api.Parse(v)
				return err
			}
			return fmt.Errorf("is triton or openai, not %q: use 'redline profile --service-kind %s'", v, v)
		}).Of("triton", "openai")},
		{Long: "measurement-interval", Short: 'p', Arg: "TIME", Help: "--benchmark-duration", To: option.Time(&o.Duration, time.Millisecond)},
		{Long: "output-tokens-mean-deterministic", Help: "request responses of exactly the length of --output-tokens-mean: sends min_tokens and ignore_eos, to Triton min_length", To: option.Switch(&o.ExactOutput)},
	}
	for _, h := range genaiperfHints {
		rows = append(rows, option.Row{Also: h.names, Short: h.short, Instead: "is an option of " + h.tool + " that is not supported: " + h.hint})
	}
	return option.Group("GenAI-Perf's options", rows)
}

// genaiperfHints name what to use instead of options that this command does not have.
var genaiperfHints = []struct {
	tool, names string
	short       byte
	hint        string
}{
	{"GenAI-Perf", "generate-plots", 0, "use --report FILE for a page with charts"},
	{"GenAI-Perf", "stability-percentage", 's', `a level has a count or a duration; use --until "ttft.p99 ± 5 %" to measure until a metric is known well enough`},
	{"GenAI-Perf", "grpc-method", 0, "use 'redline profile --service-kind dynamic_grpc --grpc-method METHOD'"},
	{"GenAI-Perf", "sweep-list sweep-range sweep-min sweep-max sweep-step", 0, "give the levels as a list: --concurrency 1,2,4, --request-rate 10,20, --isl 100,200 or --num-conversations 10,20"},
	{"GenAI-Perf", "checkpoint-dir enable-checkpointing", 0, "every run is kept: see 'redline history'"},
	{"GenAI-Perf", "file override-config", 'f', "put the options into a scenario and run it with 'redline run FILE'; results go to --json FILE or --artifact-dir DIR"},
	{"GenAI-Perf", "input-directory", 'd', "use 'redline compare' or 'redline report' with the folders of the runs"},
	{"perf_analyzer", "concurrency-range", 0, "use --concurrency 1:8:1, or 1,2,4"},
	{"perf_analyzer", "request-rate-range", 0, "use --request-rate 10,20,30"},
	{"perf_analyzer", "measurement-request-count", 0, "use --request-count N"},
	{"perf_analyzer", "measurement-mode", 0, "use --request-count N or --benchmark-duration SECONDS"},
	{"perf_analyzer", "latency-report-file verbose-csv", 0, "use --artifact-dir DIR, which has a CSV file"},
	{"perf_analyzer", "metrics-url collect-metrics metrics-interval", 0, "use --server-metrics URL"},
	{"perf_analyzer", "request-distribution", 0, "use --arrival-pattern constant or poisson"},
	{"perf_analyzer", "latency-threshold binary-search", 0, "'redline find llm --slo RULE' searches for the highest load that holds objectives; bounds of a run are --goodput or --assert"},
	{"perf_analyzer", "async sync max-threads percentile max-trials", 0, "it is not needed here: requests are always asynchronous, and all percentiles are reported"},
	{"perf_analyzer", "shape string-length string-data shared-memory output-shared-memory-size model-version bls-composing-models", 0, "it describes tensors: use 'redline profile'"},
}

// settle applies the forms in which GenAI-Perf and AIPerf write the input and the dialect of an endpoint.
func (o *options) settle() error {
	if form, rest, ok := strings.Cut(o.Data.Path, ":"); ok {
		switch form {
		case "payload":
			o.Data.Path, o.Data.Format = rest, cmp.Or(o.Data.Format, "payload")
		case "synthetic":
			if rest != "queries,passages" {
				return fmt.Errorf("--input-file synthetic: is synthetic:queries,passages, not %q; prompts are generated without --input-file", o.Data.Path)
			}
			o.Data.Path = ""
			if !rankings(api.Kind(o.Kind)) {
				return fmt.Errorf("--input-file synthetic:queries,passages is the input of rankings, not of --endpoint-type %s", o.Kind)
			}
			o.rankLengths()
		}
	}
	return o.settleDialect()
}

// rankLengths gives queries and passages the lengths of generated prompts, as GenAI-Perf does: a passage for each text of a batch.
func (o *options) rankLengths() {
	r := &o.Data.Rankings
	if !r.QueryTokens.Set() {
		r.QueryTokens = o.Data.Input
	}
	if !r.PassageTokens.Set() {
		r.PassageTokens = o.Data.Input
	}
	if !r.Passages.Set() {
		r.Passages.Mean = float64(max(o.Data.Batch, 1))
	}
	o.Data.Batch = 0
}

// settleDialect takes names out of --extra-inputs that are no fields of a body: the dialect of rankings, and the template and the
// response's field of a template.
func (o *options) settleDialect() error {
	k := api.Kind(o.Kind)
	if v, ok := o.Extra["rankings"]; ok && rankings(k) {
		delete(o.Extra, "rankings")
		dialect := map[string]api.Kind{"tei": api.TEIRank, "cohere": api.CohereRank, "nim": api.NIMRank}[plainText(v)]
		if dialect == "" {
			return fmt.Errorf("--extra-inputs rankings:%s: is tei, cohere or nim", plainText(v))
		}
		o.Kind = string(dialect)
	}
	if k != api.Template {
		return nil
	}
	for name, to := range map[string]*string{"payload_template": &o.Template, "response_field": &o.Response} {
		if v, ok := o.Extra[name]; ok {
			*to = plainText(v)
			delete(o.Extra, name)
		}
	}
	if named, ok := api.NamedTemplates[o.Template]; ok {
		o.Template = named
	}
	if o.Path == "" {
		o.pathFromURL()
	}
	return nil
}

// pathFromURL takes the path of a template's endpoint from the addresses, as AIPerf does.
func (o *options) pathFromURL() {
	for i, u := range o.URLs {
		scheme, rest, ok := strings.Cut(u, "://")
		if !ok {
			scheme, rest = "", u
		} else {
			scheme += "://"
		}
		host, path, ok := strings.Cut(rest, "/")
		if !ok {
			continue
		}
		o.URLs[i], o.Path = scheme+host, path
	}
}

func rankings(k api.Kind) bool { return k == api.CohereRank || k == api.TEIRank || k == api.NIMRank }
