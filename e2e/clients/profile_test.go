package clients_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redline-bench/redline/e2e/binary"
	"github.com/redline-bench/redline/e2e/peers"
	"github.com/redline-bench/redline/internal/testkit"
	"github.com/redline-bench/redline/internal/testkit/disturbance"
	"github.com/redline-bench/redline/internal/testkit/outcome"
)

// profiles are command lines of the real perf_analyzer; the first word behind -m is the model. {http} and so on stand for
// addresses, {data} for the folder of shared input data, {dir} for that of the data below. Where the server counts, its
// numbers must be there and not be nought.
var profiles = []struct {
	name, args string
	client     bool // the server has no statistics, or perf_analyzer requests none
}{
	{name: "http", args: "-m simple -u {http}"},
	{name: "http async", args: "-m simple -u {http} -a --concurrency-range 4 -b 8"},
	{name: "http rate", args: "-m simple -u {http} --request-rate-range 200"},
	{name: "http json", args: "-m simple -u {http} --input-tensor-format json --output-tensor-format json"},
	{name: "http shared memory", args: "-m simple -u {http} --shared-memory system"},
	{name: "http metrics", args: "-m simple -u {http} --collect-metrics --metrics-url {metrics}/metrics --metrics-interval 100"},
	{name: "grpc", args: "-m simple -i grpc -u {grpc}"},
	{name: "grpc async", args: "-m simple -i grpc -u {grpc} -a --concurrency-range 4"},
	{name: "grpc stream", args: "-m simple -i grpc -u {grpc} --streaming --concurrency-range 2"},
	{name: "grpc gzip", args: "-m simple -i grpc -u {grpc} --grpc-compression-algorithm gzip"},
	{name: "grpc shared memory", args: "-m custom_identity_fp32 -i grpc -u {grpc} --shape INPUT0:16 --shared-memory system --output-shared-memory-size 4096"},
	{name: "int8", args: "-m simple_int8 -u {http}"},
	{name: "string", args: "-m simple_string -i grpc -u {grpc} --string-data 7"},
	{name: "identity fp32", args: "-m custom_identity_fp32 -u {http} --shape INPUT0:64"},
	{name: "identity int32", args: "-m custom_identity_int32 -i grpc -u {grpc} --shape INPUT0:4"},
	{name: "identity stage2", args: "-m identity_stage2_fp32 -u {http} --shape INPUT0:4"},
	{name: "identity no batch", args: "-m nobatch_identity_fp32 -i grpc -u {grpc} --shape INPUT0:9"},
	{name: "identity string", args: "-m identity_string -u {http} --shape INPUT0:2"},
	{name: "simple identity", args: "-m simple_identity -i grpc -u {grpc} --shape INPUT0:2"},
	{name: "identity optional", args: "-m identity_optional -u {http} --shape INPUT0:4 --shape INPUT1:4"},
	{name: "batch of one", args: "-m custom_zero_1_int32 -u {http} --shape INPUT0:4"},
	{name: "slow", args: "-m slow_identity -u {http} --shape INPUT0:4 --concurrency-range 4"},
	{name: "slow with queue delay", args: "-m slow_identity_delay -i grpc -u {grpc} -a --shape INPUT0:4 --concurrency-range 4"},
	{name: "law of instances", args: "-m law_instances -u {http} --concurrency-range 2"},
	{name: "law of batches", args: "-m law_batches -i grpc -u {grpc} -a --concurrency-range 4"},
	{name: "law of crowded instances", args: "-m law_crowded -u {http}"},
	{name: "flaky", args: "-m flaky -u {http} --shape INPUT0:4 --request-count 4"}, // the tenth would fail
	{name: "sequence", args: "-m sequence_accumulate -u {http} --sequence-length 4"},
	{name: "sequence grpc async", args: "-m custom_sequence_int32 --shape INPUT:1 -i grpc -u {grpc} -a --sequence-length 4 --concurrency-range 2"},
	{name: "sequence stream", args: "-m simple_sequence -i grpc -u {grpc} --streaming --concurrency-range 2 --sequence-length 4"},
	{name: "sequence oldest", args: "-m simple_dyna_sequence -i grpc -u {grpc} --streaming --concurrency-range 2 --sequence-length 4"},
	{name: "sequence string", args: "-m simple_sequence_string -u {http} --sequence-length 4 --string-data 7"},
	{name: "sequence named by text", args: "-m simple_string_dyna_sequence -i grpc -u {grpc} --streaming --concurrency-range 2 --sequence-length 4"},
	{name: "several versions", args: "-m onnx_int32_int32_int32 -x 2 -u {http}"},
	{name: "image network", args: "-m densenet_onnx -i grpc -u {grpc}"},
	{name: "image network batch", args: "-m inception_onnx -i grpc -u {grpc} -b 2"},
	{name: "image network http", args: "-m inception_graphdef -u {http}"},
	{name: "decoupled", args: "-m repeat_int32 -i grpc -u {grpc} --async --streaming --input-data {data}/repeat_wait.json"},
	{name: "chain", args: "-m ensemble_chain -u {http} --shape INPUT0:4"},
	{name: "chain grpc", args: "-m ensemble_chain -i grpc -u {grpc} --shape INPUT0:4 --concurrency-range 2"},
	{name: "preprocessing", args: "-m preprocessing -u {http} --string-data word"},
	{name: "language model", args: "-m tensorrt_llm -i grpc -u {grpc} --async --streaming --input-data {dir}/tokens.json"},
	{name: "postprocessing", args: "-m postprocessing -i grpc -u {grpc} --shape TOKENS_BATCH:4"},
	{name: "language chain", args: "-m ensemble -i grpc -u {grpc} --async --streaming --input-data {data}/prompt.json"},
	{name: "openai chat", client: true, args: "-m mock-llm --service-kind openai --endpoint v1/chat/completions -u {openai} --input-data {dir}/chat.json --async"},
	{name: "openai chat stream", client: true, args: "-m mock-llm --service-kind openai --endpoint v1/chat/completions -u {openai} --input-data {dir}/stream.json --async"},
	{name: "tfserving", client: true, args: "-m custom_identity_fp32 --service-kind tfserving -i grpc -u {tfserving} --shape INPUT0:4 -b 1"},
	{name: "torchserve", client: true, args: "-m any --service-kind torchserve -u {torchserve} --input-data {dir}/torch.json -b 1"},
}

// inputs are the data files of the profiles above.
var inputs = map[string]string{
	"tokens.json": `{"data":[{"input_ids":{"content":[3,1,4],"shape":[3]},"input_lengths":[3],"request_output_len":[3],"streaming":[true]}]}`,
	"chat.json":   `{"data":[{"payload":[{"model":"mock-llm","messages":[{"role":"user","content":"one two"}],"max_tokens":3}]}]}`,
	"stream.json": `{"data":[{"payload":[{"model":"mock-llm","messages":[{"role":"user","content":"one two"}],"max_tokens":3,"stream":true}]}]}`,
	"torch.json":  `{"data":[{"TORCHSERVE_INPUT":["torch.bin"]}]}`,
	"torch.bin":   "some bytes",
}

var (
	clientCount  = regexp.MustCompile(`(?m)^    Request count: [1-9]`)
	throughput   = regexp.MustCompile(`(?m)^    Throughput: (?:[1-9]|0\.\d*[1-9])`)
	serverCount  = regexp.MustCompile(`(?m)^    (?:Inference count|Successful request count): [1-9]`)
	serverTime   = regexp.MustCompile(`(?m)^    Avg request latency: [1-9]`)
	modelOfFlags = regexp.MustCompile(`-m (\S+)`)
)

// The real perf_analyzer profiles every built-in model in every manner that it allows.
func TestRealPerfAnalyzer(t *testing.T) {
	if testing.Short() {
		t.Skip("short")
	}
	p, err := peers.Install(t.Context())
	if err != nil {
		outcome.NotTested(t, "the real perf_analyzer on the reference server", err, "python3 with venv, and apt where the C library is old")
	}
	s := start(t)
	dir := t.TempDir()
	for name, text := range inputs {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	fill := []string{"{dir}", dir, "{data}", filepath.Join(binary.Root(), "e2e", "testdata", "data")}
	for name, address := range s.Ports {
		fill = append(fill, "{"+name+"}", address)
	}
	seen := map[string]bool{}
	for _, c := range profiles {
		seen[modelOfFlags.FindStringSubmatch(c.args)[1]] = true
		t.Run(strings.ReplaceAll(c.name, " ", "_"), func(t *testing.T) {
			args := strings.Fields(strings.NewReplacer(fill...).Replace(c.args))
			watch := disturbance.Start()
			ended := profileWithin(t, p, dir, args, !c.client)
			switch report := watch.Stop(); {
			case ended:
			case report.Disturbed():
				outcome.Inconclusive(t, fmt.Sprintf("no measurement came to its end (%v)", report))
			default:
				t.Error("no measurement came to its end")
			}
		})
	}
	for _, model := range builtin(t, s) {
		if !seen[model] {
			t.Errorf("no profile of the built-in model %s", model)
		}
	}
}

// profileWithin profiles with longer and longer windows, because on a busy machine no request may end within a short one. It
// reports whether a measurement came to its end.
func profileWithin(t *testing.T, p *peers.Peers, dir string, args []string, server bool) bool {
	t.Helper()
	for _, window := range []string{"200", "1000", "4000", "16000"} {
		timed := args
		if !slices.Contains(args, "--request-count") {
			timed = append(slices.Clone(args), "-p", window, "-r", "3", "-s", "999")
		}
		err := profile(t.Context(), p, dir, timed, server)
		switch {
		case err == nil:
			return true
		case errors.Is(err, errCrash), errors.Is(err, errHang):
			t.Logf("PEER CRASHED: %v", err)
		case errors.Is(err, errWindow):
			t.Logf("windows of %s ms: %v", window, err)
		default:
			t.Fatal(err)
		}
	}
	return false
}

// Ways in which perf_analyzer fails that say nothing of the server.
var (
	errWindow = errors.New("no request ended within a window")
	errCrash  = errors.New("perf_analyzer was ended by a signal")
	errHang   = errors.New("perf_analyzer did not end")
)

// windowTooShort are the words of perf_analyzer for a window in which too little happened.
var windowTooShort = regexp.MustCompile("No valid requests recorded within time interval|Failed to obtain stable measurement")

// profile runs perf_analyzer and looks at its numbers.
func profile(ctx context.Context, p *peers.Peers, dir string, args []string, server bool) error {
	ctx, cancel := context.WithTimeout(ctx, 90*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, p.PerfAnalyzer(), args...)
	cmd.Dir = dir
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	text := out.String()
	if ctx.Err() != nil {
		err = errHang
	} else if status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		err = errCrash
	} else if err != nil && windowTooShort.MatchString(errs.String()) {
		err = errWindow
	}
	if err == nil && (!clientCount.MatchString(text) || !throughput.MatchString(text)) {
		err = fmt.Errorf("%w: its numbers are missing or nought", errWindow)
	}
	if err == nil && server && (!serverCount.MatchString(text) || !serverTime.MatchString(text)) {
		err = fmt.Errorf("%w: the server's numbers are missing or nought", errWindow)
	}
	if err != nil {
		return fmt.Errorf("perf_analyzer %s: %w\n%s%s", strings.Join(args, " "), err, text, errs.String())
	}
	return nil
}

// builtin lists the models of the server.
func builtin(t *testing.T, s *binary.Server) []string {
	t.Helper()
	_, body := testkit.Ask(t, http.MethodPost, "http://"+s.HTTP+"/v2/repository/index", nil)
	var list []struct{ Name string }
	if err := json.Unmarshal([]byte(body), &list); err != nil || len(list) == 0 {
		t.Fatalf("%v: %s", err, body)
	}
	var names []string
	for _, m := range list {
		names = append(names, m.Name)
	}
	return names
}
