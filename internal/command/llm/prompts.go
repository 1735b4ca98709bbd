package llm

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/redline-bench/redline/internal/llm/dataset"
	"github.com/redline-bench/redline/internal/optset"
)

func addPrompts(s *optset.Set, o *options) {
	s.Group("Prompts")
	s.Text(&o.data.Path, "input-file", "FILE", "prompts: JSONL in AIPerf's forms, traces, ShareGPT, text; see docs/llm.md")
	s.Text(&o.inputData, "input-data", "FILE", "the same; like there, each prompt is sent once a level where no count or time is given")
	s.Text(&o.data.Key, "input-key", "NAME", "field of the prompt in lines of JSON (input, prompt, text, question, instruction)")
	s.Var("custom-dataset-type", "TYPE", "", "what the file holds: "+formatNames(), func(v string) error {
		var err error
		o.data.Format, err = dataset.ParseFormat(v)
		return err
	})
	s.Var("dataset-sampling-strategy", "NAME", "sequential", "order of the prompts: sequential, shuffle or random", func(v string) error {
		var err error
		o.data.Sampling, err = dataset.ParseSampling(v)
		return err
	})
	s.Int(&o.data.Entries, "num-dataset-entries", "N", 1, "different prompts")
	s.Alias("num-dataset-entries", "num-prompts")
	s.Var("random-seed", "N", "0", "of everything that is drawn", func(v string) error {
		n, err := strconv.ParseUint(v, 10, 64)
		if err != nil {
			return fmt.Errorf("is a whole number, not %q", v)
		}
		o.data.Seed = n
		return nil
	})
	s.Text(&o.tokenizer, "tokenizer", "DIR", "folder or file of a tokenizer: tokenizer.json, or a tiktoken file")
	s.Text(&o.tokenizerPath, "tokenizer-path", "DIR", "the same")
	s.Bool(&o.chatTemplate, "apply-chat-template", "count and make prompts with the tokenizer's chat template, as the server sees them; "+
		"completions and other endpoints that take one text are sent the rendered text")
	s.Bool(&o.serverCounts, "use-server-token-count", "lengths by the server's counts even with a tokenizer")
}

func formatNames() string {
	var names []string
	for _, f := range dataset.Formats() {
		names = append(names, string(f))
	}
	return strings.Join(names, ", ")
}

func addShape(s *optset.Set, o *options) {
	d := &o.data
	s.Group("Made prompts")
	s.Float(&d.Input.Mean, "synthetic-input-tokens-mean", "N", 1, 1e9, "tokens of a prompt")
	s.Alias("synthetic-input-tokens-mean", "isl", "prompt-input-tokens-mean")
	s.Float(&d.Input.Std, "synthetic-input-tokens-stddev", "N", 0, 1e9, "their deviation")
	s.Alias("synthetic-input-tokens-stddev", "isl-stddev", "prompt-input-tokens-stddev")
	s.Float(&d.Output.Mean, "output-tokens-mean", "N", 0, 1e9, "tokens of an answer that are asked for; 0 asks for none")
	s.Alias("output-tokens-mean", "osl", "prompt-output-tokens-mean")
	s.Float(&d.Output.Std, "output-tokens-stddev", "N", 0, 1e9, "their deviation")
	s.Alias("output-tokens-stddev", "osl-stddev", "prompt-output-tokens-stddev")
	s.Var("length-distribution", "NAME", "normal", "of both: normal, lognormal, uniform or fixed", func(v string) error {
		k, err := dataset.ParseLengthKind(v)
		d.Input.Kind, d.Output.Kind = k, k
		return err
	})
	s.Float(&o.spread, "random-range-ratio", "SHARE", 0, 1, "both uniform, so far around their means, as vLLM's bench does")
	s.Text(&d.Pairs, "sequence-distribution", "LIST", `mixture of lengths: "256,128:40;512,256:60"`)
	s.Alias("sequence-distribution", "seq-dist")
	s.Float(&d.Turns.Mean, "conversation-turn-mean", "N", 1, 1e6, "turns of a conversation")
	s.Alias("conversation-turn-mean", "session-turns-mean")
	s.Float(&d.Turns.Std, "conversation-turn-stddev", "N", 0, 1e6, "their deviation")
	s.Alias("conversation-turn-stddev", "session-turns-stddev")
	s.Float(&d.Delay.Mean, "conversation-turn-delay-mean", "MS", 0, 1e9, "pause before each turn but the first")
	s.Alias("conversation-turn-delay-mean", "session-turn-delay-mean")
	s.Float(&d.Delay.Std, "conversation-turn-delay-stddev", "MS", 0, 1e9, "its deviation")
	s.Alias("conversation-turn-delay-stddev", "session-turn-delay-stddev")
	s.Var("conversation-turn-delay-ratio", "FACTOR", "1", "multiplies pauses, those of a file too; 0 leaves them out", func(v string) error {
		f, err := strconv.ParseFloat(v, 64)
		if err != nil || !(f >= 0 && f <= 1e6) {
			return fmt.Errorf("is a number of at least 0, not %q", v)
		}
		d.DelayRatio = &f
		return nil
	})
	s.Alias("conversation-turn-delay-ratio", "session-delay-ratio")
	o.time(s, &d.DelayCap, "inter-turn-delay-cap-seconds", "longest pause")
	s.Int(&d.Batch, "batch-size-text", "N", 0, "texts of a request, for embeddings")
	s.Alias("batch-size-text", "prompt-batch-size", "batch-size")
	s.Text(&d.System, "system-prompt", "TEXT", "opens every conversation")
	s.Text(&o.systemFile, "system-prompt-file", "FILE", "the same, out of a file")
	s.Int(&d.Prefix.SharedSystem, "shared-system-prompt-length", "N", 0, "tokens of a made system prompt that all share")
	s.Int(&d.Prefix.UserContext, "user-context-prompt-length", "N", 0, "tokens that open each conversation and are its own")
	s.Int(&d.Prefix.Pool, "num-prefix-prompts", "N", 0, "made beginnings that prompts share")
	s.Alias("num-prefix-prompts", "prompt-prefix-pool-size", "prefix-prompt-pool-size")
	s.Int(&d.Prefix.Length, "prefix-prompt-length", "N", 0, "tokens of such a beginning")
	s.Alias("prefix-prompt-length", "prompt-prefix-length")
	s.Var("cache-bust", "PLACE", "none", "text that never repeats, against prefix caches: system_prefix, first_turn_prefix, ...", func(v string) error {
		var err error
		d.Bust, err = dataset.ParseBust(v)
		return err
	})
	s.Bool(&d.Trace.IgnoreDelays, "ignore-trace-delays", "leave out the times and pauses of the file")
	s.Int(&d.Trace.Block, "isl-block-size", "N", 0, "tokens that a hash id of a trace stands for (512, bailian_trace 16)")
	s.Alias("isl-block-size", "synthetic-input-tokens-block-size", "prompt-input-tokens-block-size")
	s.Int(&d.Trace.MaxInput, "synthesis-max-isl", "N", 0, "leave out longer requests of a trace")
	s.Int(&d.Trace.MaxOutput, "synthesis-max-osl", "N", 0, "shorten longer answers of a trace")
	s.Float(&d.Rankings.Passages.Mean, "rankings-passages-mean", "N", 0, 1e6, "rankings: passages of a request")
	s.Float(&d.Rankings.Passages.Std, "rankings-passages-stddev", "N", 0, 1e6, "their deviation")
	s.Float(&d.Rankings.PassageTokens.Mean, "rankings-passages-prompt-token-mean", "N", 0, 1e9, "tokens of a passage")
	s.Float(&d.Rankings.PassageTokens.Std, "rankings-passages-prompt-token-stddev", "N", 0, 1e9, "their deviation")
	s.Float(&d.Rankings.QueryTokens.Mean, "rankings-query-prompt-token-mean", "N", 0, 1e9, "tokens of the query")
	s.Float(&d.Rankings.QueryTokens.Std, "rankings-query-prompt-token-stddev", "N", 0, 1e9, "their deviation")
}

func addMedia(s *optset.Set, o *options) {
	m := &o.data.Media
	s.Group("Images, audio and video")
	s.Int(&m.Images, "image-batch-size", "N", 0, "images of a request")
	s.Alias("image-batch-size", "batch-size-image")
	s.Float(&m.Width.Mean, "image-width-mean", "PIXELS", 0, 1e5, "width of made images")
	s.Float(&m.Width.Std, "image-width-stddev", "PIXELS", 0, 1e5, "its deviation")
	s.Float(&m.Height.Mean, "image-height-mean", "PIXELS", 0, 1e5, "height of made images")
	s.Float(&m.Height.Std, "image-height-stddev", "PIXELS", 0, 1e5, "its deviation")
	s.Text(&m.ImageFormat, "image-format", "NAME", "png, jpeg or random")
	s.Var("image-source", "DIR", "noise", "take images from a folder; noise makes them", func(v string) error {
		if v == "assets" {
			return fmt.Errorf("is a folder of images, or noise: AIPerf's own images are not part of this program")
		}
		m.ImageDir = strings.TrimPrefix(v, "noise")
		return nil
	})
	s.Int(&m.Audios, "audio-batch-size", "N", 0, "sounds of a request")
	s.Alias("audio-batch-size", "batch-size-audio")
	s.Float(&m.Seconds.Mean, "audio-length-mean", "SECONDS", 0, 1e5, "length of made sounds")
	s.Float(&m.Seconds.Std, "audio-length-stddev", "SECONDS", 0, 1e5, "its deviation")
	s.Var("audio-sample-rates", "LIST", "16", "of made sounds, in kHz or Hz; of several one is drawn", func(v string) error {
		list, err := floatList(v)
		for _, f := range list {
			if f < 1000 {
				f *= 1000
			}
			m.SampleRates = append(m.SampleRates, int(f))
		}
		return err
	})
	s.Var("audio-depths", "LIST", "16", "bits of a sample; of several one is drawn", func(v string) error {
		list, err := intList(v)
		m.Depths = append(m.Depths, list...)
		return err
	})
	s.Var("audio-format", "NAME", "wav", "wav", func(v string) error {
		if v != "wav" {
			return fmt.Errorf("is wav, not %q: put other sounds into a file of prompts", v)
		}
		return nil
	})
	s.Int(&m.Channels, "audio-num-channels", "N", 0, "of made sounds (1)")
	s.Int(&m.Videos, "video-batch-size", "N", 0, "videos of a request")
	s.Alias("video-batch-size", "batch-size-video")
	s.Float(&m.VideoSeconds, "video-duration", "SECONDS", 0, 1e5, "length of made videos (1)")
	s.Int(&m.FPS, "video-fps", "N", 0, "pictures a second (4)")
	s.Int(&m.VideoWidth, "video-width", "PIXELS", 0, "of made videos (640)")
	s.Int(&m.VideoHeight, "video-height", "PIXELS", 0, "of made videos (480)")
}
