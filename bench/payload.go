package main

import (
	"fmt"
	"os"
	"path/filepath"

	"google.golang.org/protobuf/proto"

	"github.com/redline-bench/redline/internal/proto/kserve"
)

// Every tool sends one FP32 tensor to the identity model.
const (
	model = "custom_identity_fp32"
	input = "INPUT0"
)

// payload holds the files that carry the request to wrk and h2load.
type payload struct{ lua, grpc string }

func writePayload(dir string, elements int) (payload, error) {
	p := payload{lua: filepath.Join(dir, "post.lua"), grpc: filepath.Join(dir, "request.grpc")}
	tensor := make([]byte, elements*4)
	header := fmt.Sprintf(`{"inputs":[{"name":%q,"shape":[1,%d],"datatype":"FP32","parameters":{"binary_data_size":%d}}],"outputs":[{"name":"OUTPUT0","parameters":{"binary_data":true}}]}`,
		input, elements, len(tensor))
	body := filepath.Join(dir, "body")
	if err := os.WriteFile(body, append([]byte(header), tensor...), 0o644); err != nil {
		return p, err
	}
	script := fmt.Sprintf(`local f = io.open(%q, "rb")
wrk.method = "POST"
wrk.body = f:read("*a")
f:close()
wrk.headers["Content-Type"] = "application/octet-stream"
wrk.headers["Inference-Header-Content-Length"] = "%d"
done = function(summary)
  local e = summary.errors
  io.write(string.format("\nanswered %%d failed %%d\n", summary.requests, e.connect + e.read + e.write + e.status + e.timeout))
end
`, body, len(header))
	if err := os.WriteFile(p.lua, []byte(script), 0o644); err != nil {
		return p, err
	}
	message, err := proto.Marshal(&kserve.ModelInferRequest{
		ModelName: model,
		Inputs: []*kserve.ModelInferRequest_InferInputTensor{
			{Name: input, Datatype: "FP32", Shape: []int64{1, int64(elements)}},
		},
		Outputs:          []*kserve.ModelInferRequest_InferRequestedOutputTensor{{Name: "OUTPUT0"}},
		RawInputContents: [][]byte{tensor},
	})
	if err != nil {
		return p, err
	}
	return p, os.WriteFile(p.grpc, frame(message), 0o644)
}
