package load

import (
	"testing"

	"github.com/redline-bench/redline/internal/llm"
	"github.com/redline-bench/redline/internal/record"
)

// A row that was cut short or has more behind it is refused; it breaks nothing.
func TestADamagedRowIsRefused(t *testing.T) {
	s := llm.Sample{
		Conversation: "c1", Sent: 1000, Headers: 1010, Last: 1030, End: 1040, Text: "a text", Streamed: true, Usage: &llm.Usage{Prompt: 3, Cached: -1}, Own: &llm.Own{Output: 2},
		Chunks: []llm.Chunk{{At: 1010}, {At: 1020, Kind: llm.Thought, Tokens: 2}}, Payload: []byte("{}"), Answers: []llm.Answer{{At: 1010, Data: []byte("data")}},
	}
	row := pack(nil, &ask{from: 990, bodies: [][]byte{[]byte("{}")}}, &s)
	r := &levelRun{}
	f := func(row []byte) error {
		var a ask
		var got llm.Sample
		return r.unpack(row, &record.Record{Sent: 2000}, &a, &got)
	}
	if err := f(row); err != nil {
		t.Error(err)
	}
	for n := range row {
		if f(row[:n]) == nil {
			t.Errorf("%d of %d bytes were accepted", n, len(row))
		}
	}
	if f(append(row, 0)) == nil {
		t.Error("a byte too many was accepted")
	}
	for i := range row { // any other byte is read or refused
		other := append([]byte(nil), row...)
		other[i] ^= 0x80
		_ = f(other)
	}
}

// The coordinator corrects the record of a request, and with it all times of the sample. A time of 0 says that there is none.
func TestTimesOfASampleFollowTheRecord(t *testing.T) {
	row := pack(nil, &ask{}, &llm.Sample{Sent: 1000, Last: 1030, End: 1040, Chunks: []llm.Chunk{{At: 1010}, {At: 1025}}})
	r, a, s := &levelRun{}, ask{}, llm.Sample{}
	if err := r.unpack(row, &record.Record{Due: 90, Sent: 100}, &a, &s); err != nil {
		t.Fatal(err)
	}
	if s.Due != 90 || s.Sent != 100 || s.Headers != 0 || s.Last != 130 || s.End != 140 || s.Chunks[0].At != 110 || s.Chunks[1].At != 125 || a.from != 0 {
		t.Errorf("%+v, from %d", s, a.from)
	}
}
