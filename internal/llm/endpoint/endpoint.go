// Package endpoint implements the APIs of language models: it makes the body of a request from a turn, and reads a response,
// streamed or not, into chunks with their times, the text, and the server's token counts.
//
// Each file holds one API. It knows the form of bodies and events, but not connections: a request is passed on as
// service.Inputs, and a response is the bytes and times that the engine kept. The collector reads responses after they ended,
// so reading adds no latency. Reading passes over the bytes once and builds no maps, because a long run has hundreds of millions
// of events.
//
// A failure never counts as a response. This package finds failures that the transport cannot know: a response without content,
// a stream that stops before its API's end, a body in another format.
package endpoint

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/redline-bench/redline/internal/llm"
	"github.com/redline-bench/redline/internal/record"
	"github.com/redline-bench/redline/internal/service"
	"github.com/redline-bench/redline/internal/tensor"
)

// Kind names an API. The names are AIPerf's where it has the API.
type Kind string

// The kinds.
const (
	Chat          Kind = "chat"
	Completions   Kind = "completions"
	Responses     Kind = "responses"
	Embeddings    Kind = "embeddings"
	ChatVectors   Kind = "chat_embeddings"
	Images        Kind = "image_generation"
	ImageEdit     Kind = "image_edit"
	Transcription Kind = "audio_transcription"
	Messages      Kind = "messages"
	CohereRank    Kind = "cohere_rankings"
	TEIRank       Kind = "hf_tei_rankings"
	NIMRank       Kind = "nim_rankings"
	TGI           Kind = "huggingface_generate"
	Generate      Kind = "triton_generate"
	KServeText    Kind = "kserve"
	KServeTokens  Kind = "kserve_tokens"
	Raw           Kind = "raw"
	Template      Kind = "template"
	payloadTensor      = "payload" // the input that contains a whole body
)

// aliases are other common names of kinds.
var aliases = map[string]Kind{
	"openai": Chat, "chat_completions": Chat, "anthropic": Messages, "anthropic_messages": Messages, "rerank": CohereRank,
	"rankings": NIMRank, "tei": TEIRank, "tgi": TGI, "generate": Generate, "triton": KServeText, "tensorrt_llm": KServeTokens,
	"multimodal": Chat, "vision": Chat, "images": Images, "transcription": Transcription, "transcriptions": Transcription,
}

// instead says how to load APIs of AIPerf and GenAI-Perf that are no kinds.
var instead = map[string]string{
	"dynamic_grpc":        "use 'redline profile --service-kind dynamic_grpc --grpc-method METHOD'",
	"tensorrtllm_engine":  "use 'redline profile --service-kind triton_c_api'",
	"nvclip":              templateHint,
	"image_retrieval":     templateHint,
	"nim_image_retrieval": templateHint,
	"nim_embeddings":      "use embeddings with --extra-inputs input_type:query",
	"solido_rag":          templateHint,
	"video_generation":    "a video is polled for until it is ready, which is not measured; use template for a single request",
}

const templateHint = "use template with --template and --endpoint PATH"

// row is what is known of a kind.
type row struct {
	kind     Kind
	new      func(c common) (api, error) // nil over gRPC
	talks    bool                        // requests can carry earlier turns and a system prompt
	onlyText bool                        // requests carry one text, without messages
	streams  bool                        // there are streamed responses
	carries  []llm.MediaKind             // what requests can carry besides text
	path     string                      // HTTP path; {model} stands for the model, {stream} for _stream if responses are streamed
	content  string                      // what a response must have
	end      string                      // what a stream lacks that broke off; empty: the API does not signal the end of a stream
	free     string                      // the limit of a response if none is given; empty: no text is generated, or it is not known
}

// untilTheEnd is how long responses become that only the model ends.
const untilTheEnd = "none is requested: the model ends a response, at worst where its context ends"

var anyMedia = []llm.MediaKind{llm.Image, llm.Audio, llm.Video}

// noDone is what an OpenAI stream lacks that broke off.
const noDone = "neither [DONE] nor a finish_reason came"

// ifRequired is how long responses of a text model over gRPC become.
var ifRequired = fmt.Sprintf("%d tokens if the model requires a limit; else the model ends a response", defaultTokens)

// rows has all kinds.
var rows = []row{
	{
		kind: Chat, new: func(c common) (api, error) { return &chat{c}, nil }, talks: true, streams: true, carries: anyMedia,
		path: "v1/chat/completions", content: "a completion", end: noDone, free: untilTheEnd,
	},
	{
		kind: Completions, new: func(c common) (api, error) { return &completions{c}, nil }, onlyText: true, streams: true,
		path: "v1/completions", content: "a completion", end: noDone, free: "none is requested: the server has a default of its own",
	},
	{
		kind: Responses, new: func(c common) (api, error) { return &responses{c}, nil }, talks: true, streams: true, carries: anyMedia,
		path: "v1/responses", content: "a response", end: "no response.completed came", free: untilTheEnd,
	},
	{kind: Embeddings, new: func(c common) (api, error) { return &embeddings{c}, nil }, path: "v1/embeddings", content: "an embedding"},
	{
		kind: ChatVectors, new: func(c common) (api, error) { return &chatVectors{embeddings{c}}, nil }, talks: true, carries: anyMedia,
		path: "v1/embeddings", content: "an embedding",
	},
	{
		kind: Images, new: func(c common) (api, error) { return &images{c}, nil }, streams: true,
		path: "v1/images/generations", content: "an image", end: "its last image is a partial one",
	},
	{
		kind: ImageEdit, new: func(c common) (api, error) { return &imageEdit{images{c}}, nil }, streams: true, carries: []llm.MediaKind{llm.Image},
		path: "v1/images/edits", content: "an image", end: "its last image is a partial one",
	},
	{
		kind: Transcription, new: func(c common) (api, error) { return &transcription{c}, nil }, streams: true, carries: []llm.MediaKind{llm.Audio},
		path: "v1/audio/transcriptions", content: "a transcription", end: "its last event is missing",
	},
	{
		kind: Messages, new: func(c common) (api, error) { return &messages{c}, nil }, talks: true, streams: true, carries: []llm.MediaKind{llm.Image},
		path: "v1/messages", content: "a message", end: "no message_stop came", free: fmt.Sprintf("%d tokens, because the API requires a limit", anthropicTokens),
	},
	{kind: CohereRank, new: newRanking, path: "v2/rerank", content: "a ranking"},
	{kind: TEIRank, new: newRanking, path: "rerank", content: "a ranking"},
	{kind: NIMRank, new: newRanking, path: "v1/ranking", content: "a ranking"},
	{
		kind: TGI, new: func(c common) (api, error) { return &tgi{c}, nil }, onlyText: true, streams: true, carries: []llm.MediaKind{llm.Image},
		path: "generate{stream}", content: "a generate endpoint", end: "no generated_text came", free: "none is requested: the server has a default of its own",
	},
	{
		kind: Generate, new: func(c common) (api, error) { return &generate{c}, nil }, onlyText: true, streams: true,
		path: "v2/models/{model}/generate{stream}", content: "a text model", free: fmt.Sprintf("%d tokens, because models of TensorRT-LLM require a limit", defaultTokens),
	},
	{kind: KServeText, onlyText: true, streams: true, free: ifRequired},
	{kind: KServeTokens, onlyText: true, streams: true, free: ifRequired},
	{
		kind: Raw, new: func(c common) (api, error) { return &raw{c}, nil }, talks: true, streams: true, carries: anyMedia,
		path: "v1/chat/completions", content: "a completion",
	},
	{kind: Template, new: newTemplate, talks: true, streams: true, carries: anyMedia, content: "the template"},
}

// row returns what is known of a kind; nothing of an unknown one.
func (k Kind) row() row {
	if i := slices.IndexFunc(rows, func(r row) bool { return r.kind == k }); i >= 0 {
		return rows[i]
	}
	return row{}
}

// Kinds lists the names of all kinds.
func Kinds() []string {
	var names []string
	for _, r := range rows {
		names = append(names, string(r.kind))
	}
	return names
}

// Parse finds a kind by its name.
func Parse(name string) (Kind, error) {
	name = strings.ReplaceAll(strings.ToLower(name), "-", "_")
	if slices.Contains(Kinds(), name) {
		return Kind(name), nil
	}
	if k, ok := aliases[name]; ok {
		return k, nil
	}
	if hint, ok := instead[name]; ok {
		return "", fmt.Errorf("%s is not supported: %s", name, hint)
	}
	return "", fmt.Errorf("is one of %s, not %q", strings.Join(Kinds(), ", "), name)
}

// GRPC reports whether a kind uses KServe's gRPC instead of HTTP.
func (k Kind) GRPC() bool { return k == KServeText || k == KServeTokens }

// Talks reports whether a kind's requests can carry earlier turns and a system prompt.
func (k Kind) Talks() bool { return k.row().talks }

// Carries reports whether a kind's requests can carry an image, audio or a video.
func (k Kind) Carries(m llm.MediaKind) bool { return slices.Contains(k.row().carries, m) }

// Unlimited says which limit a response has if --osl sets none; empty if that is not known, or no text is generated.
func (k Kind) Unlimited() string { return k.row().free }

// Streams reports whether a kind has streamed responses.
func (k Kind) Streams() bool { return k.row().streams }

// SetsLeast reports whether a kind's requests can set the least number of tokens of a response.
func (k Kind) SetsLeast() bool {
	return k == Chat || k == Completions || k == Generate || k.GRPC()
}

// TakesText reports whether a kind's requests carry one text, without messages.
func (k Kind) TakesText() bool { return k.row().onlyText }

// Options apply to every request of a run.
type Options struct {
	Kind   Kind
	Model  string
	Stream bool
	// Extra are additional fields of the body, or inputs of the model, of every request.
	Extra map[string]json.RawMessage
	// LegacyMaxTokens sends the output limit of a chat as max_tokens.
	LegacyMaxTokens bool
	// NoUsage does not request the server's token counts in streams.
	NoUsage bool
	// ChunkUsage requests the server's token counts in every chunk.
	ChunkUsage bool
	// ExactOutput requests the output limit as the least number of tokens too.
	ExactOutput bool
	// Metadata is the model as a KServe server describes it.
	Metadata *service.Model
	// Encode turns text into token ids, for models that take those.
	Encode func(text string) []int32
	// ChatTemplate, if set, renders the text for kinds that take one text.
	ChatTemplate *ChatTemplate
	// Body, ResponsePath and the usage paths belong to templates: see Template.
	Body                        string
	ResponsePath                string
	PromptPath, CompletionsPath string
}

// Request is one request: a turn of a conversation, and the responses to earlier turns.
type Request struct {
	Conversation *llm.Conversation
	Turn         int
	Answers      []string
	// MaxTokens is the requested output length; 0 leaves it to the server.
	MaxTokens int
}

func (r *Request) turn() *llm.Turn { return &r.Conversation.Turns[r.Turn] }

// first is the first turn that is sent.
func (r *Request) first() int {
	if r.Conversation.Alone {
		return r.Turn
	}
	return 0
}

// Endpoint is one API.
type Endpoint interface {
	// Path is the HTTP path of requests; empty over gRPC.
	Path() string
	// Inputs makes the request.
	Inputs(r *Request) (service.Inputs, error)
	// Event reads one event, or a whole body, into a. An error goes to a.Fault.
	Event(a *Answer, payload []byte, at int64)
	// End returns an error if the response is not complete.
	End(a *Answer) error
}

// New makes an endpoint.
func New(o Options) (Endpoint, error) {
	c := common{Options: o, extra: fields(o.Extra)}
	if o.Kind.GRPC() {
		return newKServe(c)
	}
	newAPI := o.Kind.row().new
	if newAPI == nil {
		return nil, fmt.Errorf("unknown endpoint type %q", o.Kind)
	}
	a, err := newAPI(c)
	if err != nil {
		return nil, err
	}
	return &overHTTP{api: a, row: o.Kind.row(), model: o.Model, stream: o.Stream}, nil
}

// api is an Endpoint over HTTP, whose requests are JSON documents, or forms (Kind.Form). Its row says the rest.
type api interface {
	// Compose makes the body of a request.
	Compose(r *Request) ([]byte, error)
	Event(a *Answer, payload []byte, at int64)
}

// overHTTP makes an Endpoint of an API.
type overHTTP struct {
	api
	row    row
	model  string
	stream bool
}

// Path implements Endpoint.
func (e *overHTTP) Path() string {
	suffix := ""
	if e.stream {
		suffix = "_stream"
	}
	return strings.NewReplacer("{model}", url.PathEscape(e.model), "{stream}", suffix).Replace(e.row.path)
}

// End implements Endpoint.
func (e *overHTTP) End(a *Answer) error { return whole(a, e.row.content, e.row.end) }

// Inputs wraps the body as the one input that HTTP services take. A turn's own body is sent unchanged.
func (e *overHTTP) Inputs(r *Request) (service.Inputs, error) {
	body := r.turn().Raw
	if body == nil {
		if err := carried(e.row.kind, r.turn()); err != nil {
			return service.Inputs{}, err
		}
		var err error
		if body, err = e.Compose(r); err != nil {
			return service.Inputs{}, err
		}
	}
	return service.Inputs{Tensors: []tensor.Tensor{{Name: payloadTensor, Type: tensor.JSON, Shape: tensor.Shape{1}, Data: body}}}, nil
}

// carried returns an error if a kind cannot send a part of a turn.
func carried(k Kind, t *llm.Turn) error {
	for _, m := range t.Media {
		switch {
		case !k.Carries(m.Kind):
			return formatf("--endpoint-type %s cannot send %s: use chat", k, m.Kind)
		case m.URL == "" && k != Chat && k != ChatVectors:
			return formatf("--endpoint-type %s cannot send the uuid of an image: use chat", k)
		}
	}
	return nil
}

// common is the part that all endpoints share.
type common struct {
	Options
	extra []field
}

// field is one member of a body.
type field struct {
	name  string
	value json.RawMessage
}

// fields sorts a map, so that equal options give equal bytes.
func fields(m map[string]json.RawMessage) []field {
	var out []field
	for _, k := range slices.Sorted(maps.Keys(m)) {
		out = append(out, field{k, m[k]})
	}
	return out
}

// model returns the model of a turn.
func (c *common) model(r *Request) string {
	return cmp.Or(r.turn().Model, c.Model)
}

// Read reads a complete response from the events and data that the engine kept. The error says why the response is not valid.
func Read(e Endpoint, a *Answer, events []record.Event, data []byte) error {
	a.Reset()
	for _, ev := range events {
		e.Event(a, data[:ev.Size], ev.At)
		data = data[ev.Size:]
	}
	if a.Fault != "" {
		return &FormatError{a.Fault}
	}
	return e.End(a)
}

// FormatError says why a complete response is not valid for this API.
type FormatError struct{ Text string }

func (e *FormatError) Error() string { return e.Text }

func formatf(format string, args ...any) error { return &FormatError{fmt.Sprintf(format, args...)} }
