package artifact

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/redline-bench/redline/internal/llm"
	"github.com/redline-bench/redline/internal/llm/metric"
	"github.com/redline-bench/redline/internal/result"
	"github.com/redline-bench/redline/internal/tensor"
)

// vllmFile is a result as `vllm bench serve --save-result --save-detailed` writes it. Its lists have a value a
// request, so they are collected in files of their own and put together at the end.
type vllmFile struct {
	*out
	cfg   *Config
	lists []*vllmList
	ok    int
	bad   int
	peaks peaks
}

// peaks counts, second by second from the first request on, the chunks that came and the requests that were in flight.
type peaks struct {
	from   int64
	tokens []int64
	change []int64 // of the number in flight
}

func (p *peaks) add(s *llm.Sample) {
	if p.from == 0 {
		p.from = s.Sent
	}
	second := func(at int64) int { return int(max(0, at-p.from) / 1e9) }
	last := second(max(s.End, s.Sent)) + 1
	for len(p.tokens) <= last {
		p.tokens, p.change = append(p.tokens, 0), append(p.change, 0)
	}
	for i := range s.Chunks {
		p.tokens[min(last, second(s.Chunks[i].At))]++
	}
	p.change[second(s.Sent)]++
	p.change[last]--
}

// most are the most tokens of a second, and the most requests that were in flight in one.
func (p *peaks) most() (tokens, flying int64) {
	now := int64(0)
	for i := range p.tokens {
		now += p.change[i]
		tokens, flying = max(tokens, p.tokens[i]), max(flying, now)
	}
	return tokens, flying
}

// vllmList is one list in progress.
type vllmList struct {
	key string
	out *out
	n   int
}

// The lists, in vLLM's order.
const (
	inputLens = iota
	outputLens
	ttfts
	itls
	startTimes
	texts
	errorTexts
	numLists
)

var listKeys = [numLists]string{"input_lens", "output_lens", "ttfts", "itls", "start_times", "generated_texts", "errors"}

func newVLLM(cfg *Config) (sink, error) {
	o, err := create(cfg, "vllm_bench.json")
	if err != nil {
		return nil, err
	}
	f := &vllmFile{cfg: cfg, out: o}
	for _, key := range listKeys {
		l, err := create(cfg, "vllm_bench."+key)
		if err != nil {
			f.abort()
			return nil, err
		}
		f.lists = append(f.lists, &vllmList{key: key, out: l})
	}
	return f, nil
}

func (f *vllmFile) abort() {
	f.out.abort()
	for _, l := range f.lists {
		l.out.abort()
	}
}

// begin is the buffer of a list with what stands between two values.
func (l *vllmList) begin() []byte {
	b := l.out.buf
	if l.n > 0 {
		b = append(b, ", "...)
	}
	l.n++
	return b
}

func (f *vllmFile) sample(s *llm.Sample, v *metric.Values, ok bool) error {
	if s.Warmup {
		return nil
	}
	l := f.lists
	var out [numLists][]byte
	for i := range l {
		out[i] = l[i].begin()
	}
	out[startTimes] = appendNumber(out[startTimes], float64(s.Sent)/1e9)
	out[errorTexts] = tensor.AppendQuoted(out[errorTexts], s.Err)
	out[texts] = tensor.AppendQuoted(out[texts], s.Text)
	out[inputLens] = strconv.AppendInt(out[inputLens], int64(s.Input.Tokens), 10)
	out[itls] = append(out[itls], '[')
	if ok {
		f.peaks.add(s)
		f.ok++
		out[outputLens] = strconv.AppendInt(out[outputLens], int64(s.Output.Tokens+s.Reasoning.Tokens), 10)
		out[ttfts] = appendNumber(out[ttfts], orZero(v[metric.VLLMFirst])/1000)
		last := s.Headers
		for i := range s.Chunks {
			if i > 0 || last > 0 && s.Chunks[i].At > last {
				if out[itls][len(out[itls])-1] != '[' {
					out[itls] = append(out[itls], ", "...)
				}
				out[itls] = appendNumber(out[itls], float64(s.Chunks[i].At-last)/1e9)
			}
			last = s.Chunks[i].At
		}
	} else {
		f.bad++
		out[outputLens] = append(out[outputLens], '0')
		out[ttfts] = append(out[ttfts], "0.0"...)
	}
	out[itls] = append(out[itls], ']')
	for i := range l {
		if err := l[i].out.put(out[i]); err != nil {
			return err
		}
	}
	return nil
}

func orZero(v float64) float64 {
	if v != v { // NaN
		return 0
	}
	return v
}

func (f *vllmFile) close(o *Outcome) error {
	defer f.abort() // what is committed stays
	doc, err := encode(f.head(o))
	if err != nil {
		return fmt.Errorf("encode %s: %w", f.out.f.Path(), err)
	}
	w := f.out.w // commit tells if it failed
	w.Write(bytes.TrimSuffix(doc, []byte("}")))
	for _, l := range f.lists {
		if err := l.out.w.Flush(); err != nil {
			return f.out.named(err)
		}
		list, err := l.out.f.Content()
		if err != nil {
			return f.out.named(err)
		}
		fmt.Fprintf(w, ", %q: [", l.key)
		if _, err := io.Copy(w, list); err != nil {
			return f.out.named(err)
		}
		w.WriteByte(']')
	}
	w.WriteString("}\n")
	return f.out.commit()
}

// head is everything except the lists.
func (f *vllmFile) head(o *Outcome) object {
	c := f.cfg
	avg := func(tag string) any {
		if m, ok := metric.Find(o.Metrics, tag); ok {
			return number(m.Avg)
		}
		return number(0)
	}
	whole := func(tag string) any {
		m, _ := metric.Find(o.Metrics, tag)
		return int64(m.Avg)
	}
	var rate, limit any = "inf", json.RawMessage("null")
	if c.Rate > 0 {
		rate = number(c.Rate)
	}
	if c.Concurrency > 0 {
		limit = c.Concurrency
	}
	doc := object{
		{"date", time.Unix(0, o.Begin).Format("20060102-150405")},
		{"endpoint_type", "openai-" + c.EndpointType},
		{"backend", "openai-" + c.EndpointType},
		{"label", "redline"},
		{"model_id", c.Model},
		{"tokenizer_id", c.Tokenizer},
		{"num_prompts", f.ok + f.bad},
		{"request_rate", rate},
		{"burstiness", number(1)},
		{"max_concurrency", limit},
		{"duration", avg("benchmark_duration")},
		{"completed", f.ok},
		{"failed", f.bad},
		{"total_input_tokens", whole("total_isl")},
		{"total_output_tokens", whole("total_osl")},
		{"request_throughput", avg("request_throughput")},
	}
	goodput := any(json.RawMessage("null"))
	if _, ok := metric.Find(o.Metrics, "goodput"); ok {
		goodput = avg("goodput")
	}
	doc = append(doc, field{"request_goodput", goodput}, field{"output_throughput", avg("output_token_throughput")}, field{"total_token_throughput", avg("total_token_throughput")})
	for _, m := range []struct{ key, tag string }{{"ttft", "vllm_ttft"}, {"tpot", "vllm_tpot"}, {"itl", "vllm_itl"}, {"e2el", "vllm_e2el"}} {
		doc = append(doc, vllmStats(o.Metrics, m.key, m.tag)...)
	}
	tokens, flying := f.peaks.most()
	return append(doc, field{"max_output_tokens_per_s", number(tokens)}, field{"max_concurrent_requests", flying}, field{"rtfx", number(0)})
}

func vllmStats(list []result.Metric, key, tag string) object {
	m, ok := metric.Find(list, tag)
	if !ok || !m.Distributed() {
		return nil
	}
	doc := object{{"mean_" + key + "_ms", number(m.Avg)}}
	for _, s := range []struct {
		name string
		p    float64
	}{{"median_", 50}, {"p50_", 50}, {"p90_", 90}, {"p95_", 95}, {"p99_", 99}} {
		if v, ok := m.Find(s.p); ok {
			doc = append(doc, field{s.name + key + "_ms", number(v)})
		}
	}
	return append(doc, field{"std_" + key + "_ms", number(m.Std)})
}
