package load

import (
	"encoding/binary"
	"errors"

	"github.com/redline-bench/redline/internal/llm"
	"github.com/redline-bench/redline/internal/record"
)

// What a worker of a fleet passes on of a request, beside the record, is a row of bytes: numbers of variable length, texts after their
// lengths, and times as differences from the send time. A time of 0 stays 0, so that the coordinator's correction of the record's
// clock corrects all times.

// The marks of a sample.
const (
	markStreamed = 1 << iota
	markCut      // the client ended the request
	markAsked    // the client was told to end it
	markUsage
	markOwn
	markImplausible
	markAtLimit
)

// packer writes the row of a request.
type packer struct {
	b    []byte
	base int64 // the send time
}

func (p *packer) number(n int) { p.b = binary.AppendVarint(p.b, int64(n)) }

func (p *packer) text(s string) {
	p.number(len(s))
	p.b = append(p.b, s...)
}

func (p *packer) bytes(s []byte) {
	p.number(len(s))
	p.b = append(p.b, s...)
}

func (p *packer) time(t int64) {
	if t == 0 {
		p.b = append(p.b, 0)
		return
	}
	p.b = binary.AppendVarint(append(p.b, 1), t-p.base)
}

func (p *packer) count(c llm.Count) {
	p.b = append(p.b, byte(c.From))
	p.number(c.Tokens)
}

// pack appends the row of a request to b.
func pack(b []byte, a *ask, s *llm.Sample) []byte {
	p := packer{b: b, base: s.Sent}
	marks := byte(0)
	for i, set := range [...]bool{s.Streamed, s.Cut, a.cut, s.Usage != nil, s.Own != nil, s.Implausible, s.AtLimit} { // in the order of the marks
		if set {
			marks |= 1 << i
		}
	}
	p.b = append(p.b, marks)
	for _, text := range []string{s.Conversation, s.RequestID, s.Session, s.Err, s.Text, s.Thought} {
		p.text(text)
	}
	for _, n := range []int{s.Turn, s.Code, s.Asked, a.dropped} {
		p.number(n)
	}
	for _, t := range []int64{s.Headers, s.Last, s.End, a.from} {
		p.time(t)
	}
	for _, c := range []llm.Count{s.Input, s.Output, s.Reasoning} {
		p.count(c)
	}
	if u := s.Usage; u != nil {
		for _, n := range []int{u.Prompt, u.Completion, u.Total, u.Reasoning, u.Cached} {
			p.number(n)
		}
	}
	if s.Own != nil {
		p.number(s.Own.Prompt)
		p.number(s.Own.Output)
	}
	p.number(len(s.Chunks))
	for _, c := range s.Chunks {
		p.b = append(p.b, byte(c.Kind))
		p.number(int(c.Tokens))
		p.time(c.At)
		p.base = c.At // chunks follow one another
	}
	p.base = s.Sent
	p.bytes(s.Payload)
	p.number(len(s.Answers))
	for _, piece := range s.Answers {
		p.time(piece.At)
		p.bytes(piece.Data)
	}
	p.number(len(a.bodies))
	for _, body := range a.bodies {
		p.bytes(body)
	}
	return p.b
}

// errRow means that bytes are no row of a request.
var errRow = errors.New("what the worker passed on of a request is damaged")

// unpacker reads the row of a request.
type unpacker struct {
	record.Unpacker
	base int64
}

func (u *unpacker) number() int { return int(u.Signed()) }

// length is the number of things that follow: each takes a byte at least.
func (u *unpacker) length() int {
	n := u.number()
	if n < 0 || n > len(u.Rest) {
		u.Fail()
		return 0
	}
	return n
}

// bytes are valid as long as the row. An empty text is nil.
func (u *unpacker) bytes() []byte {
	if n := u.length(); n > 0 {
		return u.Take(uint64(n))
	}
	return nil
}

func (u *unpacker) time() int64 {
	if u.Octet() == 0 {
		return 0
	}
	return u.base + int64(u.number())
}

func (u *unpacker) count() llm.Count {
	from := llm.Origin(u.Octet())
	if from > llm.Counted {
		u.Fail()
	}
	return llm.Count{From: from, Tokens: u.number()}
}

// unpack reads the row of a request whose record has the times of this process's clock.
func (r *levelRun) unpack(row []byte, rec *record.Record, a *ask, s *llm.Sample) error {
	u := unpacker{record.Unpacker{Rest: row}, rec.Sent}
	chunks, wire := s.Chunks[:0], r.wire[:0]
	*s = llm.Sample{Slot: rec.Slot, Due: rec.Due, Sent: rec.Sent, Class: rec.Class, In: rec.Out, Out: rec.In}
	marks := u.Octet()
	s.Streamed, s.Cut, a.cut = marks&markStreamed != 0, marks&markCut != 0, marks&markAsked != 0
	s.Implausible, s.AtLimit = marks&markImplausible != 0, marks&markAtLimit != 0
	for _, to := range []*string{&s.Conversation, &s.RequestID, &s.Session, &s.Err, &s.Text, &s.Thought} {
		*to = string(u.bytes())
	}
	for _, to := range []*int{&s.Turn, &s.Code, &s.Asked, &a.dropped} {
		*to = u.number()
	}
	for _, to := range []*int64{&s.Headers, &s.Last, &s.End, &a.from} {
		*to = u.time()
	}
	for _, to := range []*llm.Count{&s.Input, &s.Output, &s.Reasoning} {
		*to = u.count()
	}
	if marks&markUsage != 0 {
		s.Usage = &r.usage
		for _, to := range []*int{&r.usage.Prompt, &r.usage.Completion, &r.usage.Total, &r.usage.Reasoning, &r.usage.Cached} {
			*to = u.number()
		}
	}
	if marks&markOwn != 0 {
		s.Own = &r.tokenizer
		r.tokenizer = llm.Own{Prompt: u.number(), Output: u.number()}
	}
	for range u.length() {
		c := llm.Chunk{Kind: llm.ChunkKind(u.Octet()), Tokens: int32(u.number()), At: u.time()}
		u.base = c.At
		chunks = append(chunks, c)
	}
	u.base = rec.Sent
	s.Chunks, s.Payload = chunks, u.bytes()
	for range u.length() {
		wire = append(wire, llm.Answer{At: u.time(), Data: u.bytes()})
	}
	s.Answers, r.wire = wire, wire
	for range u.length() {
		a.bodies = append(a.bodies, u.bytes())
	}
	if u.Broken || len(u.Rest) > 0 {
		return errRow
	}
	return nil
}
