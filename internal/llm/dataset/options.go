package dataset

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/redline-bench/redline/internal/llm"
)

// Tokenizer is what the package needs of a tokenizer. Special tokens are never part of a prompt's length.
type Tokenizer interface {
	Encode(text string, special bool) []int
	Count(text string) int
}

// Options say what shall be asked. The zero value, with Input set, makes prompts of that length without end.
type Options struct {
	// Seed makes every choice and every made text the same again.
	Seed uint64

	// Path is the file or folder of prompts. Empty: prompts are made.
	Path string
	// Format names what the file holds; empty: its first record tells.
	Format Format
	// Key is the field of the prompt in JSONL lines and the column in CSV files that have no format of their
	// own; empty: input, then prompt, text, question, instruction.
	Key string
	// Sampling is the order in which conversations are taken.
	Sampling Sampling
	// Once: Next ends after the last conversation. Otherwise it starts again, and the identifiers get a number.
	// Conversations with times are always taken once.
	Once bool
	// Entries is the number of conversations: of a file the first so many, of a pool so many draws, of made ones
	// so many different ones. 0: all of the file; made prompts never repeat.
	Entries int

	Trace Trace

	// Input and Output are lengths in tokens of made prompts and of the responses requested. Output also gives the
	// length to turns of a file that name none.
	Input, Output Lengths
	// Pairs, when set, is a mixture of input and output lengths, as "256,128:40;512,256:60", in place of both.
	Pairs string
	// Turns is the number of turns of a made conversation, Delay the pause before each except the first, in
	// milliseconds. DelayRatio, when set, scales delays, those of files too; DelayCap, when set, bounds them.
	Turns, Delay Lengths
	DelayRatio   *float64
	DelayCap     time.Duration
	// Batch is the number of texts in a turn (embeddings); 0 is 1.
	Batch int

	Prefix Prefix
	// Bust puts a text that never repeats where it keeps the server's prefix cache from helping.
	Bust Bust
	// System is a system prompt for every conversation, in the user's own words.
	System string
	// FirstTurn asks only the first turn of each conversation of a file, without a system prompt.
	FirstTurn bool
	// Models, when there are several, are requested in turn, or drawn at random: each conversation keeps its own.
	Models      []string
	DrawnModels bool

	Media    Media
	Rankings Rankings

	// ChatTokens, when set, counts the input tokens of a turn as the model sees them, by its chat template, after the responses to
	// the turns before. Lengths of made prompts then include the template's own tokens.
	ChatTokens func(c *llm.Conversation, turn int, answers []string) (int, error) `json:"-"`

	// Version goes into markers of Bust, so that two runs with one seed do not meet in the server's cache. Empty:
	// markers repeat with the seed.
	RunID string
}

// Trace are the knobs of recorded traffic.
type Trace struct {
	// Speedup divides all times; 0 is 1.
	Speedup float64
	// Start and End keep only the requests between them, both inclusive, by the times in the file. End 0: all.
	Start, End time.Duration
	// AutoOffset moves the first request to the start of the run. With Start set, times count from there anyway.
	AutoOffset bool
	// IgnoreTimes drops times: the file only gives the contents.
	IgnoreTimes bool
	// IgnoreDelays drops the pauses between turns.
	IgnoreDelays bool
	// Block is the number of tokens that a hash id stands for; 0 is 512, of Bailian's traces 16.
	Block int
	// MaxInput skips longer requests, MaxOutput shortens longer answers; 0: no bound.
	MaxInput, MaxOutput int
}

// Prefix are texts that made conversations share, in tokens.
type Prefix struct {
	// SharedSystem is the length of one system prompt that is the same for all.
	SharedSystem int
	// UserContext is the length of a text that opens each conversation and is its own.
	UserContext int
	// Pool texts of Length tokens are made, and each first turn starts with one of them.
	Pool, Length int
}

// Media are made parts other than text. A count of 0 means none.
type Media struct {
	Images        int
	Width, Height Lengths
	ImageFormat   string // png, jpeg or random; empty: png
	Audios        int
	Seconds       Lengths // of sound
	SampleRates   []int   // Hz, of which one is drawn; none is 16000
	Channels      int     // 0 is 1
	Depths        []int   // bits a sample, of which one is drawn: 8, 16, 24 or 32; none is 16
	Videos        int
	VideoSeconds  float64 // 0 is 1
	FPS           int     // 0 is 4
	VideoWidth    int     // 0 is 640
	VideoHeight   int     // 0 is 480
	ImageDir      string  // images are taken from the files of this folder, in order, in place of made ones
}

// Rankings make turns of a query and passages. They are made when Passages is set.
type Rankings struct {
	Passages      Lengths // how many
	PassageTokens Lengths
	QueryTokens   Lengths
}

// Format is what a file holds.
type Format string

// The formats.
const (
	Prompts   Format = "prompts"        // JSONL with a prompt under Key
	CSV       Format = "csv"            // a table with a column Key
	Text      Format = "text"           // one prompt a line
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

// ParseFormat reads a format's name, as in --custom-dataset-type. The empty name is sniffing.
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
	return "", fmt.Errorf("is not %q: use one of %s", name, strings.Join(names, ", "))
}

// Sampling is the order in which conversations are taken.
type Sampling uint8

// The orders.
const (
	Sequential Sampling = iota
	Shuffle             // every one once in random order, then again in another
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

// Bust says where the text that never repeats goes.
type Bust uint8

// The places. A prefix defeats the prefix cache for the whole prompt, a suffix leaves what stands before it.
const (
	NoBust Bust = iota
	SystemPrefix
	SystemSuffix
	FirstTurnPrefix
	FirstTurnSuffix
)

var bustNames = [...]string{"none", "system_prefix", "system_suffix", "first_turn_prefix", "first_turn_suffix"}

func (b Bust) String() string { return bustNames[b] }

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

// Info is what a report tells of the workload.
type Info struct {
	Source        string `json:"source"`           // the path, or "made"
	Format        Format `json:"format,omitempty"` // of a file
	Conversations int    `json:"conversations"`    // -1: without end
	Sampling      string `json:"sampling"`
	Timed         bool   `json:"timed,omitempty"`
	// Talks: conversations have several turns, which are sent with what was said before.
	Talks bool   `json:"multi_turn,omitempty"`
	Hash  string `json:"hash"`
	Seed  uint64 `json:"seed"`
	// Exact: made prompts have their length by the tokenizer; otherwise it is approximate. Inexact counts those
	// that the tokenizer would not give exactly.
	Exact   bool `json:"exact"`
	Inexact int  `json:"inexact,omitempty"`
	// TemplateTokens is how many of the input tokens of a first turn are the chat template's own; 0 if none is applied.
	TemplateTokens int    `json:"chat_template_tokens,omitempty"`
	Cache          Cached `json:"prefix_cache"`
}

// Cached says what the prompts let a server's prefix cache do.
type Cached struct {
	// Bust is where a marker that never repeats stands, or none.
	Bust string `json:"bust"`
	// Repeats: a prompt may be sent more than once, because the conversations are fewer than the requests.
	Repeats bool `json:"repeats"`
	// Shared is the length in tokens of what all, or a share 1/Pool of all, conversations start with.
	Shared int `json:"shared_tokens,omitempty"`
	Pool   int `json:"prefix_pool,omitempty"`
	// State is the whole in words.
	State string `json:"state"`
}
