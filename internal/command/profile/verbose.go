package profile

import (
	"encoding/json"

	"github.com/redline-bench/redline/internal/convert"
	"github.com/redline-bench/redline/internal/tensor"
)

// shownRequests is how many distinct requests -v -v shows; more would bury the report.
const shownRequests = 4

// shownTensor is a tensor as the header of an inference request describes it.
type shownTensor struct {
	Name     string          `json:"name"`
	Datatype tensor.Datatype `json:"datatype"`
	Shape    tensor.Shape    `json:"shape"`
	Bytes    int             `json:"bytes"`
}

// showTraffic prints on -v -v what the server said of the model and what will be sent to it.
func (s *session) showTraffic() {
	if s.Plan.Verbose < 2 {
		return
	}
	s.say("model: ", s.Model)
	if s.Sessions != nil {
		return // what a turn carries depends on the answers before it
	}
	for step := range min(s.Requests.Len(), shownRequests) {
		inputs := convert.All(s.Requests.Inputs(uint32(step)), func(t tensor.Tensor) shownTensor {
			return shownTensor{t.Name, t.Type, t.Shape, len(t.Data)}
		})
		s.say("inference request: ", map[string]any{"model_name": s.Model.Name, "inputs": inputs, "outputs": outputNames(s.Model)})
	}
}

func (s *session) say(what string, v any) {
	if text, err := json.Marshal(v); err == nil {
		s.Console.Say(what + string(text))
	}
}
