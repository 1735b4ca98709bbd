package dataset_test

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/redline-bench/redline/internal/llm"
	"github.com/redline-bench/redline/internal/llm/dataset"
)

func TestLengths(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	f := func(l dataset.Lengths, mean, std float64, low, high int) {
		t.Helper()
		const n = 20_000
		var sum, squares float64
		for range n {
			v := l.Draw(r)
			if v < low || high > 0 && v > high {
				t.Fatalf("%+v gave %d", l, v)
			}
			sum += float64(v)
			squares += float64(v) * float64(v)
		}
		m := sum / n
		s := math.Sqrt(squares/n - m*m)
		if math.Abs(m-mean) > 0.02*mean || math.Abs(s-std) > 0.05*std+0.01 {
			t.Errorf("%+v: mean %v, deviation %v", l, m, s)
		}
	}
	f(dataset.Fixed(7), 7, 0, 7, 7)
	f(dataset.Lengths{Mean: 500, Std: 50}, 500, 50, 1, 0)
	f(dataset.Lengths{Kind: dataset.LogNormal, Mean: 500, Std: 200}, 500, 200, 1, 0)
	f(dataset.Lengths{Kind: dataset.Uniform, Min: 10, Max: 20}, 15, math.Sqrt(10), 10, 20)
	f(dataset.Lengths{Kind: dataset.Uniform, Mean: 100, Std: 10}, 100, 10, 80, 120)
	f(dataset.Lengths{Mean: 100, Std: 1000, Min: 90, Max: 110}, 100, 9.97, 90, 110)
}

func TestPairs(t *testing.T) {
	for _, text := range []string{
		"256,128:40;512,256:60", "[(256,128):40,(512,256):60]", "[(256,128):40, (512,256):60]",
		`{"pairs":[{"isl":256,"osl":128,"prob":40},{"isl":512,"osl":256,"prob":60}]}`,
	} {
		s := open(t, dataset.Options{Pairs: text, Seed: 1})
		small := 0
		for _, c := range take(t, s, 300) {
			turn := c.Turns[0]
			switch [2]int{turn.InputTokens, turn.MaxTokens} {
			case [2]int{256, 128}:
				small++
			case [2]int{512, 256}:
			default:
				t.Fatalf("%s: %d and %d", text, turn.InputTokens, turn.MaxTokens)
			}
		}
		if small < 80 || small > 160 {
			t.Errorf("%s: %d of 300 are small", text, small)
		}
	}
	for _, text := range []string{"256,128:40", "256:100", "a,b:100", "0,5:100", "1,1:-5;1,1:105", "{}", "[]", ";"} {
		if _, err := dataset.Open(t.Context(), dataset.Options{Pairs: text}, nil); err == nil || !strings.Contains(err.Error(), "sequence distribution") {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestSharedTexts(t *testing.T) {
	s := open(t, dataset.Options{Input: dataset.Fixed(50), Prefix: dataset.Prefix{Pool: 3, Length: 40}, Entries: 30, Once: true})
	starts := map[string]int{}
	for _, c := range take(t, s, 100) {
		turn := c.Turns[0]
		if turn.InputTokens != 90 || (words{}).Count(turn.Texts[0]) != 90 {
			t.Errorf("%d tokens", turn.InputTokens)
		}
		starts[turn.Texts[0][:60]]++
	}
	if len(starts) != 3 {
		t.Errorf("%d different starts", len(starts))
	}
	if c := s.Describe().Cache; c.Pool != 3 || c.Shared != 40 || c.Repeats {
		t.Errorf("described as %+v", c)
	}

	s = open(t, dataset.Options{Input: dataset.Fixed(50), Prefix: dataset.Prefix{SharedSystem: 70, UserContext: 20}})
	list := take(t, s, 2)
	if list[0].System != list[1].System || (words{}).Count(list[0].System) != 70 || list[0].Turns[0].InputTokens != 70 {
		t.Errorf("system prompts of %d tokens", (words{}).Count(list[0].System))
	}
}

func TestBustKeepsLengths(t *testing.T) {
	for _, b := range []dataset.Bust{dataset.FirstTurnPrefix, dataset.FirstTurnSuffix} {
		for n := 4; n < 300; n += 17 {
			c := take(t, open(t, dataset.Options{Input: dataset.Fixed(n), Bust: b}), 1)[0]
			if got := (words{}).Count(c.Turns[0].Texts[0]); got != n {
				t.Errorf("%s: %d tokens asked, %d made", b, n, got)
			}
		}
	}
	path := write(t, "p.jsonl", `{"messages":[{"role":"system","content":"s"},{"role":"user","content":"hi"}]}`)
	c := take(t, open(t, dataset.Options{Path: path, Bust: dataset.FirstTurnPrefix}), 2)
	if a, b := string(c[0].Turns[0].Messages), string(c[1].Turns[0].Messages); a == b || !strings.Contains(a, "] hi") {
		t.Errorf("%s and %s", a, b)
	}
	raw := write(t, "r.jsonl", `{"model":"m","messages":[]}`)
	for _, o := range []dataset.Options{
		{Path: raw, Bust: dataset.FirstTurnPrefix},
		{Path: raw, Bust: dataset.SystemPrefix},
		{Path: raw, System: "x"},
		{Path: path, Bust: dataset.SystemPrefix},
		{Path: path, Prefix: dataset.Prefix{SharedSystem: 5}},
	} {
		if _, err := dataset.Open(t.Context(), o, nil); err == nil || !strings.Contains(err.Error(), "line 1:") || !strings.Contains(err.Error(), "cannot") {
			t.Errorf("%+v: %v", o, err)
		}
	}
}

func TestRankingsAndMedia(t *testing.T) {
	s := open(t, dataset.Options{Rankings: dataset.Rankings{Passages: dataset.Fixed(3), PassageTokens: dataset.Fixed(20), QueryTokens: dataset.Fixed(5)}})
	turn := take(t, s, 1)[0].Turns[0]
	if len(turn.Passages) != 3 || (words{}).Count(turn.Query) != 5 || turn.InputTokens != 65 {
		t.Errorf("%+v", turn)
	}
	s = open(t, dataset.Options{
		Input: dataset.Fixed(5), Batch: 2,
		Media: dataset.Media{Images: 1, Width: dataset.Fixed(8), Height: dataset.Fixed(8), Audios: 1, Seconds: dataset.Lengths{Mean: 0.2}, Videos: 1, VideoWidth: 16, VideoHeight: 16},
	})
	turn = take(t, s, 1)[0].Turns[0]
	kinds := ""
	for _, m := range turn.Media {
		kind, _, _ := strings.Cut(m.URL, ";")
		kinds += kind + " "
	}
	if kinds != "data:image/png data:audio/wav data:video/avi " || len(turn.Texts) != 2 || turn.Media[1].Kind != llm.Audio {
		t.Errorf("%s, %d texts", kinds, len(turn.Texts))
	}
}

func TestContradictions(t *testing.T) {
	for want, o := range map[string]dataset.Options{
		"no prompts":        {},
		"--input-file":      {Format: dataset.Single, Input: dataset.Fixed(1)},
		"exclude":           {Input: dataset.Fixed(1), Prefix: dataset.Prefix{Pool: 1, Length: 1, SharedSystem: 1}},
		"both its size":     {Input: dataset.Fixed(1), Prefix: dataset.Prefix{Pool: 1}},
		"choose one":        {Input: dataset.Fixed(1), System: "x", Prefix: dataset.Prefix{SharedSystem: 1}},
		"above the maximum": {Input: dataset.Lengths{Mean: 5, Min: 9, Max: 3}},
		"deviation":         {Input: dataset.Lengths{Mean: 5, Std: -1}},
		"speed-up":          {Path: "x", Trace: dataset.Trace{Speedup: -1}},
		"after its end":     {Path: "x", Trace: dataset.Trace{Start: 5, End: 2}},
		"too large":         {Input: dataset.Fixed(1), Media: dataset.Media{Images: 1, Width: dataset.Fixed(1 << 20)}},
		"png or jpeg":       {Input: dataset.Fixed(1), Media: dataset.Media{Images: 1, ImageFormat: "tiff"}},
	} {
		if _, err := dataset.Open(t.Context(), o, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %q", o, err, want)
		}
	}
	if _, err := dataset.ParseFormat("nope"); err == nil || !strings.Contains(err.Error(), "mooncake_trace") {
		t.Error(err)
	}
}

// Without a tokenizer a word stands for a token, and the report says so.
func TestWithoutTokenizer(t *testing.T) {
	s, err := dataset.Open(t.Context(), dataset.Options{Input: dataset.Fixed(30)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	c, _ := s.Next()
	if n := len(strings.Fields(c.Turns[0].Texts[0])); n != 30 || c.Turns[0].InputTokens != 0 || s.Describe().Exact {
		t.Errorf("%d words, %d tokens, %+v", n, c.Turns[0].InputTokens, s.Describe())
	}
}

func BenchmarkMade(b *testing.B) {
	s := open(b, dataset.Options{Input: dataset.Fixed(512)})
	b.ReportAllocs()
	for b.Loop() {
		s.Next()
	}
}
