package artifact

import (
	"math"

	"github.com/redline-bench/redline/internal/clock"
	"github.com/redline-bench/redline/internal/llm"
	"github.com/redline-bench/redline/internal/llm/metric"
)

// outputsFile is outputs.json: the text of every response.
type outputsFile struct {
	*out
	n int64
}

func newOutputs(cfg *Config) (sink, error) {
	o, err := create(cfg, "outputs.json")
	if err != nil {
		return nil, err
	}
	return &outputsFile{out: o}, o.put([]byte("{\n  \"schema_version\": \"1.0\",\n  \"data\": ["))
}

func (f *outputsFile) sample(s *llm.Sample, v *metric.Values, ok bool) error {
	if !ok || s.Warmup {
		return nil
	}
	b := f.out.buf
	if f.n > 0 {
		b = append(b, ',')
	}
	b = appendInt(append(b, "\n    {"...), "session_num", f.n)
	f.n++
	b = appendText(b, "conversation_id", s.Conversation)
	b = appendInt(b, "turn_index", int64(s.Turn))
	b = appendText(b, "x_request_id", s.RequestID)
	b = appendInt(b, "request_start_ns", clock.Wall(s.Sent))
	b = appendInt(b, "request_end_ns", clock.Wall(ended(s)))
	b = append(appendName(b, "metrics"), '{')
	for _, id := range metric.IDs() {
		if d := id.Definition(); d.Plain && !math.IsNaN(v[id]) {
			b = appendNumber(appendName(b, d.Tag), v[id])
		}
	}
	b = appendText(append(b, '}'), "response_text", s.Text)
	return f.out.put(append(b, '}'))
}

func (f *outputsFile) close(_ *Outcome) error {
	return f.out.finish([]byte("\n  ]\n}\n"))
}
