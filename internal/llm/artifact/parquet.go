package artifact

import (
	"errors"

	"github.com/parquet-go/parquet-go"

	"github.com/redline-bench/redline/internal/clock"
	"github.com/redline-bench/redline/internal/llm"
	"github.com/redline-bench/redline/internal/llm/metric"
)

// The rows of a row group, which is held in memory, column by column, until it is complete.
const (
	eventGroup   = 256 << 10
	requestGroup = 8 << 10
)

// eventRow is one event of a response.
type eventRow struct {
	Request uint64 `parquet:"request,delta"`
	Index   int32  `parquet:"index,delta"`
	AtNs    int64  `parquet:"at_ns,delta"` // since the request was sent
	Kind    string `parquet:"kind,dict"`
	Tokens  int32  `parquet:"tokens,delta"` // 0: unknown
}

// requestRow is one request. Times are Unix nanoseconds; 0: did not happen.
type requestRow struct {
	Request      uint64 `parquet:"request,delta"`
	Conversation string `parquet:"conversation"`
	Turn         int32  `parquet:"turn,delta"`
	Slot         uint32 `parquet:"slot,delta"`
	Warmup       bool   `parquet:"warmup"`
	DueNs        int64  `parquet:"due_ns,delta"`
	SentNs       int64  `parquet:"sent_ns,delta"`
	HeadersNs    int64  `parquet:"headers_ns,delta"`
	FirstNs      int64  `parquet:"first_ns,delta"`
	LastNs       int64  `parquet:"last_ns,delta"`
	EndNs        int64  `parquet:"end_ns,delta"`
	Class        string `parquet:"class,dict"`
	Code         int32  `parquet:"code,delta"`
	Error        string `parquet:"error,dict"`
	Cut          bool   `parquet:"cut"`
	Events       int32  `parquet:"events,delta"`
	Asked        int32  `parquet:"asked_tokens,delta"`
	Input        int32  `parquet:"input_tokens,delta"`
	InputFrom    string `parquet:"input_from,dict"`
	Output       int32  `parquet:"output_tokens,delta"`
	OutputFrom   string `parquet:"output_from,dict"`
	Reasoning    int32  `parquet:"reasoning_tokens,delta"`
	Cached       int32  `parquet:"cached_tokens,delta"` // -1: unknown
	BytesOut     uint64 `parquet:"request_bytes,delta"`
	BytesIn      uint64 `parquet:"answer_bytes,delta"`
}

// parquetFile is one file.
type parquetFile[T any] struct {
	out *out
	w   *parquet.GenericWriter[T]
}

func newParquetFile[T any](cfg *Config, name string, group int64) (*parquetFile[T], error) {
	o, err := createWith(cfg, name, cfg.Output.CreateBinary)
	if err != nil {
		return nil, err
	}
	return &parquetFile[T]{o, parquet.NewGenericWriter[T](o.w, parquet.Compression(&parquet.Zstd), parquet.MaxRowsPerRowGroup(group),
		parquet.WriteBufferSize(0), parquet.CreatedBy("redline", cfg.Version, ""))}, nil
}

func (f *parquetFile[T]) add(rows ...T) error {
	_, err := f.w.Write(rows)
	return f.out.named(err)
}

func (f *parquetFile[T]) close() error {
	if err := f.w.Close(); err != nil {
		f.out.abort()
		return f.out.named(err)
	}
	return f.out.commit()
}

// parquetFiles are events.parquet and requests.parquet.
type parquetFiles struct {
	cfg      *Config
	events   *parquetFile[eventRow]
	requests *parquetFile[requestRow]
	n        uint64
	rows     []eventRow // of the current sample
}

func newParquet(cfg *Config) (sink, error) {
	e, err := newParquetFile[eventRow](cfg, "events.parquet", eventGroup)
	if err != nil {
		return nil, err
	}
	r, err := newParquetFile[requestRow](cfg, "requests.parquet", requestGroup)
	if err != nil {
		e.out.abort()
		return nil, err
	}
	return &parquetFiles{cfg: cfg, events: e, requests: r}, nil
}

func (f *parquetFiles) abort() {
	f.events.out.abort()
	f.requests.out.abort()
}

func (f *parquetFiles) close(_ *Outcome) error {
	return errors.Join(f.events.close(), f.requests.close())
}

var kindNames = [...]string{llm.Text: "text", llm.Thought: "thought", llm.Tool: "tool", llm.Other: "other"}

func (f *parquetFiles) sample(s *llm.Sample, _ *metric.Values, _ bool) error {
	f.rows = f.rows[:0]
	for i := range s.Chunks {
		c := &s.Chunks[i]
		f.rows = append(f.rows, eventRow{f.n, int32(i), c.At - s.Sent, kindNames[c.Kind], c.Tokens})
	}
	if err := f.events.add(f.rows...); err != nil {
		return err
	}
	err := f.requests.add(f.request(s))
	f.n++
	return err
}

// request is the row of a sample. Texts of the user and the server are free of secrets.
func (f *parquetFiles) request(s *llm.Sample) requestRow {
	secrets := f.cfg.Output.Secrets()
	r := requestRow{
		Request: f.n, Conversation: secrets.Redact(s.Conversation), Turn: int32(s.Turn), Slot: s.Slot, Warmup: s.Warmup,
		DueNs: wall(s.Due), SentNs: wall(s.Sent), HeadersNs: wall(s.Headers), EndNs: wall(s.End),
		Class: s.Class.String(), Code: int32(s.Code), Error: secrets.Redact(s.Err), Cut: s.Cut, Events: int32(len(s.Chunks)),
		Asked: int32(s.Asked), Input: int32(s.Input.Tokens), InputFrom: s.Input.From.String(),
		Output: int32(s.Output.Tokens), OutputFrom: s.Output.From.String(), Reasoning: int32(s.Reasoning.Tokens),
		Cached: -1, BytesOut: s.In, BytesIn: s.Out,
	}
	if s.Usage != nil {
		r.Cached = int32(s.Usage.Cached)
	}
	if n := len(s.Chunks); n > 0 {
		r.FirstNs, r.LastNs = wall(s.Chunks[0].At), wall(s.Chunks[n-1].At)
	}
	return r
}

func wall(t int64) int64 {
	if t == 0 {
		return 0
	}
	return clock.Wall(t)
}
