package artifact

import (
	"errors"

	"github.com/redline-bench/redline/internal/clock"
	"github.com/redline-bench/redline/internal/llm"
	"github.com/redline-bench/redline/internal/llm/metric"
	"github.com/redline-bench/redline/internal/parquet"
	"github.com/redline-bench/redline/internal/secret"
)

// The rows that are held in memory until they are written.
const (
	eventGroup   = 256 << 10
	requestGroup = 8 << 10
)

// parquetFile is one file.
type parquetFile struct {
	out *out
	w   *parquet.Writer
}

func newParquetFile(cfg *Config, name string, group int) (*parquetFile, error) {
	o, err := createWith(cfg, name, cfg.Output.CreateBinary)
	if err != nil {
		return nil, err
	}
	return &parquetFile{o, parquet.NewWriter(o.w, "redline version "+cfg.Version, group)}, nil
}

func (t *parquetFile) endRow() error {
	if err := t.w.EndRow(); err != nil {
		return t.out.named(err)
	}
	return nil
}

func (t *parquetFile) close() error {
	if err := t.w.Close(); err != nil {
		t.out.abort()
		return t.out.named(err)
	}
	return t.out.commit()
}

// parquetFiles are events.parquet, a row for each piece of an answer, and requests.parquet.
type parquetFiles struct {
	events, requests *parquetFile
	n                uint64

	request, index, at, tokens *parquet.Ints // of an event
	kind                       *parquet.Texts
	columns                    []func(s *llm.Sample) // of a request; each adds its value
}

func newParquet(cfg *Config) (sink, error) {
	e, err := newParquetFile(cfg, "events.parquet", eventGroup)
	if err != nil {
		return nil, err
	}
	r, err := newParquetFile(cfg, "requests.parquet", requestGroup)
	if err != nil {
		e.out.abort()
		return nil, err
	}
	f := &parquetFiles{events: e, requests: r}
	f.request, f.index, f.at = e.w.Uint64("request"), e.w.Int32("index"), e.w.Int64("at_ns") // since the request was sent
	f.kind, f.tokens = e.w.Text("kind"), e.w.Int32("tokens")                                 // 0 unknown
	f.columns = f.requestColumns(r.w, cfg.Output.Secrets())
	return f, nil
}

// requestColumns are the columns of a request. Times are Unix nanoseconds; 0 is never.
func (f *parquetFiles) requestColumns(w *parquet.Writer, secrets *secret.Set) []func(*llm.Sample) {
	number := func(c *parquet.Ints, get func(s *llm.Sample) int64) func(*llm.Sample) {
		return func(s *llm.Sample) { c.Add(get(s)) }
	}
	text := func(name string, get func(s *llm.Sample) string) func(*llm.Sample) {
		c := w.Text(name)
		return func(s *llm.Sample) { c.Add(secrets.Redact(get(s))) }
	}
	flag := func(name string, get func(s *llm.Sample) bool) func(*llm.Sample) {
		c := w.Bool(name)
		return func(s *llm.Sample) { c.Add(get(s)) }
	}
	return []func(*llm.Sample){
		number(w.Uint64("request"), func(*llm.Sample) int64 { return int64(f.n) }),
		text("conversation", func(s *llm.Sample) string { return s.Conversation }),
		number(w.Int32("turn"), func(s *llm.Sample) int64 { return int64(s.Turn) }),
		number(w.Uint32("slot"), func(s *llm.Sample) int64 { return int64(s.Slot) }),
		flag("warmup", func(s *llm.Sample) bool { return s.Warmup }),
		number(w.Int64("due_ns"), func(s *llm.Sample) int64 { return wall(s.Due) }),
		number(w.Int64("sent_ns"), func(s *llm.Sample) int64 { return wall(s.Sent) }),
		number(w.Int64("headers_ns"), func(s *llm.Sample) int64 { return wall(s.Headers) }),
		number(w.Int64("first_ns"), func(s *llm.Sample) int64 { return chunkAt(s, 0) }),
		number(w.Int64("last_ns"), func(s *llm.Sample) int64 { return chunkAt(s, len(s.Chunks)-1) }),
		number(w.Int64("end_ns"), func(s *llm.Sample) int64 { return wall(s.End) }),
		text("class", func(s *llm.Sample) string { return s.Class.String() }),
		number(w.Int32("code"), func(s *llm.Sample) int64 { return int64(s.Code) }),
		text("error", func(s *llm.Sample) string { return s.Err }),
		flag("cut", func(s *llm.Sample) bool { return s.Cut }),
		number(w.Int32("events"), func(s *llm.Sample) int64 { return int64(len(s.Chunks)) }),
		number(w.Int32("asked_tokens"), func(s *llm.Sample) int64 { return int64(s.Asked) }),
		number(w.Int32("input_tokens"), func(s *llm.Sample) int64 { return int64(s.Input.Tokens) }),
		text("input_from", func(s *llm.Sample) string { return s.Input.From.String() }),
		number(w.Int32("output_tokens"), func(s *llm.Sample) int64 { return int64(s.Output.Tokens) }),
		text("output_from", func(s *llm.Sample) string { return s.Output.From.String() }),
		number(w.Int32("reasoning_tokens"), func(s *llm.Sample) int64 { return int64(s.Reasoning.Tokens) }),
		number(w.Int32("cached_tokens"), cached),
		number(w.Uint64("request_bytes"), func(s *llm.Sample) int64 { return int64(s.In) }),
		number(w.Uint64("answer_bytes"), func(s *llm.Sample) int64 { return int64(s.Out) }),
	}
}

// chunkAt is when a piece of the answer came.
func chunkAt(s *llm.Sample, i int) int64 {
	if len(s.Chunks) == 0 {
		return 0
	}
	return wall(s.Chunks[i].At)
}

// cached is -1 where it is unknown.
func cached(s *llm.Sample) int64 {
	if s.Usage == nil {
		return -1
	}
	return int64(s.Usage.Cached)
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
		f.request.Add(int64(f.n))
		f.index.Add(int64(i))
		f.at.Add(c.At - s.Sent)
		f.kind.Add(kindNames[c.Kind])
		f.tokens.Add(int64(c.Tokens))
		if err := f.events.endRow(); err != nil {
			return err
		}
	}
	for _, add := range f.columns {
		add(s)
	}
	f.n++
	return f.requests.endRow()
}

func wall(t int64) int64 {
	if t == 0 {
		return 0
	}
	return clock.Wall(t)
}
