package openai

import (
	"bytes"
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// upload is a form: its fields, and the size and type of its files by name.
type upload struct {
	fields map[string]string
	files  map[string][]file
}

// file is one file of a form.
type file struct {
	contentType string
	size        int
}

// form reads the body as a form.
func (x *exchange) form() (*upload, error) {
	kind, params, err := mime.ParseMediaType(x.req.Header.Get("Content-Type"))
	if err != nil || kind != "multipart/form-data" || params["boundary"] == "" {
		return nil, bad("expected a multipart/form-data request, got the Content-Type %q", x.req.Header.Get("Content-Type"))
	}
	out := &upload{map[string]string{}, map[string][]file{}}
	for r := multipart.NewReader(bytes.NewReader(x.body), params["boundary"]); ; {
		p, err := r.NextPart()
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return nil, bad("could not parse the form of your request: %v", err)
		}
		data, err := io.ReadAll(p)
		if err != nil {
			return nil, bad("could not parse the form of your request: %v", err)
		}
		if p.FileName() == "" {
			out.fields[p.FormName()] = string(data)
			continue
		}
		out.files[p.FormName()] = append(out.files[p.FormName()], file{p.Header.Get("Content-Type"), len(data)})
	}
}

// transcriptions answers /v1/audio/transcriptions: one word for each token, as many as a response has by default.
func (h *Handler) transcriptions(x *exchange) error {
	f, err := x.form()
	if err != nil {
		return err
	}
	audio := f.files["file"]
	switch {
	case len(audio) != 1 || audio[0].size == 0:
		return bad("you must provide one audio file in the field file")
	case !strings.HasPrefix(audio[0].contentType, "audio/"):
		return bad("the file is %q, not audio", audio[0].contentType)
	case f.fields["model"] == "":
		return bad("you must provide a model parameter")
	}
	x.prompt = words(f.fields["prompt"])
	usage := map[string]any{"type": "tokens", "input_tokens": x.prompt, "output_tokens": defaultTokens, "total_tokens": x.prompt + defaultTokens}
	var text strings.Builder
	if stream, _ := strconv.ParseBool(f.fields["stream"]); stream {
		err := h.tokens(x, defaultTokens, func(_ int, token string, count int) error {
			text.WriteString(token)
			return x.event("", map[string]any{"type": "transcript.text.delta", "delta": token}, count)
		})
		if err != nil {
			return x.ended(err)
		}
		return x.event("", map[string]any{"type": "transcript.text.done", "text": text.String(), "usage": usage}, 0)
	}
	x.script.Ping = 0 // there is no stream to send them in
	if err := h.tokens(x, defaultTokens, func(_ int, token string, _ int) error { text.WriteString(token); return nil }); err != nil {
		return err
	}
	if f.fields["response_format"] == "text" {
		x.Header().Set("Content-Type", "text/plain; charset=utf-8")
		_, err := io.WriteString(x, text.String()+"\n")
		return err
	}
	writeJSON(x, http.StatusOK, map[string]any{"text": text.String(), "usage": usage})
	return nil
}

// edits answers /v1/images/edits as /v1/images/generations does.
func (h *Handler) edits(x *exchange) error {
	f, err := x.form()
	if err != nil {
		return err
	}
	list := slices.Concat(f.files["image"], f.files["image[]"])
	for _, i := range list {
		if !strings.HasPrefix(i.contentType, "image/") || i.size == 0 {
			return bad("the file is %q with %d bytes, not an image", i.contentType, i.size)
		}
	}
	switch {
	case len(list) == 0:
		return bad("you must provide an image")
	case strings.TrimSpace(f.fields["prompt"]) == "":
		return bad("you must provide a prompt")
	}
	x.prompt = words(f.fields["prompt"])
	usage := map[string]int{"input_tokens": x.prompt, "output_tokens": 1, "total_tokens": x.prompt + 1}
	if stream, _ := strconv.ParseBool(f.fields["stream"]); stream {
		return x.ended(h.streamImages(x, 0, usage))
	}
	if err := h.whole(x, 1); err != nil {
		return err
	}
	writeJSON(x, http.StatusOK, map[string]any{"created": x.received.Unix(), "data": []any{map[string]any{"b64_json": picture}}, "usage": usage})
	return nil
}
