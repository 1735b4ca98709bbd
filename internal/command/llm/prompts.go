package llm

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/redline-bench/redline/internal/convert"
	"github.com/redline-bench/redline/internal/llm/dataset"
	"github.com/redline-bench/redline/internal/option"
)

func (o *options) promptRows() []option.Row {
	formats := convert.All(dataset.Formats(), func(f dataset.Format) string { return string(f) })
	return option.Group("Prompts", []option.Row{
		{Long: "input-file", Also: "input-data", Arg: "FILE", Help: "file of prompts, each of which a level sends once unless a count or duration is given: AIPerf's JSONL formats, traces, ShareGPT, text and others; also GenAI-Perf's payload:FILE and synthetic:queries,passages; see docs/datasets.md", To: option.Text(&o.Data.Path)},
		{Long: "input-key", Arg: "NAME", Help: "JSON field that contains the prompt (the first found of input, prompt, text, question, instruction)", To: option.Text(&o.Data.Key)},
		{Long: "custom-dataset-type", Arg: "TYPE", Help: "format of the file; detected from its first record unless given: " + strings.Join(formats, ", "), To: option.Parsed(&o.Data.Format, dataset.ParseFormat).Of(formats...)},
		{Long: "dataset-sampling-strategy", Arg: "NAME", Default: "sequential", Help: "order of the prompts: sequential, shuffle or random", To: option.Parsed(&o.Data.Sampling, dataset.ParseSampling).Of("sequential", "shuffle", "random")},
		{Long: "num-dataset-entries", Also: "num-prompts num-payloads", Arg: "N", Help: "number of different prompts", To: option.Int(&o.Data.Entries, 1)},
		{Long: "random-seed", Arg: "N", Default: "0", Help: "seed of all random choices", To: option.Uint(&o.Data.Seed, math.MaxUint64)},
		{Long: "tokenizer", Also: "tokenizer-path", Arg: "FILE|DIR", Help: "tokenizer: a folder, a tokenizer.json, a tiktoken file, or the name of a model that Hugging Face's tools have downloaded", To: option.Text(&o.Tokenizer)},
		{Long: "apply-chat-template", Help: "count and generate prompts with the tokenizer's chat template, as the server sees them; endpoints that take one text, " +
			"such as completions, receive the rendered text", To: option.Switch(&o.ChatTemplate)},
		{Long: "use-server-token-count", Help: "use the server's token counts for prompts too, and even where they cannot be true", To: option.Switch(&o.ServerCounts)},
		{Long: "no-use-server-token-count", Help: "count responses with the tokenizer, as AIPerf does", To: option.Switch(&o.OwnCounts)},
	})
}

func (o *options) shapeRows() []option.Row {
	d := &o.Data
	return option.Group("Generated prompts", []option.Row{
		{Long: "synthetic-input-tokens-mean", Also: "isl prompt-input-tokens-mean", Arg: "LIST", Default: "550", Help: "mean number of tokens of a prompt; a list, as 100,200, measures a level for each", To: option.Parsed(&o.Inputs, lengthList(1))},
		{Long: "synthetic-input-tokens-stddev", Also: "isl-stddev prompt-input-tokens-stddev", Arg: "N", Help: "standard deviation of the tokens of a prompt", To: option.Float(&d.Input.Std, 0, 1e9)},
		{Long: "output-tokens-mean", Also: "osl prompt-output-tokens-mean", Arg: "LIST", Default: "0", Help: "mean number of tokens to request for a response, 0 for no limit; a list, as 100,200, measures a level for each", To: option.Parsed(&o.Lengths, lengthList(0))},
		{Long: "output-tokens-stddev", Also: "osl-stddev prompt-output-tokens-stddev", Arg: "N", Help: "standard deviation of the tokens to request", To: option.Float(&d.Output.Std, 0, 1e9)},
		{Long: "length-distribution", Arg: "NAME", Default: "normal", Help: "distribution of prompt and response lengths: normal, lognormal, uniform or fixed", To: option.Func(func(v string) error {
			k, err := dataset.ParseLengthKind(v)
			d.Input.Kind, d.Output.Kind = k, k
			return err
		}).Of("normal", "lognormal", "uniform", "fixed")},
		{Long: "random-range-ratio", Arg: "SHARE", Help: "draw input and output lengths uniformly from mean × (1 ± SHARE), like vLLM's benchmark", To: option.Float(&o.Spread, 0, 1)},
		{Long: "sequence-distribution", Also: "seq-dist", Arg: "LIST", Help: `mixture of input and output lengths with their percentages: "256,128:40;512,256:60"`, To: option.Text(&d.Pairs)},
		{Long: "conversation-turn-mean", Also: "session-turns-mean", Arg: "N", Help: "mean number of turns of a conversation", To: option.Float(&d.Turns.Mean, 1, 1e6)},
		{Long: "conversation-turn-stddev", Also: "session-turns-stddev", Arg: "N", Help: "standard deviation of the number of turns", To: option.Float(&d.Turns.Std, 0, 1e6)},
		{Long: "conversation-turn-delay-mean", Also: "session-turn-delay-mean", Arg: "TIME", Help: "mean pause before each turn except the first", To: option.TimeIn(&d.Delay.Mean, time.Millisecond, 1e9)},
		{Long: "conversation-turn-delay-stddev", Also: "session-turn-delay-stddev", Arg: "TIME", Help: "standard deviation of the pause", To: option.TimeIn(&d.Delay.Std, time.Millisecond, 1e9)},
		{Long: "conversation-turn-delay-ratio", Also: "session-delay-ratio", Arg: "FACTOR", Default: "1", Help: "multiply all pauses, also those of an input file, by this factor; 0 removes them", To: option.Func(func(v string) error {
			d.DelayRatio = new(float64)
			return option.Float(d.DelayRatio, 0, 1e6).Set(v)
		})},
		{Long: "inter-turn-delay-cap-seconds", Arg: "TIME", Help: "limit of the pause between two turns", To: seconds(&d.DelayCap)},
		{Long: "batch-size-text", Short: 'b', Also: "prompt-batch-size batch-size", Arg: "N", Help: "number of texts in a request, for embeddings", To: option.Int(&d.Batch, 0)},
		{Long: "system-prompt", Arg: "TEXT", Help: "system prompt of every conversation", To: option.Text(&d.System)},
		{Long: "system-prompt-file", Arg: "FILE", Help: "file that contains the system prompt", To: option.Text(&o.SystemFile)},
		{Long: "shared-system-prompt-length", Arg: "N", Help: "tokens of a generated system prompt that all conversations share", To: option.Int(&d.Prefix.SharedSystem, 0)},
		{Long: "user-context-prompt-length", Arg: "N", Help: "tokens of a generated text that opens each conversation and differs between conversations", To: option.Int(&d.Prefix.UserContext, 0)},
		{Long: "num-prefix-prompts", Also: "prompt-prefix-pool-size prefix-prompt-pool-size", Arg: "N", Help: "number of generated prefixes; each prompt starts with one of them", To: option.Int(&d.Prefix.Pool, 0)},
		{Long: "prefix-prompt-length", Also: "prompt-prefix-length", Arg: "N", Help: "tokens of a prefix of --num-prefix-prompts", To: option.Int(&d.Prefix.Length, 0)},
		{Long: "cache-bust", Arg: "PLACE", Default: "none", Help: "where to add a unique text that defeats prefix caches: none, system_prefix, system_suffix, first_turn_prefix or first_turn_suffix", To: option.Parsed(&d.Bust, dataset.ParseBust).
			Of("none", "system_prefix", "system_suffix", "first_turn_prefix", "first_turn_suffix")},
		{Long: "ignore-trace-delays", Help: "ignore timestamps and pauses in the input file", To: option.Switch(&d.Trace.IgnoreDelays)},
		{Long: "isl-block-size", Also: "synthetic-input-tokens-block-size prompt-input-tokens-block-size", Arg: "N", Default: "512, bailian_trace 16", Help: "tokens per hash id of a trace; 0 means 512, for bailian_trace 16", To: option.Int(&d.Trace.Block, 0)},
		{Long: "synthesis-max-isl", Arg: "N", Help: "skip requests of a trace with more input tokens", To: option.Int(&d.Trace.MaxInput, 0)},
		{Long: "synthesis-max-osl", Arg: "N", Help: "limit the output tokens of a trace's requests to this number", To: option.Int(&d.Trace.MaxOutput, 0)},
		{Long: "rankings-passages-mean", Arg: "N", Help: "rankings: mean number of passages in a request", To: option.Float(&d.Rankings.Passages.Mean, 0, 1e6)},
		{Long: "rankings-passages-stddev", Arg: "N", Help: "rankings: standard deviation of the number of passages", To: option.Float(&d.Rankings.Passages.Std, 0, 1e6)},
		{Long: "rankings-passages-prompt-token-mean", Arg: "N", Help: "rankings: mean number of tokens of a passage", To: option.Float(&d.Rankings.PassageTokens.Mean, 0, 1e9)},
		{Long: "rankings-passages-prompt-token-stddev", Arg: "N", Help: "rankings: standard deviation of the tokens of a passage", To: option.Float(&d.Rankings.PassageTokens.Std, 0, 1e9)},
		{Long: "rankings-query-prompt-token-mean", Arg: "N", Help: "rankings: mean number of tokens of the query", To: option.Float(&d.Rankings.QueryTokens.Mean, 0, 1e9)},
		{Long: "rankings-query-prompt-token-stddev", Arg: "N", Help: "rankings: standard deviation of the tokens of the query", To: option.Float(&d.Rankings.QueryTokens.Std, 0, 1e9)},
	})
}

func (o *options) mediaRows() []option.Row {
	m := &o.Data.Media
	return option.Group("Images, audio and video", []option.Row{
		{Long: "image-batch-size", Also: "batch-size-image", Arg: "N", Default: "1 if an option describes images", Help: "number of images in a request", To: option.Int(&m.Images, 0)},
		{Long: "image-width-mean", Arg: "PIXELS", Help: "mean width of generated images", To: option.Float(&m.Width.Mean, 0, 1e5)},
		{Long: "image-width-stddev", Arg: "PIXELS", Help: "standard deviation of the width", To: option.Float(&m.Width.Std, 0, 1e5)},
		{Long: "image-height-mean", Arg: "PIXELS", Help: "mean height of generated images", To: option.Float(&m.Height.Mean, 0, 1e5)},
		{Long: "image-height-stddev", Arg: "PIXELS", Help: "standard deviation of the height", To: option.Float(&m.Height.Std, 0, 1e5)},
		{Long: "image-format", Arg: "NAME", Help: "format of generated images: png, jpeg or random", To: option.Text(&m.ImageFormat).Of("png", "jpeg", "random")},
		{Long: "image-source", Arg: "DIR", Default: "noise", Help: "folder with images to send; noise generates them", To: option.Func(func(v string) error {
			if v == "assets" {
				return errors.New("is a folder of images, or noise: AIPerf's own images are not part of this program")
			}
			m.ImageDir = strings.TrimPrefix(v, "noise")
			return nil
		})},
		{Long: "audio-batch-size", Also: "batch-size-audio", Arg: "N", Default: "1 if an option describes audio", Help: "number of audio clips in a request", To: option.Int(&m.Audios, 0)},
		{Long: "audio-length-mean", Arg: "TIME", Help: "mean length of generated audio", To: option.TimeIn(&m.Seconds.Mean, time.Second, 1e5)},
		{Long: "audio-length-stddev", Arg: "TIME", Help: "standard deviation of the length", To: option.TimeIn(&m.Seconds.Std, time.Second, 1e5)},
		{Long: "audio-sample-rates", Arg: "LIST", Repeat: true, Default: "16", Help: "sample rates of generated audio, in kHz or Hz; each clip uses one of them at random", To: option.Func(func(v string) error {
			list, err := option.Floats(v)
			for _, f := range list {
				if f < 1000 {
					f *= 1000
				}
				m.SampleRates = append(m.SampleRates, int(f))
			}
			return err
		})},
		{Long: "audio-depths", Arg: "LIST", Repeat: true, Default: "16", Help: "bits per sample of generated audio; each clip uses one of them at random", To: option.Func(func(v string) error {
			list, err := option.Ints(v)
			m.Depths = append(m.Depths, list...)
			return err
		})},
		{Long: "audio-format", Arg: "NAME", Default: "wav", Help: "format of generated audio: wav", To: option.Func(func(v string) error {
			if v != "wav" {
				return fmt.Errorf("is wav, not %q: put other audio into a file of prompts", v)
			}
			return nil
		})},
		{Long: "audio-num-channels", Arg: "N", Default: "1", Help: "channels of generated audio", To: option.Int(&m.Channels, 0)},
		{Long: "video-batch-size", Also: "batch-size-video", Arg: "N", Default: "1 if an option describes videos", Help: "number of videos in a request", To: option.Int(&m.Videos, 0)},
		{Long: "video-duration", Arg: "TIME", Default: "1s", Help: "length of generated videos", To: option.TimeIn(&m.VideoSeconds, time.Second, 1e5)},
		{Long: "video-fps", Arg: "N", Default: "4", Help: "frames per second of generated videos", To: option.Int(&m.FPS, 0)},
		{Long: "video-width", Arg: "PIXELS", Default: "640", Help: "width of generated videos", To: option.Int(&m.VideoWidth, 0)},
		{Long: "video-height", Arg: "PIXELS", Default: "480", Help: "height of generated videos", To: option.Int(&m.VideoHeight, 0)},
	})
}
