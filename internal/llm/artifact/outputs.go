package artifact

import (
	"math"
	"strconv"

	"github.com/redline-bench/redline/internal/clock"
	"github.com/redline-bench/redline/internal/llm"
	"github.com/redline-bench/redline/internal/llm/metric"
	"github.com/redline-bench/redline/internal/tensor"
)

// outputsFile is outputs.json: the text of every response.
type outputsFile struct {
	out *out
	n   uint64
}

func newOutputs(cfg *Config) (sink, error) {
	o, err := create(cfg, "outputs.json")
	if err != nil {
		return nil, err
	}
	return &outputsFile{out: o}, o.put([]byte("{\n  \"schema_version\": \"1.0\",\n  \"data\": ["))
}

func (f *outputsFile) abort() { f.out.abort() }

func (f *outputsFile) sample(s *llm.Sample, v *metric.Values, ok bool) error {
	if !ok || s.Warmup {
		return nil
	}
	b := f.out.buf
	if f.n > 0 {
		b = append(b, ',')
	}
	b = append(b, "\n    {\"session_num\": "...)
	b = strconv.AppendUint(b, f.n, 10)
	f.n++
	b = append(b, `, "conversation_id": `...)
	b = tensor.AppendQuoted(b, s.Conversation)
	b = append(b, `, "turn_index": `...)
	b = strconv.AppendInt(b, int64(s.Turn), 10)
	b = append(b, `, "x_request_id": `...)
	b = tensor.AppendQuoted(b, s.RequestID)
	b = append(b, `, "request_start_ns": `...)
	b = strconv.AppendInt(b, clock.Wall(s.Sent), 10)
	b = append(b, `, "request_end_ns": `...)
	b = strconv.AppendInt(b, clock.Wall(ended(s)), 10)
	b = append(b, `, "metrics": {`...)
	b = appendPlain(b, v)
	b = append(b, `}, "response_text": `...)
	b = tensor.AppendQuoted(b, s.Text)
	return f.out.put(append(b, '}'))
}

// appendPlain adds the numbers of a request by their names.
func appendPlain(b []byte, v *metric.Values) []byte {
	first := true
	for _, id := range metric.IDs() {
		d := id.Definition()
		if value := v[id]; d.Plain && !math.IsNaN(value) {
			if !first {
				b = append(b, ", "...)
			}
			first = false
			b = tensor.AppendQuoted(b, d.Tag)
			b = append(b, ": "...)
			b = appendNumber(b, value)
		}
	}
	return b
}

func (f *outputsFile) close(_ *Outcome) error {
	if err := f.out.put([]byte("\n  ]\n}\n")); err != nil {
		f.out.abort()
		return err
	}
	return f.out.commit()
}
