package endpoint_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/redline-bench/redline/internal/llm"
	"github.com/redline-bench/redline/internal/llm/endpoint"
)

// with adds media to a request; each is the type and the content.
func with(r *endpoint.Request, list ...[2]string) *endpoint.Request {
	t := &r.Conversation.Turns[0]
	for _, m := range list {
		kind := llm.Audio
		if strings.HasPrefix(m[0], "image/") {
			kind = llm.Image
		}
		t.Media = append(t.Media, llm.Media{Kind: kind, URL: "data:" + m[0] + ";base64," + base64.StdEncoding.EncodeToString([]byte(m[1]))})
	}
	return r
}

// parts are the parts of a form as the standard library reads them: name, name of the file, type and content.
func parts(t *testing.T, body []byte) (out []string) {
	t.Helper()
	_, params, err := mime.ParseMediaType(endpoint.FormType)
	if err != nil {
		t.Fatal(err)
	}
	r := multipart.NewReader(bytes.NewReader(body), params["boundary"])
	for {
		p, err := r.NextPart()
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(p)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, strings.Join([]string{p.FormName(), p.FileName(), p.Header.Get("Content-Type"), string(data)}, "|"))
	}
}

func TestForms(t *testing.T) {
	f := func(o endpoint.Options, r *endpoint.Request, want ...string) {
		t.Helper()
		in, err := make1(t, o).Inputs(r)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, parts(t, in.Tensors[0].Data)); d != "" {
			t.Errorf("%s: %s", o.Kind, d)
		}
	}
	extra := map[string]json.RawMessage{"language": json.RawMessage(`"en"`), "temperature": json.RawMessage("0.5"), "model": json.RawMessage(`"other"`), "prompt": json.RawMessage("null")}
	f(endpoint.Options{Kind: endpoint.Transcription}, with(say(), [2]string{"audio/wav", "RIFF\r\n--\x00"}), "file|file.wav|audio/wav|RIFF\r\n--\x00", "model|||m")
	f(endpoint.Options{Kind: endpoint.Transcription, Stream: true}, with(say("names"), [2]string{"audio/mpeg", "ID3"}), "file|file.mp3|audio/mpeg|ID3", "model|||m", "prompt|||names", "stream|||true")
	f(endpoint.Options{Kind: endpoint.Transcription, Extra: extra}, with(say("names"), [2]string{"audio/wav", "R"}), "file|file.wav|audio/wav|R", "language|||en", "model|||other", "temperature|||0.5")
	f(endpoint.Options{Kind: endpoint.ImageEdit}, with(say("hat"), [2]string{"image/png", "PNG"}), "image|image.png|image/png|PNG", "model|||m", "prompt|||hat", "n|||1", "response_format|||b64_json")
	f(endpoint.Options{Kind: endpoint.ImageEdit}, with(say("hat"), [2]string{"image/png", "A"}, [2]string{"image/jpeg", "B"}),
		"image[]|image.png|image/png|A", "image[]|image.jpeg|image/jpeg|B", "model|||m", "prompt|||hat", "n|||1", "response_format|||b64_json")
}

// A form needs the data of its files.
func TestFormsWithoutFiles(t *testing.T) {
	far := say("x")
	far.Conversation.Turns[0].Media = []llm.Media{{Kind: llm.Audio, URL: "http://host/a.wav"}}
	for want, r := range map[string]*endpoint.Request{"needs one audio clip": say("x"), "sends audio itself, not its address": far, "cannot send images": with(say("x"), [2]string{"image/png", "A"})} {
		if _, err := make1(t, endpoint.Options{Kind: endpoint.Transcription}).Inputs(r); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	if _, err := make1(t, endpoint.Options{Kind: endpoint.ImageEdit}).Inputs(say("x")); err == nil || !strings.Contains(err.Error(), "needs an image") {
		t.Error(err)
	}
}
