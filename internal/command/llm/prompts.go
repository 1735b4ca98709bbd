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
	s.Text(&o.data.Path, "input-file", "FILE", "file of prompts: AIPerf's JSONL formats, traces, ShareGPT, text and others; see docs/datasets.md")
	s.Text(&o.inputData, "input-data", "FILE", "file of prompts; a level sends each prompt once unless a count or duration is given")
	s.Text(&o.data.Key, "input-key", "NAME", "JSON field that contains the prompt (the first found of input, prompt, text, question, instruction)")
	s.Var("custom-dataset-type", "TYPE", "", "format of the file; detected from its first record unless given: "+formatNames(), func(v string) error {
		var err error
		o.data.Format, err = dataset.ParseFormat(v)
		return err
	})
	s.Var("dataset-sampling-strategy", "NAME", "sequential", "order of the prompts: sequential, shuffle or random", func(v string) error {
		var err error
		o.data.Sampling, err = dataset.ParseSampling(v)
		return err
	})
	s.Int(&o.data.Entries, "num-dataset-entries", "N", 1, "number of different prompts")
	s.Alias("num-dataset-entries", "num-prompts")
	s.Var("random-seed", "N", "0", "seed of all random choices", func(v string) error {
		n, err := strconv.ParseUint(v, 10, 64)
		if err != nil {
			return fmt.Errorf("is a whole number, not %q", v)
		}
		o.data.Seed = n
		return nil
	})
	s.Text(&o.tokenizer, "tokenizer", "DIR", "folder or file of a tokenizer: tokenizer.json, or a tiktoken file")
	s.Text(&o.tokenizerPath, "tokenizer-path", "DIR", "other name of --tokenizer; also selects the blocks of --console seed")
	s.Bool(&o.chatTemplate, "apply-chat-template", "count and generate prompts with the tokenizer's chat template, as the server sees them; "+
		"endpoints that take one text, such as completions, receive the rendered text")
	s.Bool(&o.serverCounts, "use-server-token-count", "use the server's token counts even if a tokenizer is given")
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
	s.Group("Generated prompts")
	s.Float(&d.Input.Mean, "synthetic-input-tokens-mean", "N", 1, 1e9, "mean number of tokens of a prompt")
	s.Alias("synthetic-input-tokens-mean", "isl", "prompt-input-tokens-mean")
	s.Float(&d.Input.Std, "synthetic-input-tokens-stddev", "N", 0, 1e9, "standard deviation of the tokens of a prompt")
	s.Alias("synthetic-input-tokens-stddev", "isl-stddev", "prompt-input-tokens-stddev")
	s.Float(&d.Output.Mean, "output-tokens-mean", "N", 0, 1e9, "mean number of tokens to request for a response; 0 requests no length")
	s.Alias("output-tokens-mean", "osl", "prompt-output-tokens-mean")
	s.Float(&d.Output.Std, "output-tokens-stddev", "N", 0, 1e9, "standard deviation of the tokens to request")
	s.Alias("output-tokens-stddev", "osl-stddev", "prompt-output-tokens-stddev")
	s.Var("length-distribution", "NAME", "normal", "distribution of prompt and response lengths: normal, lognormal, uniform or fixed", func(v string) error {
		k, err := dataset.ParseLengthKind(v)
		d.Input.Kind, d.Output.Kind = k, k
		return err
	})
	s.Float(&o.spread, "random-range-ratio", "SHARE", 0, 1, "draw input and output lengths uniformly from mean × (1 ± SHARE), like vLLM's benchmark")
	s.Text(&d.Pairs, "sequence-distribution", "LIST", `mixture of input and output lengths with their percentages: "256,128:40;512,256:60"`)
	s.Alias("sequence-distribution", "seq-dist")
	s.Float(&d.Turns.Mean, "conversation-turn-mean", "N", 1, 1e6, "mean number of turns of a conversation")
	s.Alias("conversation-turn-mean", "session-turns-mean")
	s.Float(&d.Turns.Std, "conversation-turn-stddev", "N", 0, 1e6, "standard deviation of the number of turns")
	s.Alias("conversation-turn-stddev", "session-turns-stddev")
	s.Float(&d.Delay.Mean, "conversation-turn-delay-mean", "MS", 0, 1e9, "mean pause before each turn except the first")
	s.Alias("conversation-turn-delay-mean", "session-turn-delay-mean")
	s.Float(&d.Delay.Std, "conversation-turn-delay-stddev", "MS", 0, 1e9, "standard deviation of the pause")
	s.Alias("conversation-turn-delay-stddev", "session-turn-delay-stddev")
	s.Var("conversation-turn-delay-ratio", "FACTOR", "1", "multiply all pauses, also those of an input file, by this factor; 0 removes them", func(v string) error {
		f, err := strconv.ParseFloat(v, 64)
		if err != nil || !(f >= 0 && f <= 1e6) {
			return fmt.Errorf("is a number of at least 0, not %q", v)
		}
		d.DelayRatio = &f
		return nil
	})
	s.Alias("conversation-turn-delay-ratio", "session-delay-ratio")
	o.time(s, &d.DelayCap, "inter-turn-delay-cap-seconds", "limit of the pause between two turns")
	s.Int(&d.Batch, "batch-size-text", "N", 0, "number of texts in a request, for embeddings")
	s.Alias("batch-size-text", "prompt-batch-size", "batch-size")
	s.Text(&d.System, "system-prompt", "TEXT", "system prompt of every conversation")
	s.Text(&o.systemFile, "system-prompt-file", "FILE", "file that contains the system prompt")
	s.Int(&d.Prefix.SharedSystem, "shared-system-prompt-length", "N", 0, "tokens of a generated system prompt that all conversations share")
	s.Int(&d.Prefix.UserContext, "user-context-prompt-length", "N", 0, "tokens of a generated text that opens each conversation and differs between conversations")
	s.Int(&d.Prefix.Pool, "num-prefix-prompts", "N", 0, "number of generated prefixes; each prompt starts with one of them")
	s.Alias("num-prefix-prompts", "prompt-prefix-pool-size", "prefix-prompt-pool-size")
	s.Int(&d.Prefix.Length, "prefix-prompt-length", "N", 0, "tokens of a prefix of --num-prefix-prompts")
	s.Alias("prefix-prompt-length", "prompt-prefix-length")
	s.Var("cache-bust", "PLACE", "none", "where to add a unique text that defeats prefix caches: none, system_prefix, system_suffix, first_turn_prefix or first_turn_suffix", func(v string) error {
		var err error
		d.Bust, err = dataset.ParseBust(v)
		return err
	})
	s.Bool(&d.Trace.IgnoreDelays, "ignore-trace-delays", "ignore timestamps and pauses in the input file")
	s.Int(&d.Trace.Block, "isl-block-size", "N", 0, "tokens per hash id of a trace; 0 means 512, for bailian_trace 16")
	s.Alias("isl-block-size", "synthetic-input-tokens-block-size", "prompt-input-tokens-block-size")
	s.Int(&d.Trace.MaxInput, "synthesis-max-isl", "N", 0, "skip requests of a trace with more input tokens")
	s.Int(&d.Trace.MaxOutput, "synthesis-max-osl", "N", 0, "limit the output tokens of a trace's requests to this number")
	s.Float(&d.Rankings.Passages.Mean, "rankings-passages-mean", "N", 0, 1e6, "rankings: mean number of passages in a request")
	s.Float(&d.Rankings.Passages.Std, "rankings-passages-stddev", "N", 0, 1e6, "rankings: standard deviation of the number of passages")
	s.Float(&d.Rankings.PassageTokens.Mean, "rankings-passages-prompt-token-mean", "N", 0, 1e9, "rankings: mean number of tokens of a passage")
	s.Float(&d.Rankings.PassageTokens.Std, "rankings-passages-prompt-token-stddev", "N", 0, 1e9, "rankings: standard deviation of the tokens of a passage")
	s.Float(&d.Rankings.QueryTokens.Mean, "rankings-query-prompt-token-mean", "N", 0, 1e9, "rankings: mean number of tokens of the query")
	s.Float(&d.Rankings.QueryTokens.Std, "rankings-query-prompt-token-stddev", "N", 0, 1e9, "rankings: standard deviation of the tokens of the query")
}

func addMedia(s *optset.Set, o *options) {
	m := &o.data.Media
	s.Group("Images, audio and video")
	s.Int(&m.Images, "image-batch-size", "N", 0, "number of images in a request")
	s.Alias("image-batch-size", "batch-size-image")
	s.Float(&m.Width.Mean, "image-width-mean", "PIXELS", 0, 1e5, "mean width of generated images")
	s.Float(&m.Width.Std, "image-width-stddev", "PIXELS", 0, 1e5, "standard deviation of the width")
	s.Float(&m.Height.Mean, "image-height-mean", "PIXELS", 0, 1e5, "mean height of generated images")
	s.Float(&m.Height.Std, "image-height-stddev", "PIXELS", 0, 1e5, "standard deviation of the height")
	s.Text(&m.ImageFormat, "image-format", "NAME", "format of generated images: png, jpeg or random")
	s.Var("image-source", "DIR", "noise", "folder with images to send; noise generates them", func(v string) error {
		if v == "assets" {
			return fmt.Errorf("is a folder of images, or noise: AIPerf's own images are not part of this program")
		}
		m.ImageDir = strings.TrimPrefix(v, "noise")
		return nil
	})
	s.Int(&m.Audios, "audio-batch-size", "N", 0, "number of audio clips in a request")
	s.Alias("audio-batch-size", "batch-size-audio")
	s.Float(&m.Seconds.Mean, "audio-length-mean", "SECONDS", 0, 1e5, "mean length of generated audio")
	s.Float(&m.Seconds.Std, "audio-length-stddev", "SECONDS", 0, 1e5, "standard deviation of the length")
	s.Var("audio-sample-rates", "LIST", "16", "sample rates of generated audio, in kHz or Hz; each clip uses one of them at random", func(v string) error {
		list, err := floatList(v)
		for _, f := range list {
			if f < 1000 {
				f *= 1000
			}
			m.SampleRates = append(m.SampleRates, int(f))
		}
		return err
	})
	s.Var("audio-depths", "LIST", "16", "bits per sample of generated audio; each clip uses one of them at random", func(v string) error {
		list, err := intList(v)
		m.Depths = append(m.Depths, list...)
		return err
	})
	s.Var("audio-format", "NAME", "wav", "format of generated audio: wav", func(v string) error {
		if v != "wav" {
			return fmt.Errorf("is wav, not %q: put other sounds into a file of prompts", v)
		}
		return nil
	})
	s.Int(&m.Channels, "audio-num-channels", "N", 0, "channels of generated audio; 0 means 1")
	s.Int(&m.Videos, "video-batch-size", "N", 0, "number of videos in a request")
	s.Alias("video-batch-size", "batch-size-video")
	s.Float(&m.VideoSeconds, "video-duration", "SECONDS", 0, 1e5, "length of generated videos; 0 means 1")
	s.Int(&m.FPS, "video-fps", "N", 0, "frames per second of generated videos; 0 means 4")
	s.Int(&m.VideoWidth, "video-width", "PIXELS", 0, "width of generated videos; 0 means 640")
	s.Int(&m.VideoHeight, "video-height", "PIXELS", 0, "height of generated videos; 0 means 480")
}
