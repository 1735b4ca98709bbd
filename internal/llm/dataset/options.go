package dataset

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/redline-bench/redline/internal/llm"
)

// Tokenizer is the part of a tokenizer that this package needs. Special tokens are never part of a prompt's length.
type Tokenizer interface {
	Encode(text string, special bool) []int
	Count(text string) int
}

// Options describe the conversations. The zero value with Input set generates prompts of that length without end.
type Options struct {
	// Seed determines every random choice and every generated text.
	Seed uint64 `json:"seed,omitzero"`

	// Path is the file or folder of prompts. Empty: prompts are generated.
	Path string `json:"path,omitzero"`
	// Format is the format of the file; empty: detected from its first record.
	Format Format `json:"format,omitzero"`
	// Key is the field of the prompt in JSONL lines and the column in CSV files that have no format of their
	// own; empty: input, then prompt, text, question, instruction.
	Key string `json:"key,omitzero"`
	// Sampling is the order in which conversations are taken.
	Sampling Sampling `json:"sampling,omitzero"`
	// Once: Next ends after the last conversation. Otherwise it starts again, and the identifiers get a number.
	// Conversations with times are always taken once.
	Once bool `json:"once,omitzero"`
	// Entries is the number of conversations: the first of a file, the draws of a pool, or the different generated ones. 0: all of
	// the file; generated prompts never repeat.
	Entries int `json:"entries,omitzero"`

	Trace Trace `json:"trace,omitzero"`

	// Input and Output are the lengths in tokens of generated prompts and of the requested responses. Output also applies to turns
	// of a file without a length.
	Input  Lengths `json:"input_tokens,omitzero"`
	Output Lengths `json:"output_tokens,omitzero"`
	// Pairs, if set, is a mixture of input and output lengths, such as "256,128:40;512,256:60", and replaces both.
	Pairs string `json:"length_pairs,omitzero"`
	// Turns is the number of turns of a generated conversation, Delay the pause before each except the first, in milliseconds.
	// DelayRatio, if set, scales delays, also those of files; DelayCap, if set, limits them.
	Turns      Lengths       `json:"turns,omitzero"`
	Delay      Lengths       `json:"turn_delay_ms,omitzero"`
	DelayRatio *float64      `json:"turn_delay_ratio,omitzero"`
	DelayCap   time.Duration `json:"turn_delay_cap_ns,omitzero"`
	// Batch is the number of texts in a turn (embeddings); 0 means 1. A turn of a file has the texts of as many records.
	Batch int `json:"batch,omitzero"`

	Prefix Prefix `json:"prefix,omitzero"`
	// Bust adds a unique text that defeats the server's prefix cache.
	Bust Bust `json:"cache_bust,omitzero"`
	// System is the user's system prompt for every conversation.
	System string `json:"system_prompt,omitzero"`
	// FirstTurn sends only the first turn of each conversation of a file, without a system prompt.
	FirstTurn bool `json:"first_turn,omitzero"`
	// Models, if there are several, are used in turn or drawn at random, one per conversation.
	Models      []string `json:"models,omitzero"`
	DrawnModels bool     `json:"random_models,omitzero"`

	Media    Media    `json:"media,omitzero"`
	Rankings Rankings `json:"rankings,omitzero"`

	// Estimate says how long generated prompts are without a tokenizer.
	Estimate llm.Estimate `json:"estimate,omitzero"`
	// ChatTokens, if set, counts the input tokens of a turn with the model's chat template, given the responses to earlier turns.
	// Lengths of generated prompts then include the template's own tokens.
	ChatTokens func(c *llm.Conversation, turn int, answers []string) (int, error) `json:"-"`

	// RunID is part of the markers of Bust, so that two runs with one seed do not share entries of the server's cache. Empty:
	// markers repeat with the seed.
	RunID string `json:"run_id,omitzero"`
}

// Trace are the options for recorded traffic.
type Trace struct {
	// Speedup divides all times; 0 means 1.
	Speedup float64 `json:"speedup,omitzero"`
	// Start and End keep only the requests between them, both inclusive, by the times in the file. End 0: all.
	Start time.Duration `json:"start_ns,omitzero"`
	End   time.Duration `json:"end_ns,omitzero"`
	// AutoOffset moves the first request to the start of the run. With Start set, times count from there anyway.
	AutoOffset bool `json:"auto_offset,omitzero"`
	// IgnoreTimes drops times: the file only gives the contents.
	IgnoreTimes bool `json:"ignore_times,omitzero"`
	// IgnoreDelays drops the pauses between turns.
	IgnoreDelays bool `json:"ignore_delays,omitzero"`
	// Block is the number of tokens per hash id; 0 means 512, for Bailian's traces 16.
	Block int `json:"block_size,omitzero"`
	// MaxInput skips longer requests, MaxOutput limits the requested output; 0: no limit.
	MaxInput  int `json:"max_input,omitzero"`
	MaxOutput int `json:"max_output,omitzero"`
}

// Prefix are texts that generated conversations share, in tokens.
type Prefix struct {
	// SharedSystem is the length of one system prompt that is the same for all.
	SharedSystem int `json:"shared_system_tokens,omitzero"`
	// UserContext is the length of a text that opens each conversation and differs between conversations.
	UserContext int `json:"user_context_tokens,omitzero"`
	// Pool texts of Length tokens are made, and each first turn starts with one of them.
	Pool   int `json:"pool,omitzero"`
	Length int `json:"length,omitzero"`
}

// Media are generated parts other than text. A count of 0 means none.
type Media struct {
	Images       int     `json:"images,omitzero"`
	Width        Lengths `json:"width,omitzero"`
	Height       Lengths `json:"height,omitzero"`
	ImageFormat  string  `json:"image_format,omitzero"` // png, jpeg or random; empty: png
	Audios       int     `json:"audios,omitzero"`
	Seconds      Lengths `json:"audio_seconds,omitzero"` // of audio
	SampleRates  []int   `json:"sample_rates,omitzero"`  // Hz; one is drawn for each clip; empty means 16000
	Channels     int     `json:"channels,omitzero"`      // 0 means 1
	Depths       []int   `json:"depths,omitzero"`        // bits per sample: 8, 16, 24 or 32; one is drawn for each clip; empty means 16
	Videos       int     `json:"videos,omitzero"`
	VideoSeconds float64 `json:"video_seconds,omitzero"` // 0 is 1
	FPS          int     `json:"fps,omitzero"`           // 0 is 4
	VideoWidth   int     `json:"video_width,omitzero"`   // 0 is 640
	VideoHeight  int     `json:"video_height,omitzero"`  // 0 is 480
	ImageDir     string  `json:"image_dir,omitzero"`     // folder of images, used in order instead of generated ones
}

// Rankings make turns of a query and passages, if Passages is set.
type Rankings struct {
	Passages      Lengths `json:"passages,omitzero"` // how many
	PassageTokens Lengths `json:"passage_tokens,omitzero"`
	QueryTokens   Lengths `json:"query_tokens,omitzero"`
}

// Format is the format of a file.
type Format string

// The formats.
const (
	Prompts   Format = "prompts"        // JSONL with a prompt under Key
	CSV       Format = "csv"            // a table with a column Key
	Text      Format = "text"           // one prompt per line
	Single    Format = "single_turn"    // AIPerf
	Multi     Format = "multi_turn"     // AIPerf
	Pool      Format = "random_pool"    // AIPerf
	Mooncake  Format = "mooncake_trace" // AIPerf, Mooncake
	Bailian   Format = "bailian_trace"  // Alibaba's traces of Qwen
	BurstGPT  Format = "burst_gpt_trace"
	SageMaker Format = "sagemaker_data_capture" // what an endpoint of Amazon SageMaker captured
	RawBody   Format = "raw_payload"            // request bodies
	Inputs    Format = "inputs_json"            // AIPerf's inputs.json
	PAInputs  Format = "pa_inputs"              // perf_analyzer's and GenAI-Perf's inputs.json
	GAPayload Format = "payload"                // GenAI-Perf's payload files
	ShareGPT  Format = "sharegpt"
	Messages  Format = "messages" // OpenAI messages, also as lines of a batch file
)

// Formats are all, in the order of the documentation.
var formats = []Format{Prompts, CSV, Text, Single, Multi, Pool, Mooncake, Bailian, BurstGPT, SageMaker, RawBody, Inputs, PAInputs, GAPayload, ShareGPT, Messages}

// Formats returns the names of all formats.
func Formats() []Format { return slices.Clone(formats) }

// ParseFormat reads a format's name, as in --custom-dataset-type. The empty name means detection.
func ParseFormat(name string) (Format, error) {
	f := Format(strings.ReplaceAll(strings.ToLower(name), "-", "_"))
	for _, full := range []Format{Mooncake, Bailian, BurstGPT} {
		if string(f)+"_trace" == string(full) {
			return full, nil
		}
	}
	if f == "" || slices.Contains(formats, f) {
		return f, nil
	}
	names := make([]string, len(formats))
	for i, f := range formats {
		names[i] = string(f)
	}
	return "", fmt.Errorf("is one of %s, not %q", strings.Join(names, ", "), name)
}

// Sampling is the order in which conversations are taken.
type Sampling uint8

// The orders.
const (
	Sequential Sampling = iota
	Shuffle             // all in random order, then all again in another order
	Random              // drawn with replacement
)

// ParseSampling reads AIPerf's names: sequential, shuffle, random.
func ParseSampling(name string) (Sampling, error) {
	switch strings.ToLower(name) {
	case "", "sequential":
		return Sequential, nil
	case "shuffle":
		return Shuffle, nil
	case "random":
		return Random, nil
	}
	return 0, fmt.Errorf("is sequential, shuffle or random, not %q", name)
}

func (s Sampling) String() string { return [...]string{"sequential", "shuffle", "random"}[s] }

// MarshalText implements encoding.TextMarshaler.
func (s Sampling) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (s *Sampling) UnmarshalText(b []byte) (err error) {
	*s, err = ParseSampling(string(b))
	return err
}

// Bust is the place of the unique text.
type Bust uint8

// The places. A prefix defeats the prefix cache for the whole prompt; with a suffix, the text before it can be cached.
const (
	NoBust Bust = iota
	SystemPrefix
	SystemSuffix
	FirstTurnPrefix
	FirstTurnSuffix
)

var bustNames = [...]string{"none", "system_prefix", "system_suffix", "first_turn_prefix", "first_turn_suffix"}

func (b Bust) String() string { return bustNames[b] }

// MarshalText implements encoding.TextMarshaler.
func (b Bust) MarshalText() ([]byte, error) { return []byte(b.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (b *Bust) UnmarshalText(text []byte) (err error) {
	*b, err = ParseBust(string(text))
	return err
}

// ParseBust reads AIPerf's names of --cache-bust.
func ParseBust(name string) (Bust, error) {
	name = strings.ReplaceAll(strings.ToLower(name), "-", "_")
	if name == "" {
		return NoBust, nil
	}
	if i := slices.Index(bustNames[:], name); i >= 0 {
		return Bust(i), nil
	}
	return 0, fmt.Errorf("is one of %s, not %q", strings.Join(bustNames[:], ", "), name)
}

// Info is the description of the workload in reports.
type Info struct {
	Source        string `json:"source"`           // the path, or "made"
	Format        Format `json:"format,omitempty"` // of a file
	Conversations int    `json:"conversations"`    // -1: without end
	Sampling      string `json:"sampling"`
	Timed         bool   `json:"timed,omitempty"`
	// Talks: conversations have several turns, which are sent with all earlier turns.
	Talks bool `json:"multi_turn,omitempty"`
	// Limited: some turn of the file states an output length.
	Limited bool `json:"-"`
	// Media are the kinds of parts other than text.
	Media []llm.MediaKind `json:"-"`
	Hash  string          `json:"hash"`
	Seed  uint64          `json:"seed"`
	// Exact: the tokenizer determines the lengths of generated prompts; otherwise they are approximate. Inexact counts prompts
	// whose length could not be reached exactly.
	Exact   bool `json:"exact"`
	Inexact int  `json:"inexact,omitempty"`
	// Generated: texts are made, not read from a file; a trace has only their lengths.
	Generated bool `json:"-"`
	// Estimate is where lengths that are not exact come from.
	Estimate llm.Estimate `json:"estimate,omitzero"`
	// TemplateTokens is how many of the input tokens of a first turn are the chat template's own; 0 if none is applied.
	TemplateTokens int    `json:"chat_template_tokens,omitempty"`
	Cache          Cached `json:"prefix_cache"`
}

// Cached describes what a server's prefix cache can reuse.
type Cached struct {
	// Bust is the place of the unique marker, or none.
	Bust string `json:"bust"`
	// Repeats: a prompt may be sent more than once, because the conversations are fewer than the requests.
	Repeats bool `json:"repeats"`
	// Shared is the length in tokens of the common start of all conversations, or of a share 1/Pool of them.
	Shared int `json:"shared_tokens,omitempty"`
	Pool   int `json:"prefix_pool,omitempty"`
	// State describes all of this in words.
	State string `json:"state"`
}
