// Package tune_test holds redline tune to models of known law on the reference server and on a real Triton, and checks that the
// server has its own configuration after every kind of end, by asking it.
package tune_test

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/redline-bench/redline/e2e/binary"
	"github.com/redline-bench/redline/e2e/peers"
	"github.com/redline-bench/redline/internal/result"
	"github.com/redline-bench/redline/internal/testkit"
	"github.com/redline-bench/redline/internal/testkit/disturbance"
)

var bin string

func TestMain(m *testing.M) {
	// Searches wait most of the time: more of them run at once than there are cores.
	if err := flag.Set("test.parallel", "8"); err != nil {
		panic(err)
	}
	binary.Test(m, &bin)
}

// client is one machine that runs redline tune: its notes are of its own.
type client struct {
	t     *testing.T
	state string
}

func newClient(t *testing.T) *client { return &client{t, t.TempDir()} }

func (c *client) command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, filepath.Join(bin, "redline"), append([]string{"tune"}, args...)...)
	cmd.Env = append(os.Environ(), "XDG_STATE_HOME="+c.state, "REDLINE_HISTORY=off")
	return cmd
}

// run runs a search and reads its result. The error has the exit code.
func (c *client) run(args ...string) (*result.Result, error) {
	c.t.Helper()
	file := filepath.Join(c.t.TempDir(), "result.json")
	out, err := c.command(c.t.Context(), append(args, "--json", file)...).CombinedOutput()
	c.t.Logf("redline tune %v\n%s", args, out)
	content, rerr := os.ReadFile(file)
	if rerr != nil {
		return nil, fmt.Errorf("%w: %w", rerr, err)
	}
	res := &result.Result{}
	if jerr := json.Unmarshal(content, res); jerr != nil {
		c.t.Fatal(jerr)
	}
	return res, err
}

// notes are the files that say what must be put back.
func (c *client) notes() []string {
	files, err := filepath.Glob(filepath.Join(c.state, "redline", "tune", "*.restore.json"))
	if err != nil {
		c.t.Fatal(err)
	}
	return files
}

// quick are options of a search that does not measure for long. Arrivals with constant gaps make laws sharp.
var quick = []string{"--request-distribution", "constant", "--probe", "200ms", "--confirm", "300ms", "--resolution", "10"}

func with(args ...string) []string { return append(args, quick...) }

// config is the configuration that a server says a model has; "" while the model is not loaded.
func config(t *testing.T, address, model string) string {
	t.Helper()
	status, body := send(t, http.MethodGet, "http://"+address+"/v2/models/"+model+"/config", "")
	if status == http.StatusNotFound {
		return ""
	}
	var v any
	if err := json.Unmarshal([]byte(body), &v); err != nil {
		t.Fatalf("%v in %d %s", err, status, body)
	}
	text, err := json.Marshal(v) // Triton's parameters have no order
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// ask sends a request to a server, which must accept it, and returns the body of the response.
func ask(t *testing.T, method, url, body string) string {
	t.Helper()
	status, text := send(t, method, url, body)
	if status != http.StatusOK {
		t.Fatalf("%s: %d\n%s", url, status, text)
	}
	return text
}

func send(t *testing.T, method, url, body string) (status int, text string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(data)
}

func start(t *testing.T, options ...string) *binary.Server {
	t.Helper()
	return binary.Served(t, bin, append([]string{"--model-control-mode", "explicit"}, options...)...)
}

// eventually waits for something that must come.
func eventually(t *testing.T, what string, seen func() bool) {
	t.Helper()
	for deadline := time.Now().Add(testkit.Limit); !seen(); {
		if time.Now().After(deadline) {
			t.Fatalf("no %s within %v", what, testkit.Limit)
		}
		select {
		case <-time.After(10 * time.Millisecond):
		case <-t.Context().Done():
			t.Fatal(t.Context().Err())
		}
	}
}

// The true best of models of known law is found.
func TestTimedFindsTheBest(t *testing.T) {
	t.Parallel()
	f := func(model, rule, vary, knob string, want float64, more ...string) {
		t.Run(model, func(t *testing.T) {
			t.Parallel()
			s := start(t, "--load-model", model)
			before := config(t, s.HTTP, model)
			disturbance.Try(t, func() error {
				res, err := newClient(t).run(append(with("-m", model, "-u", s.HTTP, "--slo", rule, "--vary", vary), more...)...)
				if err != nil {
					return err
				}
				if res.Tune.Best == nil || res.Tune.Best.Knobs[knob] != want {
					return fmt.Errorf("the best is %+v, not %s=%g", res.Tune.Best, knob, want)
				}
				return nil
			})
			if now := config(t, s.HTTP, model); now != before {
				t.Errorf("the server has\n%s\nand had\n%s", now, before)
			}
		})
	}
	f("law_instances", "avg<60ms", "instances=1..3", "instances", 3)
	f("law_crowded", "avg<60ms", "instances=1..3", "instances", 2)
	// Arrivals in bursts fill the large batches, which are slower.
	f("law_batches", "avg<80ms", "max_batch=2,8,32", "max_batch", 8, "--request-distribution", "poisson")
}

// Models that get the load together have one best configuration. Alone, each instance of law_instances takes 50 requests/s, and
// law_crowded takes 100 with two instances and fewer with three. With 3 of 5 requests for law_instances, its three instances take 250
// requests/s of all, and so do two instances of law_crowded.
func TestTimedModelsTogether(t *testing.T) {
	t.Parallel()
	s := start(t, "--load-model", "law_instances", "--load-model", "law_crowded")
	before := config(t, s.HTTP, "law_instances") + config(t, s.HTTP, "law_crowded")
	disturbance.Try(t, func() error {
		dir := t.TempDir()
		res, err := newClient(t).run(with("-m", "law_instances", "-m", "law_crowded", "--weights", "3,2", "-u", s.HTTP, "--slo", "avg<60ms",
			"--vary", "law_instances.instances=1,3", "--vary", "law_crowded.instances=2,3", "--best-config", dir)...)
		if err != nil {
			return err
		}
		best := res.Tune.Best
		if best == nil || best.Knobs["law_instances.instances"] != 3.0 || best.Knobs["law_crowded.instances"] != 2.0 || len(best.Models) != 2 {
			return fmt.Errorf("the best is %+v", best)
		}
		if share := best.Models[0].Rate / best.At; share < 0.59 || share > 0.61 {
			return fmt.Errorf("law_instances got %.3f of the requests", share)
		}
		for model, want := range map[string]string{"law_instances": "count: 3", "law_crowded": "count: 2"} {
			text, err := os.ReadFile(filepath.Join(dir, model, "config.pbtxt"))
			if err != nil || !strings.Contains(string(text), want) {
				t.Errorf("config.pbtxt of %s: %v\n%s", model, err, text)
			}
		}
		return nil
	})
	if now := config(t, s.HTTP, "law_instances") + config(t, s.HTTP, "law_crowded"); now != before {
		t.Errorf("the server has\n%s\nand had\n%s", now, before)
	}
}

// change starts a search and returns when the server has another number of instances than 1. No load holds the objective, so that the
// search soon comes to the second candidate.
func (c *client) change(address string, args ...string) (*exec.Cmd, *binary.Buffer) {
	c.t.Helper()
	cmd := c.command(context.Background(), append([]string{"-m", "law_instances", "-u", address, "--slo", "avg<1us", "--probe", "100ms", "--vary", "instances=2..9"}, args...)...)
	out := &binary.Buffer{}
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Start(); err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() { _ = cmd.Process.Kill() })
	eventually(c.t, "candidate at the server", func() bool {
		now := config(c.t, address, "law_instances")
		return now != "" && !strings.Contains(now, `"count":1`)
	})
	return cmd, out
}

func TestRestoresAfterAnInterrupt(t *testing.T) {
	t.Parallel()
	interrupt(t, start(t, "--load-model", "law_instances").HTTP)
}

// interrupt checks that after Ctrl-C the server has its own configuration again, and that what was measured is reported.
func interrupt(t *testing.T, address string) {
	t.Helper()
	c, own := newClient(t), config(t, address, "law_instances")
	cmd, out := c.change(address)
	signal(t, cmd)
	_ = cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != 130 {
		t.Errorf("exit code %d", code)
	}
	if now := config(t, address, "law_instances"); now != own {
		t.Errorf("the server has %s", now)
	}
	if n := c.notes(); len(n) > 0 {
		t.Errorf("notes are left: %v", n)
	}
	if !strings.Contains(out.String(), "The server has its own configuration again") {
		t.Errorf("the output:\n%s", out)
	}
}

func TestRestoresAfterTwoInterrupts(t *testing.T) {
	t.Parallel()
	interruptTwice(t, start(t, "--load-model", "law_instances").HTTP)
}

// interruptTwice checks that a second Ctrl-C does not lose the configuration. The process ends some seconds later: if the server needs longer
// to load the model, the note stays, and the next search restores the server.
func interruptTwice(t *testing.T, address string) {
	t.Helper()
	c, own := newClient(t), config(t, address, "law_instances")
	cmd, out := c.change(address)
	signal(t, cmd)
	eventually(t, "notice of the first interrupt", func() bool { return strings.Contains(out.String(), "press Ctrl-C again") })
	signal(t, cmd)
	_ = cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != 130 {
		t.Errorf("exit code %d\n%s", code, out)
	}
	if len(c.notes()) > 0 {
		t.Logf("the server was not restored in time:\n%s", out)
		c.restored(address, own)
	} else if now := config(t, address, "law_instances"); now != own {
		t.Errorf("the server has %s", now)
	}
}

func signal(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	if err := cmd.Process.Signal(syscall.SIGINT); err != nil && !errors.Is(err, os.ErrProcessDone) {
		t.Fatal(err)
	}
}

func TestTheNextSearchRestoresAfterAKill(t *testing.T) {
	t.Parallel()
	killed(t, start(t, "--load-model", "law_instances").HTTP)
}

// killed checks that a search that is killed leaves a note, and that the next one restores the server before it starts: also a model that
// had been loaded with another configuration than that of the repository.
func killed(t *testing.T, address string) {
	t.Helper()
	c := newClient(t)
	load(t, address, "law_instances", changed(t, address))
	own := config(t, address, "law_instances")
	cmd, _ := c.change(address)
	kill(t, cmd)
	if len(c.notes()) != 1 || config(t, address, "law_instances") == own {
		t.Fatalf("notes %v, configuration %s", c.notes(), config(t, address, "law_instances"))
	}
	c.restored(address, own)
}

// changed is the configuration of a model with a larger batch than that of the repository.
func changed(t *testing.T, address string) string {
	t.Helper()
	var v map[string]any
	if err := json.Unmarshal([]byte(config(t, address, "law_instances")), &v); err != nil {
		t.Fatal(err)
	}
	v["max_batch_size"] = 2
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func kill(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
}

// restored runs a search that ends before its first candidate, and checks that the server has a configuration after it.
func (c *client) restored(address, want string) string {
	c.t.Helper()
	out, err := c.command(c.t.Context(), "-m", "law_instances", "-u", address, "--slo", "avg<1us", "--vary", "other.instances=2").CombinedOutput()
	if err == nil || !strings.Contains(string(out), `"other" is not the model`) {
		c.t.Errorf("%v\n%s", err, out)
	}
	if now := config(c.t, address, "law_instances"); now != want {
		c.t.Errorf("the server has\n%s\nnot\n%s", now, want)
	}
	if n := c.notes(); len(n) > 0 {
		c.t.Errorf("notes are left: %v", n)
	}
	return string(out)
}

// A note of another server at the same address, or of one whose repository was changed meanwhile, does not change that server.
func TestANoteOfAnotherServer(t *testing.T) {
	t.Parallel()
	s, c := start(t, "--load-model", "law_instances"), newClient(t)
	cmd, _ := c.change(s.HTTP)
	kill(t, cmd)
	notes := c.notes()
	if len(notes) != 1 {
		t.Fatalf("notes %v", notes)
	}
	text, err := os.ReadFile(notes[0])
	if err != nil {
		t.Fatal(err)
	}
	text = []byte(strings.ReplaceAll(string(text), `"max_batch_size":4`, `"max_batch_size":3`)) // the other server had another limit
	if err := os.WriteFile(notes[0], text, 0o600); err != nil {
		t.Fatal(err)
	}
	load(t, s.HTTP, "law_instances", "")
	out := c.restored(s.HTTP, config(t, s.HTTP, "law_instances"))
	if !strings.Contains(out, "is not the one from before the search") {
		t.Errorf("the output:\n%s", out)
	}
}

// A second search on the server is refused while the first one runs, and does not disturb it.
func TestTwoSearchesOnOneServer(t *testing.T) {
	t.Parallel()
	s, c := start(t, "--load-model", "law_instances"), newClient(t)
	own := config(t, s.HTTP, "law_instances")
	cmd, _ := c.change(s.HTTP)
	out, _ := c.command(t.Context(), "-m", "law_instances", "-u", s.HTTP, "--slo", "avg<1us").CombinedOutput()
	if want := fmt.Sprintf("redline tune: process %d of this machine already tunes the server", cmd.Process.Pid); !strings.HasPrefix(string(out), want) {
		t.Errorf("the output:\n%s", out)
	}
	if len(c.notes()) != 1 {
		t.Errorf("notes %v", c.notes())
	}
	if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	if now := config(t, s.HTTP, "law_instances"); now != own {
		t.Errorf("the server has %s", now)
	}
}

// Models that were not loaded, and the steps of an ensemble that was not, are unloaded at the end, also if nothing was searched.
func TestUnloadsWhatWasNotLoaded(t *testing.T) {
	t.Parallel()
	s, c := start(t, "--load-model", "law_instances"), newClient(t)
	before := ready(t, s.HTTP)
	out, err := c.command(t.Context(), "-m", "ensemble_chain", "-u", s.HTTP, "--slo", "avg<1us", "--vary", "other.instances=2").CombinedOutput()
	if err == nil || !strings.Contains(string(out), "is not a step of the ensemble") {
		t.Errorf("%v\n%s", err, out)
	}
	if now := ready(t, s.HTTP); now != before || !strings.Contains(now, "law_instances") {
		t.Errorf("loaded are\n%s\nand were\n%s", now, before)
	}
	if n := c.notes(); len(n) > 0 {
		t.Errorf("notes are left: %v", n)
	}
}

// ready is the list of the models that are loaded.
func ready(t *testing.T, address string) string {
	t.Helper()
	return ask(t, http.MethodPost, "http://"+address+"/v2/repository/index", `{"ready":true}`)
}

// load loads a model with a configuration; without one, with that of the repository.
func load(t *testing.T, address, model, config string) {
	t.Helper()
	body := []byte("{}")
	if config != "" {
		var err error
		if body, err = json.Marshal(map[string]any{"parameters": map[string]string{"config": config}}); err != nil {
			t.Fatal(err)
		}
	}
	ask(t, http.MethodPost, "http://"+address+"/v2/repository/models/"+model+"/load", string(body))
}

// small starts a server with one model, named small, of a backend and with parameters.
func small(t *testing.T, backend, parameters string) *binary.Server {
	t.Helper()
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "small", "1"), 0o755); err != nil {
		t.Fatal(err)
	}
	text := fmt.Sprintf(`backend: %q max_batch_size: 4
input [ { name: "INPUT0" data_type: TYPE_FP32 dims: [ 4 ] } ]
output [ { name: "OUTPUT0" data_type: TYPE_FP32 dims: [ 4 ] } ]
parameters [ %s ]`, backend, parameters)
	if err := os.WriteFile(filepath.Join(dir, "small", "config.pbtxt"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return start(t, "--model-repository", dir, "--load-model", "small")
}

// reasons are those of the candidates that failed, by the number of instances.
func reasons(res *result.Result) map[float64]string {
	out := map[float64]string{}
	for _, c := range res.Tune.Candidates {
		out[c.Knobs["instances"].(float64)] = c.Failed
	}
	return out
}

// A candidate that does not load is a result with its reason, and the search goes on. The server is restored.
func TestACandidateThatDoesNotLoad(t *testing.T) {
	t.Parallel()
	s := small(t, "delay", `{ key: "execute_delay_ms" value: { string_value: "50" } }, { key: "most_instances" value: { string_value: "2" } }`)
	own := config(t, s.HTTP, "small")
	res, _ := newClient(t).run(with("-m", "small", "-u", s.GRPC, "-i", "grpc", "--slo", "p50<1us", "--vary", "instances=1,4")...)
	if res == nil {
		t.Fatal("no result")
	}
	if r := reasons(res); !strings.Contains(r[4], "out of memory: 4 instances") || !strings.Contains(r[1], "p50<1us does not hold") {
		t.Errorf("reasons %v", r)
	}
	if now := config(t, s.HTTP, "small"); now != own {
		t.Errorf("the server has\n%s\nand had\n%s", now, own)
	}
}

// A candidate that fails some or all of its requests is a result with its reason, and the search goes on. The server is restored.
func TestAnUnstableCandidate(t *testing.T) {
	t.Parallel()
	f := func(every, want string) {
		s := small(t, "fault", `{ key: "execute_delay_ms" value: { string_value: "5" } }, { key: "fail_above" value: { string_value: "1" } }, { key: "fail_every" value: { string_value: "`+every+`" } }`)
		own := config(t, s.HTTP, "small")
		disturbance.Try(t, func() error { // on a busy machine the client may be the limit
			res, _ := newClient(t).run(with("-m", "small", "-u", s.HTTP, "--slo", "avg<100ms", "--vary", "instances=1,2", "--budget", "3m")...)
			if res == nil {
				t.Fatal("no result")
			}
			if r := reasons(res); !strings.Contains(r[2], want) || r[1] != "" {
				return fmt.Errorf("reasons %v, not %s", r, want)
			}
			return nil
		})
		if now := config(t, s.HTTP, "small"); now != own {
			t.Errorf("the server has\n%s\nand had\n%s", now, own)
		}
	}
	f("1", "failed on purpose")
	f("5", "of the requests failed")
}

// A server that dies during the search and does not come back ends the search; the note stays for the next start.
func TestAServerThatDies(t *testing.T) {
	t.Parallel()
	s, c := start(t, "--load-model", "law_instances"), newClient(t)
	cmd, out := c.change(s.HTTP, "--ready-timeout", "1s")
	s.Stop()
	_ = cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != 99 || len(c.notes()) != 1 {
		t.Errorf("exit code %d, notes %v\n%s", code, c.notes(), out)
	}
	if !strings.Contains(out.String(), "the next 'redline tune' with -u "+s.HTTP+" restores it") {
		t.Errorf("the output:\n%s", out)
	}
}

// serveAt starts a reference server on a port, and returns when it has its model.
func serveAt(t *testing.T, port int) (address string, stop func()) {
	t.Helper()
	address = fmt.Sprintf("127.0.0.1:%d", port)
	cmd := exec.Command(filepath.Join(bin, "redline"), "serve", "--http-port", strconv.Itoa(port), "--grpc-port", "0", "--metrics-port", "0",
		"--model-control-mode", "explicit", "--load-model", "law_instances")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	stop = sync.OnceFunc(func() {
		_ = cmd.Process.Kill() // at once, as in a crash
		_ = cmd.Wait()
	})
	t.Cleanup(stop)
	eventually(t, "server", func() bool {
		resp, err := http.Get("http://" + address + "/v2/models/law_instances/ready")
		if err != nil {
			return false
		}
		resp.Body.Close()
		return resp.StatusCode == http.StatusOK
	})
	return address, stop
}

// A server that dies during the search and comes back gets further candidates. At the end it has its own configuration.
func TestAServerThatComesBack(t *testing.T) {
	t.Parallel()
	ports, err := peers.FreePorts(1)
	if err != nil {
		t.Fatal(err)
	}
	address, stop := serveAt(t, ports[0])
	c := newClient(t)
	own := config(t, address, "law_instances")
	cmd, out := c.change(address)
	stop()
	serveAt(t, ports[0])
	eventually(t, "candidate at the server that came back", func() bool {
		now := config(t, address, "law_instances")
		return now != "" && now != own
	})
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != 130 || len(c.notes()) > 0 {
		t.Errorf("exit code %d, notes %v\n%s", code, c.notes(), out)
	}
	if now := config(t, address, "law_instances"); now != own {
		t.Errorf("the server has\n%s\nand had\n%s", now, own)
	}
}

// The knobs of the client: every combination is sent, and the server's models are left alone.
func TestKnobsOfTheClient(t *testing.T) {
	t.Parallel()
	s := binary.Served(t, bin) // without model control
	_, port, err := net.SplitHostPort(s.GRPC)
	if err != nil {
		t.Fatal(err)
	}
	res, _ := newClient(t).run("-m", "custom_identity_fp32", "-u", s.HTTP, "--slo", "p50<1us", "--probe", "20ms", "--confirm", "100ms", "--shape", "INPUT0:2",
		"--vary", "protocol=http,grpc:"+port, "--vary", "shared-memory=none,system", "--vary", "shape=INPUT0:2,INPUT0:4", "--vary", "batch=1,2")
	if res == nil || len(res.Tune.Candidates) != 16 {
		t.Fatalf("candidates %+v", res)
	}
	for _, c := range res.Tune.Candidates {
		if !strings.Contains(c.Failed, "does not hold") {
			t.Errorf("%v: %s", c.Knobs, c.Failed)
		}
	}
}

// A command of the user starts the server with each candidate; the search waits until it answers.
func TestApplyStartsTheServer(t *testing.T) {
	t.Parallel()
	ports, err := peers.FreePorts(1)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	stop := fmt.Sprintf("cd %s; if test -e pid; then kill $(cat pid); rm pid; fi", dir)
	apply := fmt.Sprintf("%s; echo {seqs} >> applied; %s serve --openai-port %d --http-port 0 --grpc-port 0 --metrics-port 0 --ttft 1ms --itl 0s >log 2>&1 & echo $! > %s/pid",
		stop, filepath.Join(bin, "redline"), ports[0], dir)
	res, _ := newClient(t).run("llm", "-m", "mock-llm", "-u", fmt.Sprintf("127.0.0.1:%d", ports[0]), "--output-tokens-mean", "2", "--slo", "p50<1us",
		"--vary", "seqs=1,2", "--apply", apply, "--restore", stop, "--probe", "20ms", "--confirm", "100ms")
	if res == nil || len(res.Tune.Candidates) != 2 {
		t.Fatalf("result %+v", res)
	}
	for _, c := range res.Tune.Candidates {
		if !strings.Contains(c.Failed, "does not hold") { // it was measured
			t.Errorf("%v: %s", c.Knobs, c.Failed)
		}
	}
	applied, err := os.ReadFile(filepath.Join(dir, "applied"))
	if err != nil || len(strings.Fields(string(applied))) != 2 {
		t.Errorf("applied %q, %v", applied, err)
	}
	if _, err := os.Stat(filepath.Join(dir, "pid")); err == nil {
		t.Error("--restore did not run")
	}
}
