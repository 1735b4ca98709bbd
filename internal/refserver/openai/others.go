package openai

import (
	"cmp"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"maps"
	"slices"
	"strconv"
	"strings"
)

func readImages(p *page) error {
	prompt, partial := "", 0
	p.get("prompt", &prompt)
	p.get("n", &p.choices)
	p.get("partial_images", &partial)
	switch {
	case p.err != nil:
		return p.err
	case strings.TrimSpace(prompt) == "":
		return bad("you must provide a prompt")
	case p.choices < 1 || p.choices > 10:
		return bad("n must be between 1 and 10, got %d", p.choices)
	case partial < 0 || partial > 3:
		return bad("partial_images must be between 0 and 3, got %d", partial)
	}
	p.prompt, p.n = words(prompt), 1
	if p.stream {
		p.n = partial + 1
	}
	return nil
}

func readEdits(p *page) error {
	delete(p.fields, "n") // one picture
	return cmp.Or(p.checkFiles("image", "image"), readImages(p))
}

func readTranscription(p *page) error {
	var prompt, format string
	p.get("prompt", &prompt)
	if p.get("response_format", &format); format == "text" {
		p.variant("$plain\n")
	}
	if p.model == "" {
		return bad("you must provide a model parameter")
	}
	p.prompt, p.n = words(prompt), defaultTokens
	return p.checkFiles("file", "audio")
}

func readGenerate(p *page) error {
	path, details := p.req.URL.Path, false
	var inputs *string
	if p.get("inputs", &inputs); inputs == nil {
		return cmp.Or(p.err, bad("missing field `inputs`"))
	}
	p.get("parameters", &p.fields) // beside the others
	p.get("details", &details)
	p.length("max_new_tokens")
	p.prompt = words(*inputs)
	p.stream = path == "/generate_stream" || path == "/" && p.stream
	whole := `{"generated_text":$all}`
	if details {
		whole = `{"generated_text":$all,$details}`
	}
	if path == "/" { // this path answers with a list
		whole = `[` + whole + `]`
	}
	p.variant(whole)
	return p.err
}

// readEmbeddings computes vectors that depend on the texts alone.
func readEmbeddings(p *page) error {
	input, format, dimensions := p.fields["input"], "", 8
	if input == nil {
		input = p.fields["messages"] // vLLM's form for models that take images: one vector for the chat
	}
	if input == nil {
		return bad("you must provide an input")
	}
	p.get("encoding_format", &format)
	if p.get("dimensions", &dimensions); dimensions < 1 || dimensions > 1<<16 {
		dimensions = 8
	}
	inputs := []json.RawMessage{input}
	var list []json.RawMessage
	if json.Unmarshal(input, &list) == nil && len(list) > 0 && (list[0][0] == '"' || list[0][0] == '[') {
		inputs = list // texts, or lists of ids
	}
	for _, in := range inputs {
		p.prompt += words(in)
		vector := make([]float32, dimensions)
		for k := range vector {
			vector[k] = float32(crc32.ChecksumIEEE(append([]byte{byte(k), byte(k >> 8)}, in...))%2000)/1000 - 1
		}
		text, _ := json.Marshal(vector) // of numbers
		if format == "base64" {
			raw, _ := binary.Append(nil, binary.LittleEndian, vector) // into memory
			text = []byte(quote(base64.StdEncoding.EncodeToString(raw)))
		}
		p.data = append(p.data, string(text))
	}
	p.choices, p.n, p.stream = len(inputs), 1, false
	return p.err
}

// passage is a document: a text, or an object with a text.
type passage struct{ Text string }

// UnmarshalJSON reads both forms.
func (p *passage) UnmarshalJSON(b []byte) error {
	if len(b) > 0 && b[0] == '"' {
		return json.Unmarshal(b, &p.Text)
	}
	var o struct{ Text string }
	err := json.Unmarshal(b, &o)
	p.Text = o.Text
	return err
}

// readRerank reads Cohere's form, and TEI's, where the documents are texts.
func readRerank(p *page) error {
	returned := p.req.URL.Path != "/v2/rerank"
	if p.fields["texts"] == nil {
		p.get("return_documents", &returned)
		return p.rank("documents", func(i int, score, text string) string {
			if returned {
				text = `"document":{"text":` + text + `},`
			} else {
				text = ""
			}
			return fmt.Sprintf(`%s"index":%d,"relevance_score":%s`, text, i, score)
		})
	}
	returned = false
	p.get("return_text", &returned)
	p.variant(`[$choices]`)
	return p.rank("texts", func(i int, score, text string) string {
		if returned {
			score += `,"text":` + text
		}
		return fmt.Sprintf(`"index":%d,"score":%s`, i, score)
	})
}

func readRanking(p *page) error {
	return p.rank("passages", func(i int, score, _ string) string { return fmt.Sprintf(`"index":%d,"logit":%s`, i, score) })
}

// rank sorts documents by the share of the query's words that they have, the best first. form is a document in the response.
func (p *page) rank(member string, form func(i int, score, text string) string) error {
	var query passage
	var documents []passage
	p.get("query", &query)
	if p.get(member, &documents); len(documents) == 0 {
		return cmp.Or(p.err, bad("you must provide documents"))
	}
	asked := strings.Fields(query.Text)
	p.prompt = len(asked)
	scores, order := make([]float64, len(documents)), make([]int, len(documents))
	for i, d := range documents {
		p.prompt += words(d.Text)
		hits := 0
		for _, w := range asked {
			if strings.Contains(d.Text, w) {
				hits++
			}
		}
		scores[i], order[i] = float64(hits)/float64(max(len(asked), 1)), i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(scores[b], scores[a]) })
	top := len(order)
	p.get("top_n", &top)
	p.choices, p.n, p.stream = max(0, min(top, len(order))), 1, false
	for _, i := range order[:p.choices] {
		p.data = append(p.data, form(i, strconv.FormatFloat(scores[i], 'g', -1, 64), quote(documents[i].Text)))
	}
	return p.err
}

// variant changes the template of this response.
func (p *page) variant(whole string) {
	own := *p.api
	own.text = maps.Clone(own.text)
	own.text["whole"] = whole
	p.api = &own
}
