package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/redline-bench/redline/internal/calibrate"
	"github.com/redline-bench/redline/internal/cleantext"
	"github.com/redline-bench/redline/internal/clock"
	"github.com/redline-bench/redline/internal/llm"
	api "github.com/redline-bench/redline/internal/llm/endpoint"
	"github.com/redline-bench/redline/internal/llm/load"
	"github.com/redline-bench/redline/internal/optset"
	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/record"
	"github.com/redline-bench/redline/internal/result"
)

// The server that a language-model run is calibrated with: its pace, and for how long it is asked.
const (
	llmFloorTTFT  = 50 * time.Millisecond
	llmFloorITL   = 10 * time.Millisecond
	llmFloorTime  = 15 * time.Second
	llmFloorFew   = 32
	llmFloorMany  = 5000
	llmFloorTurns = 3 // requests of each conversation at once, and seconds of a rate
)

// runCalibrateLLM is `redline calibrate llm`.
func runCalibrateLLM(p *IO, args []string) int {
	const name = "redline calibrate llm"
	o, lo, err := readLLM(args, p.Secrets)
	if errors.Is(err, optset.ErrHelp) {
		fmt.Fprint(p.Stdout, calibrateHelp)
		return exitOK
	}
	if err == nil && !o.streaming && !api.Kind(o.kind).GRPC() {
		err = errors.New("answers in one piece have no times of tokens: add --streaming")
	}
	if err != nil {
		fmt.Fprintf(p.Stderr, "%s: %v; see redline llm --help\n", name, err)
		return exitError
	}
	return keepFloors(p, name, func(p *IO, sigs *signals) ([]calibrate.Floor, error) {
		return calibrateTokens(p, sigs, o, lo)
	})
}

// calibrateTokens sends the traffic of a run to a server that keeps a pace and a log, and holds the times of the two
// against each other.
func calibrateTokens(p *IO, sigs *signals, o *llmOptions, lo load.Options) ([]calibrate.Floor, error) {
	dir, err := os.MkdirTemp("", "redline-calibrate-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	log := &answerLog{path: filepath.Join(dir, "log.jsonl")}
	server, err := startEmbedded(sigs.soft, p, []string{"--ttft", llmFloorTTFT.String(), "--itl", llmFloorITL.String(), "--request-log", log.path})
	if err != nil {
		return nil, err
	}
	defer server.stop()
	fmt.Fprintf(p.Stdout, "server: the reference server, first token after %s, each other %s later; its log is the truth\n", llmFloorTTFT, llmFloorITL)
	if o.tls != (plan.TLS{}) || o.grpcTLS || o.insecure {
		fmt.Fprintln(p.Stdout, "TLS is left out")
	}
	r := &llmRun{IO: p.silenced(), opts: o, sigs: sigs}
	defer r.closeServices()
	r.redirect(server)
	r.load = lo
	if err := r.start(); err != nil {
		return nil, errors.New(cleantext.Line(err.Error()))
	}
	tokenHead(p.Stdout)
	var floors []calibrate.Floor
	for _, lv := range o.levels(r.timed) {
		f, err := r.tokenFloor(lv, log)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", lv.String(), err)
		}
		tokenLine(p.Stdout, f)
		floors = append(floors, f)
	}
	return floors, nil
}

// redirect turns a run to the server, and leaves out all that it would write or wait for.
func (r *llmRun) redirect(server *embedded) {
	o := r.opts
	k := api.Kind(o.kind)
	address := server.address("openai")
	switch {
	case k.GRPC():
		address = server.address(plan.GRPC)
	case k == api.Generate:
		address = server.address(plan.HTTP)
	}
	switch k {
	case api.KServeText, api.Generate:
		o.model = "ensemble"
	case api.KServeTokens:
		o.model = "tensorrt_llm"
	default: // any name will do
	}
	if k != api.Template && k != api.Raw {
		o.path = ""
	}
	o.urls, o.embedded, o.wait.timeout = []string{address}, false, 0
	o.tls, o.grpcTLS, o.insecure, o.apiKey, o.apiKeyEnv = plan.TLS{}, false, false, "", ""
	o.json, o.artifacts, o.scrape, o.runs = "", "", nil, 1
}

// closeServices ends the connections of the run.
func (r *llmRun) closeServices() {
	if r.svc != nil {
		_ = r.svc.Close() // nothing is left to report it to
	}
}

// brief leaves of a load what a calibration needs.
func brief(o load.Options, lv load.Level) load.Options {
	n := llmFloorTurns * lv.Concurrency
	if lv.Rate > 0 {
		n = int(lv.Rate * llmFloorTurns)
	}
	o.Requests, o.Sessions = min(max(n, llmFloorFew), llmFloorMany), 0
	o.Duration, o.Grace = llmFloorTime, llmFloorTime
	o.Warmup, o.Cooldown, o.CancelShare, o.Until, o.Goodput, o.Confidence = load.Warmup{}, 0, 0, nil, nil, 0
	return o
}

// tokenFloor measures one level.
func (r *llmRun) tokenFloor(lv load.Level, log *answerLog) (calibrate.Floor, error) {
	var seen []answered
	failed := ""
	cfg := load.Config{
		Service: r.svc, Endpoint: r.ep, Options: brief(r.load, lv), Count: r.tok.count(), UseServer: r.opts.serverCounts || r.tok == nil,
		Open:          func() (load.Source, error) { return r.source(0) },
		RequestHeader: "X-Request-ID", SessionHeader: r.opts.session,
		Sample: func(s *llm.Sample) {
			switch {
			case s.Class != record.OK && !s.Cut && failed == "":
				failed = s.Err
			case s.Class == record.OK && s.Streamed:
				seen = append(seen, answeredBy(s))
			}
		},
	}
	out, err := load.Run(r.sigs.soft, r.sigs.hard, cfg, lv)
	switch {
	case err != nil:
		return calibrate.Floor{}, err
	case r.sigs.soft.Err() != nil:
		return calibrate.Floor{}, r.sigs.soft.Err()
	case failed != "":
		return calibrate.Floor{}, fmt.Errorf("a request failed: %s", cleantext.Line(failed))
	case len(seen) == 0:
		return calibrate.Floor{}, errors.New("no answer came as a stream")
	}
	written, err := log.next(r.sigs.soft, len(seen))
	if err != nil {
		return calibrate.Floor{}, err
	}
	e, err := compareTimes(seen, written)
	if err != nil {
		return calibrate.Floor{}, err
	}
	return calibrate.Floor{
		Traffic: r.traffic(&out.Level), P50Ns: e.P50Ns, P99Ns: e.P99Ns, Tokens: &e, CPUNs: out.Level.Health.CPUPerRequestNs,
		Server: "reference server", When: time.Now().UTC().Truncate(time.Second),
	}, nil
}

// answeredBy keeps the times of a sample.
func answeredBy(s *llm.Sample) answered {
	a := answered{id: s.RequestID, sent: clock.Wall(s.Sent)}
	for _, c := range s.Chunks {
		a.at = append(a.at, clock.Wall(c.At))
	}
	return a
}

// traffic is what the calibration knows a level of a language model by. How many bytes its answers have is the server's
// affair: what counts is that they stream.
func (r *llmRun) traffic(lv *result.Level) calibrate.Traffic {
	t := calibrate.Traffic{
		Protocol: "llm " + string(r.plan.Target.Protocol), Service: r.opts.kind, Mode: "stream", Concurrency: lv.Concurrency, Rate: lv.Rate,
		InFlight: lv.Health.AchievedInFlight, RequestBytes: lv.Client.RequestBytes,
	}
	if lv.Concurrency > 0 && lv.Rate == 0 {
		t.InFlight = float64(lv.Concurrency)
	}
	if v := r.plan.Target.HTTPVersion; v != "" {
		t.Mode += " HTTP/" + v
	}
	return t
}

// state tells the health of a level of streamed answers where its times come from, and how large the calibrated error is.
func (r *llmRun) state(lv *result.Level) {
	if !r.opts.streaming && (r.model == nil || !r.model.Decoupled) {
		return
	}
	h := &lv.Health
	if h.Times = "read"; h.ReadLag != nil {
		h.Times = "arrival"
	}
	if r.floors == nil {
		r.floors = r.calibration(func(text string) { fmt.Fprintln(r.Stderr, "redline llm: "+text) })
	}
	f, exact, ok := r.floors().Lookup(r.traffic(lv))
	if !ok || f.Tokens == nil {
		return
	}
	h.FloorNs, h.FloorExact, h.TokenError = f.P50Ns, exact, &result.TokenError{P50Ns: f.P50Ns, P99Ns: f.P99Ns, TTFTNs: f.Tokens.TTFTNs, ITLNs: f.Tokens.ITLNs}
	if !exact {
		h.FloorOf = f.Traffic.String()
	}
}

func tokenHead(w io.Writer) {
	fmt.Fprintf(w, "%s\n", "error in usec of a token's time: p50, p99; of the mean time to the first token, between tokens")
}

func tokenLine(w io.Writer, f calibrate.Floor) {
	fmt.Fprintf(w, "%8.1f  %8.1f  %8.1f  %8.1f  %s\n", micros(f.P50Ns), micros(f.P99Ns), micros(f.Tokens.TTFTNs), micros(f.Tokens.ITLNs), f.Traffic)
}

func micros(ns int64) float64 { return float64(ns) / 1000 }
