package llm_test

import (
	_ "embed"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

//go:embed testdata/coming.txt
var coming string

// smaller are the values of options with which a command line of the documentation takes a moment.
var smaller = map[string]string{
	"--request-count": "4", "--warmup-request-count": "1", "--conversation-num": "2", "--num-sessions": "2", "--num-prompts": "4",
	"--concurrency": "2", "--session-concurrency": "2", "--request-rate": "100", "--num-profile-runs": "2",
	"--benchmark-duration": "0.2", "--measurement-interval": "200", "--warmup-duration": "0.1", "--slice-duration": "0.1",
	"--synthetic-input-tokens-mean": "20", "--synthetic-input-tokens-stddev": "0", "--isl": "10,20", "--osl": "2,4", "--output-tokens-mean": "4", "--output-tokens-stddev": "0",
	"--conversation-turn-delay-mean": "5", "--conversation-turn-delay-stddev": "0", "--session-turn-delay-mean": "5", "--session-delay-ratio": "0.01",
	"--image-width-mean": "8", "--image-height-mean": "8", "--audio-length-mean": "0.1", "--request-cancellation-delay": "0.001",
	"--fixed-schedule-start-offset": "2", "--fixed-schedule-end-offset": "4",
	"--sequence-distribution": "8|1,4|1:70;16|2,8|1:30",
}

var hostPort = regexp.MustCompile(`^(https?://)?[^/]+`)

// adapted is a command line of another tool as one of redline, against the server.
func (r *rig) adapted(t *testing.T, line string) []string {
	t.Helper()
	out, err := exec.Command("sh", "-c", `printf '%s\n' `+line).Output()
	if err != nil {
		t.Fatal(err)
	}
	args := strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")[1:]
	if args[0] != "profile" {
		return args
	}
	args[0] = "llm"
	triton := slices.Contains(args, "--backend")
	server, named := r.Ports["openai"], false
	if triton {
		server = r.GRPC
	}
	for i := range args[:len(args)-1] {
		name, value := args[i], &args[i+1]
		switch small, ok := smaller[name]; {
		case name == "-u", name == "--url":
			*value, named = hostPort.ReplaceAllString(*value, server), true
		case name == "-m" && triton:
			*value = "ensemble"
		case ok && !strings.HasPrefix(*value, "0"):
			if *value = small; name == "--concurrency" && strings.Contains(line, ",20") {
				*value = "1,2"
			}
		}
	}
	if !named {
		args = slices.Insert(args, 1, "-u", server)
	}
	return args
}

// Every command line of AIPerf's and GenAI-Perf's documentation runs, or is answered by a line that names what to write.
func TestComingFromOtherTools(t *testing.T) {
	r := serve(t, "--ttft", "1ms", "--itl", "0.1ms")
	for name, text := range map[string]string{
		"texts.jsonl":                   `{"text":"one"}` + "\n" + `{"text":"two"}` + "\n" + `{"text":"three"}`,
		"image_prompts.jsonl":           `{"text":"a mountain"}` + "\n" + `{"text":"a city"}`,
		"images.jsonl":                  `{"texts":["look"],"images":["data:image/png;base64,AAAA"]}`,
		"rankings.jsonl":                `{"texts":[{"name":"query","contents":["why"]},{"name":"passages","contents":["so","thus"]}]}`,
		"schedule.jsonl":                `{"timestamp":0,"input_length":600,"output_length":2,"hash_ids":[1,2]}` + "\n" + `{"timestamp":3,"input_length":700,"output_length":2,"hash_ids":[1,3]}`,
		"sessions.jsonl":                `{"session_id":"a","delay":500,"input_length":5,"output_length":2}` + "\n" + `{"session_id":"a","input_length":5,"output_length":2}`,
		"custom_template.jinja":         `{% for item in texts %}{"inputs": {{ item|tojson }} }{% if not loop.last %},{% endif %}{% endfor %}`,
		"chat_template.json":            `{"inputs": {{ text|tojson }}, "n": {{ max_tokens|tojson }}, "stream": {{ stream|lower }} }`,
		"rankings_jsonl/queries.jsonl":  `{"text":"why"}`,
		"rankings_jsonl/passages.jsonl": `{"text":"so"}`,
	} {
		if err := os.MkdirAll(filepath.Join(r.dir, filepath.Dir(name)), 0o755); err != nil {
			t.Fatal(err)
		}
		r.write(t, name, text)
	}
	for line := range strings.Lines(coming) {
		want, command, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		if !ok {
			continue
		}
		args := r.adapted(t, command)
		e := r.redline(t, args...)
		switch {
		case want == "runs" && e.code != 0:
			t.Errorf("%s\n%q\nexit code %d: %s", command, args, e.code, e.err)
		case want != "runs" && (e.code != 99 || !strings.Contains(e.err, want)):
			t.Errorf("%s\nexit code %d: %s\nwant a hint with %q", command, e.code, e.err, want)
		case want != "runs" && strings.Count(strings.TrimSpace(e.err), "\n") > 1:
			t.Errorf("%s\nhas more than two lines: %s", command, e.err)
		}
	}
}
