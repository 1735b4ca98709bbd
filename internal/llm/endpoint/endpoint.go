// Package endpoint speaks the APIs of language models: it makes the body of a request out of a turn, and reads an
// answer, streamed or not, into chunks with their times, the text, and what the server counted.
//
// One file holds one API. Each knows the shape of its bodies and events and nothing of connections: a request is
// handed on as service.Inputs, a response comes as the bytes and times that the engine kept. Reading happens after
// the load, on the collector, so it costs no latency; it walks the bytes once and builds no maps, because a long run
// has hundreds of millions of events.
//
// A failure never passes for a response. What the transport cannot know is judged here: a response without content,
// a stream that stops before its API's end, a body in another format.
package endpoint

import (
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
	payloadTensor      = "payload" // the input that stands for a whole body
)

// aliases are other names of kinds that people use.
var aliases = map[string]Kind{
	"openai": Chat, "chat_completions": Chat, "anthropic": Messages, "anthropic_messages": Messages, "rerank": CohereRank,
	"rankings": NIMRank, "tei": TEIRank, "tgi": TGI, "generate": Generate, "triton": KServeText, "tensorrt_llm": KServeTokens,
}

// Kinds lists the names of all kinds.
func Kinds() []string {
	return []string{
		string(Chat), string(Completions), string(Responses), string(Embeddings), string(Messages), string(CohereRank), string(TEIRank),
		string(NIMRank), string(TGI), string(Generate), string(KServeText), string(KServeTokens), string(Raw), string(Template),
	}
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
	return "", fmt.Errorf("is not %q: use one of %s", name, strings.Join(Kinds(), ", "))
}

// GRPC reports whether a kind speaks KServe's gRPC instead of HTTP.
func (k Kind) GRPC() bool { return k == KServeText || k == KServeTokens }

// Talks reports whether a kind's requests have a place for what was said before, and for a system prompt.
func (k Kind) Talks() bool {
	switch k {
	case Chat, Responses, Messages, Raw, Template:
		return true
	case Completions, Embeddings, CohereRank, TEIRank, NIMRank, TGI, Generate, KServeText, KServeTokens:
	}
	return false
}

// TakesText reports whether a kind's requests ask with one text, without messages.
func (k Kind) TakesText() bool {
	switch k {
	case Completions, TGI, Generate, KServeText, KServeTokens:
		return true
	case Chat, Responses, Embeddings, Messages, CohereRank, TEIRank, NIMRank, Raw, Template:
	}
	return false
}

// Options are what every request of a run shares.
type Options struct {
	Kind   Kind
	Model  string
	Stream bool
	// Extra are fields of the body, or inputs of the model, that every request has.
	Extra map[string]json.RawMessage
	// LegacyMaxTokens names the limit of a chat's answer max_tokens.
	LegacyMaxTokens bool
	// NoUsage does not ask streams for the server's token counts.
	NoUsage bool
	// ChunkUsage asks for them in every chunk.
	ChunkUsage bool
	// Metadata is the model as a KServe server describes it.
	Metadata *service.Model
	// Encode turns text into token ids, for models that take those.
	Encode func(text string) []int32
	// ChatTemplate, when set, writes the text of kinds that take one.
	ChatTemplate *ChatTemplate
	// Body, ResponsePath and the usage paths belong to templates: see Template.
	Body                        string
	ResponsePath                string
	PromptPath, CompletionsPath string
}

// Request is one request: a turn of a conversation, and what got a response to the turns before.
type Request struct {
	Conversation *llm.Conversation
	Turn         int
	Answers      []string
	// MaxTokens is the output length asked for; 0 leaves it to the server.
	MaxTokens int
}

func (r *Request) turn() *llm.Turn { return &r.Conversation.Turns[r.Turn] }

// first is the turn that what is sent begins with.
func (r *Request) first() int {
	if r.Conversation.Alone {
		return r.Turn
	}
	return 0
}

// Endpoint is one API.
type Endpoint interface {
	// Path is where requests go over HTTP; empty over gRPC.
	Path() string
	// Inputs makes the request.
	Inputs(r *Request) (service.Inputs, error)
	// Event reads one response of a response into a. What is wrong with it goes to a.Fault.
	Event(a *Answer, payload []byte, at int64)
	// End reports whether the response is a whole one.
	End(a *Answer) error
}

// New makes an endpoint.
func New(o Options) (Endpoint, error) {
	c := common{Options: o, extra: fields(o.Extra)}
	if o.Kind.GRPC() {
		return newKServe(c)
	}
	a, err := newAPI(c)
	if err != nil {
		return nil, err
	}
	return overHTTP{a}, nil
}

func newAPI(c common) (api, error) {
	switch c.Kind {
	case Chat:
		return &chat{c}, nil
	case Completions:
		return &completions{c}, nil
	case Responses:
		return &responses{c}, nil
	case Embeddings:
		return &embeddings{c}, nil
	case Messages:
		return &messages{c}, nil
	case CohereRank, TEIRank, NIMRank:
		return &ranking{c}, nil
	case TGI:
		return &tgi{c}, nil
	case Generate:
		return &generate{c}, nil
	case Raw:
		return &raw{c}, nil
	case Template:
		return newTemplate(c)
	case KServeText, KServeTokens:
	}
	return nil, fmt.Errorf("there is no endpoint type %q", c.Kind)
}

// api is an Endpoint over HTTP, whose requests are JSON documents.
type api interface {
	Path() string
	// Compose makes the body of a request.
	Compose(r *Request) ([]byte, error)
	Event(a *Answer, payload []byte, at int64)
	End(a *Answer) error
}

// overHTTP makes an Endpoint of an API.
type overHTTP struct{ api }

// Inputs wraps the body as the one input that HTTP services take. A turn's own body goes out as it stands.
func (e overHTTP) Inputs(r *Request) (service.Inputs, error) {
	body := r.turn().Raw
	if body == nil {
		var err error
		if body, err = e.Compose(r); err != nil {
			return service.Inputs{}, err
		}
	}
	return service.Inputs{Tensors: []tensor.Tensor{{Name: payloadTensor, Type: tensor.JSON, Shape: tensor.Shape{1}, Data: body}}}, nil
}

// common is what endpoints share.
type common struct {
	Options
	extra []field
}

// field is one member of a body.
type field struct {
	name  string
	value json.RawMessage
}

// fields puts a map in order, so that the same options give the same bytes.
func fields(m map[string]json.RawMessage) []field {
	var out []field
	for _, k := range slices.Sorted(maps.Keys(m)) {
		out = append(out, field{k, m[k]})
	}
	return out
}

// model is the model that a turn asks for.
func (c *common) model(r *Request) string {
	if m := r.turn().Model; m != "" {
		return m
	}
	return c.Model
}

// Read reads a whole response out of what the engine kept of it. The error says why it is none.
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

// FormatError says why a response that arrived whole is none of this API's.
type FormatError struct{ Text string }

func (e *FormatError) Error() string { return e.Text }

func formatf(format string, args ...any) error { return &FormatError{fmt.Sprintf(format, args...)} }
