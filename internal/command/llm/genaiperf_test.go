package llm

import (
	_ "embed"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

//go:embed testdata/genaiperf_options.txt
var genaiperfOptions string

// Every option of GenAI-Perf is taken under its name, or answered in one line with what there is in its place.
func TestGenAIPerfOptions(t *testing.T) {
	known, hints := map[string]bool{}, map[string]string{}
	for _, r := range defaults().rows() {
		for _, name := range r.Names() {
			if known[name] {
				t.Errorf("%s is there twice", name)
			}
			known[name], hints[name] = true, r.Instead
		}
	}
	for name := range strings.FieldsSeq(strings.SplitN(genaiperfOptions, "\n", 2)[1]) {
		switch {
		case name == "version": // of the program, not of the command
		case !known["--"+name]:
			t.Errorf("--%s is neither taken nor answered", name)
		case hints["--"+name] != "":
			err := defaults().parse([]string{"--" + name, "x"}, nil)
			if err == nil || !strings.Contains(err.Error(), "--"+name+" is an option of ") || strings.Contains(err.Error(), "\n") {
				t.Errorf("--%s: %v", name, err)
			}
		}
	}
	for line, want := range map[string]string{
		"-f x.yaml":                        "redline run FILE",
		"-s 999":                           "--until",
		"-- -v --max-threads=256":          "without --",
		"--backend openai":                 "--endpoint-type",
		"--service-kind dynamic_grpc":      "redline profile --service-kind dynamic_grpc",
		"--endpoint-type nvclip":           "use template",
		"--endpoint-type video_generation": "use template",
	} {
		if _, err := parseLLM(t, "-m m "+line); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", line, err)
		}
	}
}

func TestSwitchValues(t *testing.T) {
	f := func(line, want string) {
		t.Helper()
		if got := strings.Join(switchValues(defaults().rows(), strings.Fields(line)), " "); got != want {
			t.Errorf("%s\nbecame %s\n  want %s", line, got, want)
		}
	}
	f("--streaming true -m x", "--streaming -m x")
	f("--streaming=True", "--streaming")
	f("--streaming false -m x", "--no-streaming -m x")
	f("--use-server-token-count false -m x", "--no-use-server-token-count -m x")
	f("--no-fixed-schedule=false", "--fixed-schedule")
	f("--verbose false", "")
	f("-m true --streaming", "-m true --streaming")
	f("--extra-inputs a:true --streaming=x", "--extra-inputs a:true --streaming=x")
	f("--ui none --streaming", "--ui none --streaming")
	f("--gpu-telemetry --streaming true", "--gpu-telemetry --streaming")
}

// The forms in which GenAI-Perf and AIPerf write an input, a dialect and a template.
func TestForms(t *testing.T) {
	f := func(line string, check func(o *Plan) bool) {
		t.Helper()
		o, err := parseLLM(t, "-m m "+line)
		if err != nil || !check(o) {
			t.Errorf("%s: %v, %+v", line, err, o)
		}
	}
	f("-m a b -m c", func(o *Plan) bool { return o.Model == "m,a,b,c" })
	f("--input-file payload:in.jsonl", func(o *Plan) bool { return o.Data.Path == "in.jsonl" && o.Data.Format == "payload" })
	f("--endpoint-type rankings --input-file synthetic:queries,passages --isl 100 -b 2 --extra-inputs rankings:tei", func(o *Plan) bool {
		r := o.Data.Rankings
		return o.Kind == "hf_tei_rankings" && o.Data.Path == "" && r.Passages.Mean == 2 && r.PassageTokens.Mean == 100 && r.QueryTokens.Mean == 100 && len(o.Extra) == 0
	})
	f("--endpoint-type template --extra-inputs payload_template:nv-embedqa response_field:data[0].v temperature:1 -u http://host:8000/embed", func(o *Plan) bool {
		return o.Template == `{"text": {{ texts|tojson }}}` && o.Response == "data[0].v" && len(o.Extra) == 1 && o.Path == "embed" && o.URLs[0] == "http://host:8000"
	})
	f("--backend vllm", func(o *Plan) bool { return o.Kind == "kserve" && o.addresses()[0] == "localhost:8001" })
	f("--service-kind openai --endpoint-type completions", func(o *Plan) bool { return o.Kind == "completions" })
	f("--measurement-interval 4000", func(o *Plan) bool { return o.Duration == 4*time.Second })
	f("-p 2s", func(o *Plan) bool { return o.Duration == 2*time.Second })
	f("--session-concurrency 5 --num-sessions 10", func(o *Plan) bool { return cmp.Equal(o.Concurrency, []int{5}) && o.Sessions == 10 })
	f("--arrival-pattern concurrency_burst --concurrency 3", func(o *Plan) bool { return len(o.modes()) == 0 })
	f("--gpu-telemetry --server-metrics --streaming", func(o *Plan) bool { return o.FindGPUs && o.Outcome.OwnMetrics && o.Streaming && o.writesFiles() })
	f("--server-metrics-urls http://host:9400/metrics", func(o *Plan) bool { return len(o.Outcome.ServerMetrics) == 1 && !o.Outcome.OwnMetrics })
	f(`-H {"X-A":"b","X-C":"d"}`, func(o *Plan) bool {
		return len(o.Headers) == 2 && o.Headers[1].Name == "X-C" && o.Headers[1].Value == "d"
	})
	f("--osl 20 --output-tokens-mean-deterministic", func(o *Plan) bool { return o.ExactOutput })
	f("--slice-duration 1 --output-dir d", func(o *Plan) bool { return o.Artifacts == "d" && !o.usualFolder() })

	for line, want := range map[string]string{
		"--input-file synthetic:queries,passages":                             "is the input of rankings",
		"--input-file synthetic:prompts":                                      "synthetic:queries,passages",
		"--endpoint-type rankings --extra-inputs rankings:x":                  "tei, cohere or nim",
		"--arrival-pattern concurrency_burst --request-rate 5":                "closed loop",
		"--endpoint-type messages --osl 9 --output-tokens-mean-deterministic": "--extra-inputs",
		"--output-tokens-mean-deterministic":                                  "needs --output-tokens-mean",
		`-H {"a":1}`:                                                          "JSON object of texts",
	} {
		if _, err := parseLLM(t, "-m m "+line); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", line, err)
		}
	}
}

// An option that describes images, audio or videos makes one a request.
func TestMediaDefaults(t *testing.T) {
	f := func(line string, images, audios, videos int) {
		t.Helper()
		o, err := parseLLM(t, "-m m "+line)
		if err != nil {
			t.Errorf("%s: %v", line, err)
			return
		}
		if m := o.Data.Media; m.Images != images || m.Audios != audios || m.Videos != videos {
			t.Errorf("%s: %d images, %d audios, %d videos", line, m.Images, m.Audios, m.Videos)
		}
	}
	f("", 0, 0, 0)
	f("--image-width-mean 50 --image-height-mean 50", 1, 0, 0)
	f("--image-width-mean 0 --image-height-mean 0", 0, 0, 0)
	f("--image-width-mean 50 --image-batch-size 3", 3, 0, 0)
	f("--image-width-mean 50 --image-batch-size 0", 0, 0, 0)
	f("--audio-length-mean 3 --video-fps 2", 0, 1, 1)
	if _, err := parseLLM(t, "-m m --input-file f --image-format png"); err == nil || !strings.Contains(err.Error(), "--image-format is for generated prompts") {
		t.Error(err)
	}
}

// Lists of lengths and of conversations give a level for each combination.
func TestSteps(t *testing.T) {
	f := func(line string, want ...string) {
		t.Helper()
		o, err := parseLLM(t, "-m m "+line)
		if err != nil {
			t.Errorf("%s: %v", line, err)
			return
		}
		var got []string
		for _, s := range o.steps(false) {
			data, sessions := o.Data, o.Sessions
			s.apply(o, &data, &sessions)
			got = append(got, strings.TrimPrefix(s.String(), "concurrency "))
			if strings.Contains(s.Prompts, "isl") && data.Input.Mean != s.input || strings.Contains(s.Prompts, "osl") && data.Output.Mean != s.output ||
				strings.Contains(s.Prompts, "conversations") && sessions != s.sessions {
				t.Errorf("%s: %+v", s.Prompts, data)
			}
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s: %s", line, d)
		}
	}
	f("--isl 100 --osl 20 --num-conversations 5", "1")
	f("--isl 100,200 --concurrency 1,4", "1, isl 100", "4, isl 100", "1, isl 200", "4, isl 200")
	f("--isl 100,200 --osl 10,20", "1, isl 100, osl 10", "1, isl 100, osl 20", "1, isl 200, osl 10", "1, isl 200, osl 20")
	f("--num-conversations 5,10", "1, 5 conversations", "1, 10 conversations")
	o, err := parseLLM(t, "-m m --isl 100,200 --random-range-ratio 0.5")
	if err != nil {
		t.Fatal(err)
	}
	data := o.Data
	o.steps(false)[1].apply(o, &data, new(int))
	if data.Input.Min != 100 || data.Input.Max != 300 {
		t.Errorf("%+v", data.Input)
	}
	for _, line := range []string{"--isl 100,200 --input-file f", "--isl 0", "--isl 1,x", "--osl -1", "--isl 1,2 --osl 1,2 --seq-dist 1,1:100"} {
		if _, err := parseLLM(t, "-m m "+line); err == nil {
			t.Errorf("%s passed", line)
		}
	}
}

// The name of a model is found among those that Hugging Face's tools downloaded.
func TestDownloadedTokenizer(t *testing.T) {
	home := t.TempDir()
	model := filepath.Join(home, "hub", "models--org--name")
	for _, dir := range []string{"refs", filepath.Join("snapshots", "abc")} {
		if err := os.MkdirAll(filepath.Join(model, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(model, "refs", "main"), []byte("abc\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	env := func(name string) string { return map[string]string{"HF_HOME": home}[name] }
	if got, want := downloaded("org/name", env), filepath.Join(model, "snapshots", "abc"); got != want {
		t.Errorf("%q, want %q", got, want)
	}
	for _, name := range []string{"org/other", "builtin", "org/*", "../hub"} {
		if got := downloaded(name, env); got != "" {
			t.Errorf("%s: %q", name, got)
		}
	}
	if _, err := loadTokens("org/other", env); err == nil || !strings.Contains(err.Error(), "nothing is downloaded") {
		t.Error(err)
	}
}
