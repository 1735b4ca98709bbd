package artifact

import (
	"errors"
	"fmt"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress/snappy"

	"github.com/redline-bench/redline/internal/clock"
	"github.com/redline-bench/redline/internal/llm"
	"github.com/redline-bench/redline/internal/llm/metric"
)

// eventRow is one piece of an answer.
type eventRow struct {
	Request uint64 `parquet:"request,delta"`
	Index   int32  `parquet:"index,delta"`
	AtNs    int64  `parquet:"at_ns,delta"` // since the request was sent
	Kind    string `parquet:"kind,dict"`
	Tokens  int32  `parquet:"tokens,dict"` // 0 unknown
}

// requestRow is one request. Times are Unix nanoseconds; 0 is never.
type requestRow struct {
	Request      uint64 `parquet:"request,delta"`
	Conversation string `parquet:"conversation"`
	Turn         int32  `parquet:"turn,dict"`
	Slot         uint32 `parquet:"slot,dict"`
	Warmup       bool   `parquet:"warmup"`
	DueNs        int64  `parquet:"due_ns,delta"`
	SentNs       int64  `parquet:"sent_ns,delta"`
	HeadersNs    int64  `parquet:"headers_ns,delta"`
	FirstNs      int64  `parquet:"first_ns,delta"`
	LastNs       int64  `parquet:"last_ns,delta"`
	EndNs        int64  `parquet:"end_ns,delta"`
	Class        string `parquet:"class,dict"`
	Code         int32  `parquet:"code,dict"`
	Error        string `parquet:"error,dict"`
	Cut          bool   `parquet:"cut"`
	Events       int32  `parquet:"events,dict"`
	Asked        int32  `parquet:"asked_tokens,dict"`
	Input        int32  `parquet:"input_tokens,dict"`
	InputFrom    string `parquet:"input_from,dict"`
	Output       int32  `parquet:"output_tokens,dict"`
	OutputFrom   string `parquet:"output_from,dict"`
	Reasoning    int32  `parquet:"reasoning_tokens,dict"`
	Cached       int32  `parquet:"cached_tokens,dict"` // -1 unknown
	BytesOut     uint64 `parquet:"request_bytes,delta"`
	BytesIn      uint64 `parquet:"answer_bytes,delta"`
}

// The sizes of the writers. A row group is held in memory until it is written.
const (
	pageBytes    = 256 << 10 // what is known of a page stays in memory until the end: few, large ones
	batchRows    = 2048
	eventGroup   = 256 << 10
	requestGroup = 8 << 10
)

// rows writes rows of one kind into a Parquet file.
type rows[T any] struct {
	out   *out
	w     *parquet.GenericWriter[T]
	batch []T
}

func newRows[T any](cfg *Config, name string, group int64) (*rows[T], error) {
	o, err := create(cfg, name)
	if err != nil {
		return nil, err
	}
	w := parquet.NewGenericWriter[T](o.w, parquet.Compression(&snappy.Codec{}), parquet.MaxRowsPerRowGroup(group),
		parquet.PageBufferSize(pageBytes), parquet.WriteBufferSize(0), parquet.CreatedBy("redline", cfg.Version, ""))
	return &rows[T]{o, w, make([]T, 0, batchRows)}, nil
}

func (r *rows[T]) add(row T) error {
	r.batch = append(r.batch, row)
	if len(r.batch) < cap(r.batch) {
		return nil
	}
	return r.flush()
}

func (r *rows[T]) flush() error {
	if _, err := r.w.Write(r.batch); err != nil {
		return fmt.Errorf("write %s: %w", r.out.f.Path(), err)
	}
	clear(r.batch) // strings of samples shall not stay
	r.batch = r.batch[:0]
	return nil
}

func (r *rows[T]) close() error {
	err := r.flush()
	if err == nil {
		if err = r.w.Close(); err != nil {
			err = fmt.Errorf("finish %s: %w", r.out.f.Path(), err)
		}
	}
	if err != nil {
		r.out.abort()
		return err
	}
	return r.out.commit()
}

// parquetFiles are events.parquet and requests.parquet.
type parquetFiles struct {
	events   *rows[eventRow]
	requests *rows[requestRow]
	n        uint64
}

func newParquet(cfg *Config) (sink, error) {
	e, err := newRows[eventRow](cfg, "events.parquet", eventGroup)
	if err != nil {
		return nil, err
	}
	r, err := newRows[requestRow](cfg, "requests.parquet", requestGroup)
	if err != nil {
		e.out.abort()
		return nil, err
	}
	return &parquetFiles{events: e, requests: r}, nil
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
	for i := range s.Chunks {
		c := &s.Chunks[i]
		if err := f.events.add(eventRow{f.n, int32(i), c.At - s.Sent, kindNames[c.Kind], c.Tokens}); err != nil {
			return err
		}
	}
	row := requestRow{
		Request: f.n, Conversation: s.Conversation, Turn: int32(s.Turn), Slot: s.Slot, Warmup: s.Warmup,
		DueNs: wall(s.Due), SentNs: wall(s.Sent), HeadersNs: wall(s.Headers), EndNs: wall(s.End),
		Class: s.Class.String(), Code: int32(s.Code), Error: s.Err, Cut: s.Cut, Events: int32(len(s.Chunks)),
		Asked: int32(s.Asked), Input: int32(s.Input.Tokens), InputFrom: s.Input.From.String(),
		Output: int32(s.Output.Tokens), OutputFrom: s.Output.From.String(), Reasoning: int32(s.Reasoning.Tokens),
		Cached: -1, BytesOut: s.In, BytesIn: s.Out,
	}
	if s.Usage != nil {
		row.Cached = int32(s.Usage.Cached)
	}
	if n := len(s.Chunks); n > 0 {
		row.FirstNs, row.LastNs = wall(s.Chunks[0].At), wall(s.Chunks[n-1].At)
	}
	f.n++
	return f.requests.add(row)
}

func wall(t int64) int64 {
	if t == 0 {
		return 0
	}
	return clock.Wall(t)
}
