package artifact

import (
	"cmp"
	"encoding/json"
	"math"
	"strconv"

	"github.com/redline-bench/redline/internal/clock"
	"github.com/redline-bench/redline/internal/llm"
	"github.com/redline-bench/redline/internal/llm/metric"
	"github.com/redline-bench/redline/internal/record"
	"github.com/redline-bench/redline/internal/tensor"
)

// recordsFile is profile_export.jsonl: the numbers of every request.
type recordsFile struct {
	*out
	tags  []string // by metric.ID: the text before the value
	units []string // the text after it
	n     uint64
}

func newRecords(cfg *Config) (sink, error) {
	o, err := create(cfg, cfg.named("profile_export.jsonl", ".jsonl"))
	f := &recordsFile{out: o}
	for _, id := range metric.IDs() {
		d := id.Definition()
		f.tags = append(f.tags, `"`+d.Tag+`":{"value":`)
		f.units = append(f.units, `,"unit":"`+d.Unit+`"}`)
	}
	return f, err
}

func (f *recordsFile) close(_ *Outcome) error { return f.out.commit() }

func (f *recordsFile) sample(s *llm.Sample, v *metric.Values, ok bool) error {
	b := f.out.buf
	b = append(b, `{"metadata":`...)
	b = appendMetadata(b, s, f.n)
	f.n++
	b = append(b, `,"metrics":{`...)
	if ok {
		b = f.appendMetrics(b, s, v)
	}
	b = appendError(append(b, '}'), s)
	return f.out.put(append(b, "}\n"...))
}

func (f *recordsFile) appendMetrics(b []byte, s *llm.Sample, v *metric.Values) []byte {
	for id, value := range v {
		if math.IsNaN(value) || math.IsInf(value, 0) {
			continue
		}
		b = append(appendComma(b), f.tags[id]...)
		b = appendNumber(b, value)
		b = append(b, f.units[id]...)
	}
	if s.Streamed && len(s.Chunks) > 1 {
		b = append(appendName(b, "inter_chunk_latency"), `{"value":[`...)
		for i := 1; i < len(s.Chunks); i++ {
			b = appendMillis(appendComma(b), s.Chunks[i].At-s.Chunks[i-1].At)
		}
		b = append(b, `],"unit":"ms"}`...)
	}
	return b
}

// appendMillis adds nanoseconds as milliseconds, to the last one.
func appendMillis(b []byte, ns int64) []byte {
	if ns < 0 {
		b = append(b, '-')
		ns = -ns
	}
	b = strconv.AppendInt(b, ns/1e6, 10)
	part := ns % 1e6
	b = append(b, '.', byte('0'+part/100000), byte('0'+part/10000%10), byte('0'+part/1000%10), byte('0'+part/100%10), byte('0'+part/10%10), byte('0'+part%10))
	for b[len(b)-1] == '0' && b[len(b)-2] != '.' {
		b = b[:len(b)-1]
	}
	return b
}

// appendMetadata adds ids and times. Times are of the wall clock.
func appendMetadata(b []byte, s *llm.Sample, n uint64) []byte {
	b = appendInt(append(b, '{'), "session_num", int64(n))
	if s.RequestID != "" {
		b = appendText(b, "x_request_id", s.RequestID)
	} else {
		b = append(appendName(b, "x_request_id"), "null"...)
	}
	b = appendText(b, "x_correlation_id", cmp.Or(s.Session, s.Conversation))
	b = appendText(b, "conversation_id", s.Conversation)
	b = appendInt(b, "turn_index", int64(s.Turn))
	b = appendInt(b, "credit_issued_ns", clock.Wall(s.Due))
	b = appendInt(b, "request_start_ns", clock.Wall(s.Sent))
	if s.Headers > 0 {
		b = appendInt(b, "request_ack_ns", clock.Wall(s.Headers))
	}
	b = appendInt(b, "request_end_ns", clock.Wall(ended(s)))
	b = append(b, `,"worker_id":"slot_`...)
	b = strconv.AppendUint(b, uint64(s.Slot), 10)
	b = append(b, `","record_processor_id":"redline"`...)
	phase := "profiling"
	if s.Warmup {
		phase = "warmup"
	}
	b = appendText(b, "benchmark_phase", phase)
	cut := s.Cut || s.Class == record.Canceled
	b = strconv.AppendBool(appendName(b, wasCanceled), cut)
	if cut {
		b = appendInt(b, "cancellation_time_ns", clock.Wall(s.End))
	}
	return append(b, '}')
}

// ended returns the time of the last chunk, which is AIPerf's end of a request, or if there is none the end of the response.
func ended(s *llm.Sample) int64 {
	if s.Class == record.OK && len(s.Chunks) > 0 {
		return s.Chunks[len(s.Chunks)-1].At
	}
	return max(s.End, s.Sent)
}

// appendError adds the member error: what went wrong, or null.
func appendError(b []byte, s *llm.Sample) []byte {
	b = appendName(b, "error")
	if s.Class == record.OK && !s.Cut {
		return append(b, "null"...)
	}
	code, kind := s.Code, s.Class.String()
	if s.Cut {
		code, kind = 499, "RequestCancellationError"
	}
	b = append(b, '{')
	if code != 0 {
		b = appendInt(b, "code", int64(code))
	}
	b = appendText(b, "type", kind)
	b = appendText(b, "message", s.Err)
	return append(b, '}')
}

// rawFile is profile_export_raw.jsonl: the requests and the responses.
type rawFile struct {
	*out
	headers []byte
	n       uint64
	kserve  bool
	tensors []byte // a response of a model while it is encoded
}

func newRaw(cfg *Config) (sink, error) {
	headers, err := encode(cfg.Headers)
	if err != nil {
		return nil, err
	}
	o, err := create(cfg, cfg.named("profile_export_raw.jsonl", "_raw.jsonl"))
	return &rawFile{out: o, headers: headers, kserve: cfg.kserve()}, err
}

func (f *rawFile) close(_ *Outcome) error { return f.out.commit() }

func (f *rawFile) sample(s *llm.Sample, _ *metric.Values, _ bool) error {
	b := f.out.buf
	b = append(b, `{"metadata":`...)
	b = appendMetadata(b, s, f.n)
	f.n++
	b = appendInt(b, "start_perf_ns", s.Sent)
	b = appendName(b, "payload")
	if len(s.Payload) > 0 && json.Valid(s.Payload) {
		b = append(b, s.Payload...)
	} else {
		b = append(b, "null"...)
	}
	b = append(appendName(b, "request_headers"), f.headers...)
	b = appendName(b, "status")
	switch {
	case s.Code != 0:
		b = strconv.AppendInt(b, int64(s.Code), 10)
	case s.Class == record.OK:
		b = append(b, "200"...)
	default:
		b = append(b, "null"...)
	}
	b = append(b, `,"response_headers":null,"responses":[`...)
	for _, a := range s.Answers {
		if f.kserve {
			f.tensors = appendTensors(f.tensors[:0], a.Data)
			a.Data = f.tensors
		}
		b = appendAnswer(appendComma(b), a)
	}
	b = appendError(append(b, ']'), s)
	return f.out.put(append(b, "}\n"...))
}

// inputsFile is inputs.json: every conversation with the bodies of its requests.
type inputsFile struct {
	out *out
	n   int
}

func newInputs(cfg *Config) (*inputsFile, error) {
	o, err := create(cfg, "inputs.json")
	if err != nil {
		return nil, err
	}
	return &inputsFile{out: o}, o.put([]byte("{\n  \"data\": ["))
}

func (f *inputsFile) add(session string, bodies []json.RawMessage) error {
	b := f.out.buf
	if f.n > 0 {
		b = append(b, ',')
	}
	f.n++
	b = append(b, "\n    {\"session_id\": "...)
	b = tensor.AppendQuoted(b, session)
	b = append(b, `, "payloads": [`...)
	for _, body := range bodies {
		if !json.Valid(body) {
			body = []byte("{}") // this file cannot contain a body that is not JSON
		}
		b = append(appendComma(b), body...)
	}
	return f.out.put(append(b, "]}"...))
}

func (f *inputsFile) close() error {
	return f.out.finish([]byte("\n  ]\n}\n"))
}
