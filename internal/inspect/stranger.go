package inspect

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"strings"

	"github.com/redline-bench/redline/internal/cleantext"
	"github.com/redline-bench/redline/internal/kind"
	"github.com/redline-bench/redline/internal/option"
	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/secret"
	"github.com/redline-bench/redline/internal/service"
)

// Stranger says what answers at the address of a target, if that is not the kind of server that the target names, and which
// command measures it. It sends one request. notHTTP tells that the server does not answer in HTTP. The text is empty if the
// response does not tell.
func Stranger(ctx context.Context, t plan.Target, notHTTP bool) string {
	ctx, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()
	url := secret.PublicURL(t.URL)
	u := option.ShellWord(url)
	var found known
	wanted := "no KServe v2 server"
	if kind.Of(t.Kind).Endpoints {
		wanted = "no server of language models"
		if notHTTP {
			found = identifyGRPC(ctx, t, u)
		} else {
			found = identifyKServe(ask(ctx, t, "/v2"), u)
		}
	} else {
		found = identifyLLM(ask(ctx, t, "/v1/models"), u)
	}
	if found.name != "" {
		return fmt.Sprintf("%s is %s: this is %s: use %s", url, wanted, found.name, found.command)
	}
	if _, port, err := net.SplitHostPort(url); err == nil && port == tritonMetrics {
		return fmt.Sprintf("%s is %s: %s is usually the port of Triton's metrics, 8000 that of HTTP, 8001 that of gRPC", url, wanted, port)
	}
	return ""
}

const tritonMetrics = "8002"

// known is a server that was recognized, and the command that measures it.
type known struct{ name, command string }

// answer is the response to one question.
type answer struct {
	status int
	body   []byte
}

// ask sends GET to a path at the address of a target.
func ask(ctx context.Context, t plan.Target, path string) (a answer) {
	row := kind.Of(plan.OpenAI)
	_, host, _ := strings.Cut(t.URL, "grpc://") // a scheme of gRPC is none of HTTP
	t.Kind, t.Protocol, t.Endpoint, t.HTTPVersion = plan.OpenAI, plan.HTTP, "", ""
	if row.Address(&t, cmp.Or(host, t.URL)) != nil {
		return a
	}
	svc, err := kind.Open(&plan.Plan{Target: t})
	if err != nil {
		return a
	}
	defer svc.Close()
	if q, ok := svc.(asker); ok {
		a.status, a.body, _ = q.Ask(ctx, path, nil) // without an answer the status is 0
	}
	return a
}

// owners are the names that servers of language models give themselves in their lists of models.
var owners = map[string]string{
	"vllm": "vLLM", "sglang": "SGLang", "llamacpp": "llama.cpp", "library": "Ollama", "lmdeploy": "LMDeploy",
}

// identifyLLM judges the response to GET /v1/models.
func identifyLLM(a answer, url string) known {
	var doc struct {
		Data []struct {
			ID    string `json:"id"`
			Owner string `json:"owned_by"`
		} `json:"data"`
	}
	switch {
	case a.status == http.StatusUnauthorized, a.status == http.StatusForbidden:
		return known{"perhaps an OpenAI server that asks for a key", "redline llm -u " + url + " --api-key-env VARIABLE"}
	case a.status != http.StatusOK:
		return identifyOther(a, url)
	case json.Unmarshal(a.body, &doc) != nil || doc.Data == nil:
		return known{}
	}
	name, model := "an OpenAI server", "MODEL"
	if len(doc.Data) > 0 {
		m := doc.Data[0]
		name, model = cmp.Or(owners[m.Owner], name), option.ShellWord(cleantext.Cut(m.ID, 80))
		if m.Owner == m.ID { // so does text-generation-inference
			name = "TGI"
		}
	}
	return known{name, "redline llm -m " + model + " -u " + url}
}

// kserveNames are how people call the servers that name themselves in the response to GET /v2.
var kserveNames = map[string]string{"triton": "Triton", "mlserver": "MLServer", "kserve": "KServe's runtime"}

// identifyKServe judges the response to GET /v2.
func identifyKServe(a answer, url string) known {
	var id service.Server
	if a.status != http.StatusOK {
		return identifyOther(a, url)
	}
	if json.Unmarshal(a.body, &id) != nil || id.Name == "" {
		return known{}
	}
	return profiled(id, url)
}

// identifyGRPC asks for the server's metadata over gRPC.
func identifyGRPC(ctx context.Context, t plan.Target, url string) known {
	t.Kind, t.Protocol, t.Endpoint = plan.Triton, plan.GRPC, ""
	svc, err := kind.Open(&plan.Plan{Target: t})
	if err != nil {
		return known{}
	}
	defer svc.Close()
	l, ok := svc.(service.Lister)
	if !ok {
		return known{}
	}
	id, err := l.Identify(ctx)
	if err != nil || id.Name == "" {
		return known{}
	}
	return profiled(id, url+" -i grpc")
}

// profiled suggests redline profile for a server of KServe v2.
func profiled(id service.Server, url string) known {
	name := cleantext.Cut(cmp.Or(kserveNames[id.Name], id.Name), 80)
	return known{strings.TrimSpace(name + " " + cleantext.Cut(id.Version, 40)), "redline profile -m MODEL -u " + url}
}

// identifyOther knows servers by how they refuse a path that they do not have.
func identifyOther(a answer, url string) known {
	switch {
	case bytes.Contains(a.body, []byte("Malformed request: ")):
		return known{"TensorFlow Serving", "redline profile --service-kind tfserving -i grpc -m MODEL with its gRPC port, usually 8500"}
	case bytes.Contains(a.body, []byte("ResourceNotFoundException")):
		return known{"TorchServe", "redline profile --service-kind torchserve -m MODEL --input-data FILE -u " + url}
	}
	return known{}
}
