package llm_test

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redline-bench/redline/e2e/binary"
	"github.com/redline-bench/redline/e2e/peers"
	"github.com/redline-bench/redline/internal/result"
	"github.com/redline-bench/redline/internal/testkit/disturbance"
	"github.com/redline-bench/redline/internal/testkit/outcome"
)

// block is a level of seed 003's report: these lines, in this order.
var block = regexp.MustCompile(`(?m)^-{60}
Request concurrency: (\d+)
average_input_token_per_sec: (\S+)
average_output_token_per_sec: (\S+)
average_ttft: (\S+)
average_latency: (\S+)
p99_ttft: (\S+)
p99_latency: (\S+)
payload and results: (\d+) (\d+)
throughput: (\S+) infer/sec\.
`)

// words writes a tokenizer whose tokens are words.
func (r *rig) words(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(r.dir, "tok")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	var vocab strings.Builder
	vocab.WriteString(`"[UNK]":0`)
	for i, w := range []string{"prompt", "of", "the", "file"} {
		fmt.Fprintf(&vocab, `,%q:%d`, w, i+1)
	}
	text := `{"version":"1.0","added_tokens":[],"normalizer":null,"pre_tokenizer":{"type":"Whitespace"},"post_processor":null,"decoder":null,` +
		`"model":{"type":"WordLevel","vocab":{` + vocab.String() + `},"unk_token":"[UNK]"}}`
	if err := os.WriteFile(filepath.Join(dir, "tokenizer.json"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return dir
}

// templated is a tokenizer of words with a chat template that adds nothing to a prompt.
func (r *rig) templated(t *testing.T) string {
	t.Helper()
	dir := r.words(t)
	text := `{"chat_template":"{% for m in messages %}{{ m.content }}{% endfor %}"}`
	if err := os.WriteFile(filepath.Join(dir, "tokenizer_config.json"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return dir
}

// place is a server that uses both protocols of seed 003, and a folder with its files.
type place struct {
	*rig
	http, grpc string
	prompts    int
	tokens     int // of each response
	// osl requests that length; empty if the server's own is the same.
	osl []string
	// requests is how many requests each turn of the cross-check sends: a multiple of its concurrency, so that all slots end
	// at about the same time.
	requests string
	// crashed reports whether the server has crashed; nil if it is ours.
	crashed func(t *testing.T) bool
}

// fatal fails the test. A real server that has crashed tells nothing of the client.
func (p *place) fatal(t *testing.T, text string) {
	t.Helper()
	if p.crashed != nil && p.crashed(t) {
		outcome.Inconclusive(t, "Triton crashed")
	}
	t.Fatal(text)
}

// Seed 003's command prints its report, over gRPC and HTTP; the figures are those of its formulas; and its cross-check, a run of
// `redline profile`, measures the same server.
func TestSeed(t *testing.T) { seed(t, ownPlace(t)) }

// The same on the real Triton, with the seed's chain of models and its command word for word.
func TestSeedOnTriton(t *testing.T) { onTriton(t, seed) }

// Both tools measure the same server at the same load in short turns: the medians of the turns must agree.
func TestTimedTurns(t *testing.T) {
	turns := func(t *testing.T, p *place) {
		t.Helper()
		p.rig.prompts(t, p.prompts)
		data := p.steps(t)
		disturbance.Try(t, func() error { return p.takeTurns(t, data) })
	}
	t.Run("redline serve", func(t *testing.T) { turns(t, ownPlace(t)) })
	t.Run("Triton", func(t *testing.T) { onTriton(t, turns) })
}

// ownPlace is a `redline serve`.
func ownPlace(t *testing.T) *place {
	t.Helper()
	r := serve(t, "--ttft", "60ms", "--itl", "10ms")
	return &place{rig: r, http: r.HTTP, grpc: r.GRPC, prompts: 24, tokens: 8, osl: []string{"--osl", "8"}, requests: "48"}
}

// onTriton calls test with a real Triton that has the seed's models.
func onTriton(t *testing.T, test func(*testing.T, *place)) {
	t.Helper()
	p, err := peers.Install(t.Context())
	if err != nil {
		outcome.NotTested(t, "seed 003 on the real Triton", err, "")
	}
	r := folder(t)
	keeper := peers.Keep(t, func() (*peers.Triton, error) {
		return p.StartTritonWith(t.Context(), r.dir, []string{filepath.Join(binary.Root(), "e2e", "llm", "models")})
	})
	triton := keeper.Triton()
	crashed := func(t *testing.T) bool { return keeper.Crashed(t, triton) }
	test(t, &place{rig: r, http: triton.HTTP, grpc: triton.GRPC, prompts: 12, tokens: 16, requests: "32", crashed: crashed})
	if err := triton.Err(); err != nil {
		t.Error(err)
	}
}

func seed(t *testing.T, p *place) {
	t.Helper()
	file, tok := p.rig.prompts(t, p.prompts), p.words(t)
	for _, proto := range []string{"grpc", "http"} {
		url := map[string]string{"grpc": p.grpc, "http": p.http}[proto]
		e := p.program(t, "llm_perf", append([]string{"-u", url, "-i", proto, "-m", "ensemble", "--concurrency", "1,4,8", "--input-data", file, "--tokenizer-path", tok}, p.osl...)...)
		if e.code != 0 {
			p.fatal(t, fmt.Sprintf("%d\n%s%s", e.code, e.out, e.err))
		}
		first, rest, _ := strings.Cut(e.out, "\n")
		if want := fmt.Sprintf("triton_url: %s, protocol: %s, model: ensemble", url, proto); first != want {
			t.Errorf("the first line is %q, want %q", first, want)
		}
		levels := block.FindAllStringSubmatch(rest, -1)
		if len(levels) != 3 || strings.TrimSpace(block.ReplaceAllString(rest, "")) != "" {
			t.Fatalf("the report is\n%s", e.out)
		}
		for i, lv := range levels {
			p.check(t, lv, []string{"1", "4", "8"}[i])
		}
	}
	p.crossCheck(t)
}

// check compares the figures of a level with one another.
func (p *place) check(t *testing.T, lv []string, concurrency string) {
	t.Helper()
	if n := strconv.Itoa(p.prompts); lv[1] != concurrency || lv[8] != n || lv[9] != n {
		t.Errorf("level %v", lv)
	}
	// All tokens over the sum of all latencies is their mean over the mean latency: five words a prompt.
	latency := number(t, lv[5])
	if mean := number(t, lv[2]) * latency; math.Abs(mean-5) > 1e-6 {
		t.Errorf("%s tokens a second times a latency of %s are %v tokens", lv[2], lv[5], mean)
	}
	if mean := number(t, lv[3]) * latency; math.Abs(mean-float64(p.tokens)) > 1e-6 {
		t.Errorf("%s tokens a second times a latency of %s are %v tokens of an answer", lv[3], lv[5], mean)
	}
	if ttft := number(t, lv[4]); ttft < 0.06 || latency < ttft || number(t, lv[6]) < ttft || number(t, lv[7]) < latency {
		t.Errorf("times %v", lv[4:8])
	}
}

func number(t *testing.T, text string) float64 {
	t.Helper()
	v, err := strconv.ParseFloat(text, 64)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// What the two tools may differ by, and how many turns each has.
const (
	seedTolerance = 0.02
	seedTurns     = 3
)

// crossCheck runs the seed's own cross-check. On a machine that stands still, a window of it may have no request.
func (p *place) crossCheck(t *testing.T) {
	t.Helper()
	data := p.steps(t)
	disturbance.Try(t, func() error {
		levels, err := p.profile(t, data, "--concurrency-range", "6:8:1", "--stability-percentage", "999", "--measurement-interval", "1000", "-v")
		if err == nil && (len(levels) != 3 || levels[2].Concurrency != 8) {
			t.Fatalf("the seed's cross-check measured %d levels, want 3 up to concurrency 8", len(levels))
		}
		return err
	})
}

// steps writes the prompts as input data of `redline profile`.
func (p *place) steps(t *testing.T) string {
	t.Helper()
	var steps []string
	for i := range p.prompts {
		steps = append(steps, fmt.Sprintf(`{"text_input":["prompt %d of the file"],"max_tokens":[%d],"stream":[true]}`, i, p.tokens))
	}
	return p.write(t, "data.json", `{"data":[`+strings.Join(steps, ",")+`]}`)
}

// takeTurns measures with both tools in turn and compares the medians.
func (p *place) takeTurns(t *testing.T, data string) error {
	t.Helper()
	llm, profile := map[string][]float64{}, map[string][]float64{}
	for range seedTurns {
		lv := p.last(t)
		llm["throughput"] = append(llm["throughput"], number(t, lv[10]))
		llm["ttft"] = append(llm["ttft"], number(t, lv[4]))
		llm["latency"] = append(llm["latency"], number(t, lv[5]))
		levels, err := p.profile(t, data, "--concurrency-range", "8", "--request-count", p.requests)
		if err != nil {
			return err
		}
		c := levels[0].Client
		// As llm computes it: over the time from the first send to the last end.
		profile["throughput"] = append(profile["throughput"], float64(c.Requests)/time.Duration(c.DurationNs).Seconds())
		profile["ttft"] = append(profile["ttft"], float64(c.First.Avg)/1e9)
		profile["latency"] = append(profile["latency"], float64(c.Latency.Avg)/1e9)
	}
	var wrong error
	for what := range llm {
		a, b := median(profile[what]), median(llm[what])
		t.Logf("%s: profile %.4f, llm %.4f: %+.2f %%", what, a, b, (a/b-1)*100)
		if math.Abs(a/b-1) > seedTolerance {
			wrong = fmt.Errorf("%s: profile says %.4f, llm %.4f; they may differ by %v", what, a, b, seedTolerance)
		}
	}
	return wrong
}

func median(values []float64) float64 { return slices.Sorted(slices.Values(values))[len(values)/2] }

// profile runs `redline profile` on the streamed model. No request may fail. The error is that of a window without a request.
func (p *place) profile(t *testing.T, data string, args ...string) ([]result.Level, error) {
	t.Helper()
	e := p.redline(t, append([]string{
		"profile", "-m", "ensemble", "-u", p.grpc, "-i", "grpc", "--async", "--streaming", "--shape", "max_tokens:1", "--shape", "text_input:1",
		"--input-data", data, "--json", "p.json",
	}, args...)...)
	text := fmt.Sprintf("exit code %d\n%s%s", e.code, e.out, e.err)
	switch e.code {
	case 0:
	case binary.NoRequests:
		return nil, errors.New(text)
	default:
		p.fatal(t, text)
	}
	levels := binary.Result(t, filepath.Join(p.dir, "p.json")).Levels
	for i := range levels {
		if n := levels[i].Client.Failed; n > 0 {
			p.fatal(t, fmt.Sprintf("%d failed requests: %+v", n, levels[i].Failures))
		}
	}
	return levels, nil
}

// last measures the last level of seed 003's command.
func (p *place) last(t *testing.T) []string {
	t.Helper()
	e := p.redline(t, append([]string{"llm", "--console", "blocks", "-u", p.grpc, "-i", "grpc", "-m", "ensemble", "--concurrency", "8", "--input-data", "prompts.jsonl", "--request-count", p.requests}, p.osl...)...)
	m := block.FindStringSubmatch(e.out)
	if m == nil {
		p.fatal(t, e.out+e.err)
	}
	return m
}
