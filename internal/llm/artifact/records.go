package artifact

import (
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
	out   *out
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

func (f *recordsFile) abort()                 { f.out.abort() }
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
	b = append(b, `},"error":`...)
	b = appendError(b, s)
	b = append(b, "}\n"...)
	return f.out.put(b)
}

func (f *recordsFile) appendMetrics(b []byte, s *llm.Sample, v *metric.Values) []byte {
	first := true
	for id, value := range v {
		if math.IsNaN(value) || math.IsInf(value, 0) {
			continue
		}
		if !first {
			b = append(b, ',')
		}
		first = false
		b = append(b, f.tags[id]...)
		b = appendNumber(b, value)
		b = append(b, f.units[id]...)
	}
	if s.Streamed && len(s.Chunks) > 1 {
		if !first {
			b = append(b, ',')
		}
		b = append(b, `"inter_chunk_latency":{"value":[`...)
		for i := 1; i < len(s.Chunks); i++ {
			if i > 1 {
				b = append(b, ',')
			}
			b = appendMillis(b, s.Chunks[i].At-s.Chunks[i-1].At)
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
	b = append(b, `{"session_num":`...)
	b = strconv.AppendUint(b, n, 10)
	b = append(b, `,"x_request_id":`...)
	if s.RequestID != "" {
		b = tensor.AppendQuoted(b, s.RequestID)
	} else {
		b = append(b, "null"...)
	}
	b = append(b, `,"x_correlation_id":`...)
	if s.Session != "" {
		b = tensor.AppendQuoted(b, s.Session)
	} else {
		b = tensor.AppendQuoted(b, s.Conversation)
	}
	b = append(b, `,"conversation_id":`...)
	b = tensor.AppendQuoted(b, s.Conversation)
	b = append(b, `,"turn_index":`...)
	b = strconv.AppendInt(b, int64(s.Turn), 10)
	b = append(b, `,"credit_issued_ns":`...)
	b = strconv.AppendInt(b, clock.Wall(s.Due), 10)
	b = append(b, `,"request_start_ns":`...)
	b = strconv.AppendInt(b, clock.Wall(s.Sent), 10)
	if s.Headers > 0 {
		b = append(b, `,"request_ack_ns":`...)
		b = strconv.AppendInt(b, clock.Wall(s.Headers), 10)
	}
	b = append(b, `,"request_end_ns":`...)
	b = strconv.AppendInt(b, clock.Wall(ended(s)), 10)
	b = append(b, `,"worker_id":"slot_`...)
	b = strconv.AppendUint(b, uint64(s.Slot), 10)
	b = append(b, `","record_processor_id":"redline","benchmark_phase":`...)
	if s.Warmup {
		b = append(b, `"warmup"`...)
	} else {
		b = append(b, `"profiling"`...)
	}
	cut := s.Cut || s.Class == record.Canceled
	b = append(b, `,"`+wasCanceled+`":`...)
	b = strconv.AppendBool(b, cut)
	if cut {
		b = append(b, `,"cancellation_time_ns":`...)
		b = strconv.AppendInt(b, clock.Wall(s.End), 10)
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

// appendError adds what went wrong, or null.
func appendError(b []byte, s *llm.Sample) []byte {
	switch {
	case s.Cut:
		b = append(b, `{"code":499,"type":"RequestCancellationError","message":`...)
	case s.Class == record.OK:
		return append(b, "null"...)
	default:
		b = append(b, '{')
		if s.Code != 0 {
			b = append(b, `"code":`...)
			b = strconv.AppendInt(b, int64(s.Code), 10)
			b = append(b, ',')
		}
		b = append(b, `"type":`...)
		b = tensor.AppendQuoted(b, s.Class.String())
		b = append(b, `,"message":`...)
	}
	b = tensor.AppendQuoted(b, s.Err)
	return append(b, '}')
}

// rawFile is profile_export_raw.jsonl: the requests and the responses.
type rawFile struct {
	out     *out
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

func (f *rawFile) abort()                 { f.out.abort() }
func (f *rawFile) close(_ *Outcome) error { return f.out.commit() }

func (f *rawFile) sample(s *llm.Sample, _ *metric.Values, _ bool) error {
	b := f.out.buf
	b = append(b, `{"metadata":`...)
	b = appendMetadata(b, s, f.n)
	f.n++
	b = append(b, `,"start_perf_ns":`...)
	b = strconv.AppendInt(b, s.Sent, 10)
	b = append(b, `,"payload":`...)
	if len(s.Payload) > 0 && json.Valid(s.Payload) {
		b = append(b, s.Payload...)
	} else {
		b = append(b, "null"...)
	}
	b = append(b, `,"request_headers":`...)
	b = append(b, f.headers...)
	b = append(b, `,"status":`...)
	switch {
	case s.Code != 0:
		b = strconv.AppendInt(b, int64(s.Code), 10)
	case s.Class == record.OK:
		b = append(b, "200"...)
	default:
		b = append(b, "null"...)
	}
	b = append(b, `,"response_headers":null,"responses":[`...)
	for i := range s.Answers {
		if i > 0 {
			b = append(b, ',')
		}
		a := s.Answers[i]
		if f.kserve {
			f.tensors = appendTensors(f.tensors[:0], a.Data)
			a.Data = f.tensors
		}
		b = appendAnswer(b, a)
	}
	b = append(b, `],"error":`...)
	b = appendError(b, s)
	b = append(b, "}\n"...)
	return f.out.put(b)
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
	for i, body := range bodies {
		if i > 0 {
			b = append(b, ", "...)
		}
		if !json.Valid(body) {
			body = []byte("{}") // this file cannot contain a body that is not JSON
		}
		b = append(b, body...)
	}
	return f.out.put(append(b, "]}"...))
}

func (f *inputsFile) close() error {
	if err := f.out.put([]byte("\n  ]\n}\n")); err != nil {
		f.out.abort()
		return err
	}
	return f.out.commit()
}
