package openai

import (
	"embed"
	"slices"
	"strings"
)

// files are the templates of the interfaces. A section begins with a line "# " and its name, and has a template of one or more lines:
//
//	let NAME                          a piece of other templates
//	whole, choice, part KIND          a response that is no stream, one of its choices for $choices, one of its parts for $parts
//	begin, open, delta, close, end    events of a stream: begin KIND NAME CONDITIONS
//	final                             the delta of the last token, where it differs
//	fault, failed                     the body of an error, and the events of an error within a stream
//	kinds CLIENT SERVER               names of errors, by who made them
//	done                              [DONE] follows the end
//
// KIND is thought, spoken, calling, or * for all; NAME is that of the event, or -. Text before the first section is a comment.
//
//go:embed apis/*.txt
var files embed.FS

// api is one interface: how its requests are read, and the templates of its responses.
type api struct {
	read   func(p *page) error // reads what the templates need, and how many tokens the prompt and the response have
	text   map[string]string   // templates by name: pieces, "whole", "choice", "part thought"
	events map[string][]event  // by section and kind, as "open thought"
	kinds  []string            // of errors
}

// event is one event of a stream. Its data are a template.
type event struct {
	name, data  string
	each        bool // it is sent for each choice
	first       bool // only with the first part
	role, usage bool // only if the script wants the role alone, or the request the usage
}

// newAPI reads the templates of a file.
func newAPI(file string, read func(p *page) error) (*api, error) {
	text, err := files.ReadFile("apis/" + file + ".txt")
	a := &api{read: read, kinds: []string{"invalid_request_error", "server_error"}, events: map[string][]event{}, text: map[string]string{
		"fault": `{"error":{"message":$message,"type":"$kind","param":null,"code":null}}`,
	}}
	for section := range strings.SplitSeq("\n"+string(text), "\n# ") {
		head, body, _ := strings.Cut(section, "\n")
		words := append(strings.Fields(head), "") // none before the first section
		body = strings.ReplaceAll(strings.TrimSpace(body), "\n", "")
		switch words[0] {
		case "kinds":
			a.kinds = words[1:]
		case "begin", "open", "delta", "close", "end", "final", "failed":
			has := func(flag string) bool { return slices.Contains(words[3:], flag) }
			e := event{name: strings.Trim(words[2], "-"), data: body, each: has("each"), first: has("first"), role: has("role"), usage: has("usage")}
			for _, kind := range partKinds {
				if words[1] == "*" || words[1] == kind {
					a.events[words[0]+" "+kind] = append(a.events[words[0]+" "+kind], e)
				}
			}
		default:
			a.text[strings.TrimPrefix(head, "let ")] = body
		}
	}
	return a, err
}

// apis are the interfaces by path.
func apis() (map[string]*api, error) {
	list := map[string]*api{}
	for path, row := range map[string]struct {
		file string
		read func(p *page) error
	}{
		"/v1/chat/completions": {"chat", readChat}, "/v1/completions": {"completions", readCompletions},
		"/v1/responses": {"responses", readResponses}, "/v1/messages": {"messages", readMessages}, "/v1/embeddings": {"embeddings", readEmbeddings},
		"/v1/images/generations": {"images", readImages}, "/v1/images/edits": {"images", readEdits}, "/v1/audio/transcriptions": {"transcriptions", readTranscription},
		"/{$}": {"generate", readGenerate}, "/generate": {"generate", readGenerate}, "/generate_stream": {"generate", readGenerate},
		"/v1/rerank": {"rerank", readRerank}, "/v2/rerank": {"rerank", readRerank}, "/rerank": {"rerank", readRerank}, "/v1/ranking": {"ranking", readRanking},
	} {
		var err error
		if list[path], err = newAPI(row.file, row.read); err != nil {
			return nil, err
		}
	}
	return list, nil
}
