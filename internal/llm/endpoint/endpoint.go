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
}

var anyMedia = []llm.MediaKind{llm.Image, llm.Audio, llm.Video}

// rows has all kinds.
var rows = []row{
	{kind: Chat, new: func(c common) (api, error) { return &chat{c}, nil }, talks: true, streams: true, carries: anyMedia},
	{kind: Completions, new: func(c common) (api, error) { return &completions{c}, nil }, onlyText: true, streams: true},
	{kind: Responses, new: func(c common) (api, error) { return &responses{c}, nil }, talks: true, streams: true, carries: anyMedia},
	{kind: Embeddings, new: func(c common) (api, error) { return &embeddings{c}, nil }},
	{kind: ChatVectors, new: func(c common) (api, error) { return &chatVectors{embeddings{c}}, nil }, talks: true, carries: anyMedia},
	{kind: Images, new: func(c common) (api, error) { return &images{c}, nil }, streams: true},
	{kind: ImageEdit, new: func(c common) (api, error) { return &imageEdit{images{c}}, nil }, streams: true, carries: []llm.MediaKind{llm.Image}},
	{kind: Transcription, new: func(c common) (api, error) { return &transcription{c}, nil }, streams: true, carries: []llm.MediaKind{llm.Audio}},
	{kind: Messages, new: func(c common) (api, error) { return &messages{c}, nil }, talks: true, streams: true, carries: []llm.MediaKind{llm.Image}},
	{kind: CohereRank, new: newRanking},
	{kind: TEIRank, new: newRanking},
	{kind: NIMRank, new: newRanking},
	{kind: TGI, new: func(c common) (api, error) { return &tgi{c}, nil }, onlyText: true, streams: true, carries: []llm.MediaKind{llm.Image}},
	{kind: Generate, new: func(c common) (api, error) { return &generate{c}, nil }, onlyText: true, streams: true},
	{kind: KServeText, onlyText: true, streams: true},
	{kind: KServeTokens, onlyText: true, streams: true},
	{kind: Raw, new: func(c common) (api, error) { return &raw{c}, nil }, talks: true, streams: true, carries: anyMedia},
	{kind: Template, new: newTemplate, talks: true, streams: true, carries: anyMedia},
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
	return overHTTP{a, o.Kind}, nil
}

// api is an Endpoint over HTTP, whose requests are JSON documents, or forms (Kind.Form).
type api interface {
	Path() string
	// Compose makes the body of a request.
	Compose(r *Request) ([]byte, error)
	Event(a *Answer, payload []byte, at int64)
	End(a *Answer) error
}

// overHTTP makes an Endpoint of an API.
type overHTTP struct {
	api
	kind Kind
}

// Inputs wraps the body as the one input that HTTP services take. A turn's own body is sent unchanged.
func (e overHTTP) Inputs(r *Request) (service.Inputs, error) {
	body := r.turn().Raw
	if body == nil {
		if err := carried(e.kind, r.turn()); err != nil {
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
