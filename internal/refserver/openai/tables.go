package openai

import (
	"embed"
	"maps"
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
	form bool                // requests are forms
	read func(p *page) error // reads what the templates need, and how many tokens the prompt and the response have

	lets          map[string]string
	whole, choice string
	part          map[string]string
	events        map[string][]event // by section and kind, as "open thought"
	done          bool
	fault         string
	kinds         []string
}

// event is one event of a stream. Its data are a template.
type event struct {
	name, data  string
	each        bool // it is sent for each choice
	first       bool // only with the first part
	role, usage bool // only if the script wants the role alone, or the request the usage
}

const openaiFault = `{"error":{"message":$message,"type":"$kind","param":null,"code":null}}`

// newAPI reads the templates of a file.
func newAPI(file string, read func(p *page) error) (*api, error) {
	text, err := files.ReadFile("apis/" + file + ".txt")
	a := &api{
		read: read, fault: openaiFault, kinds: []string{"invalid_request_error", "server_error"},
		lets: map[string]string{}, part: map[string]string{}, events: map[string][]event{},
	}
	for section := range strings.SplitSeq("\n"+string(text), "\n# ") {
		head, body, _ := strings.Cut(section, "\n")
		words := strings.Fields(head)
		body = strings.ReplaceAll(strings.TrimSpace(body), "\n", "")
		if len(words) == 0 {
			continue // the comment
		}
		switch words[0] {
		case "let":
			a.lets[words[1]] = body
		case "whole":
			a.whole = body
		case "choice":
			a.choice = body
		case "part":
			a.part[words[1]] = body
		case "fault":
			a.fault = body
		case "kinds":
			a.kinds = words[1:]
		case "done":
			a.done = true
		default:
			has := func(flag string) bool { return slices.Contains(words[3:], flag) }
			e := event{name: strings.Trim(words[2], "-"), data: body, each: has("each"), first: has("first"), role: has("role"), usage: has("usage")}
			for _, kind := range partKinds {
				if words[1] == "*" || words[1] == kind {
					a.events[words[0]+" "+kind] = append(a.events[words[0]+" "+kind], e)
				}
			}
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
	for path := range maps.Keys(list) {
		list[path].form = path == "/v1/images/edits" || path == "/v1/audio/transcriptions"
	}
	return list, nil
}
