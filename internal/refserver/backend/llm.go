package backend

import (
	"context"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"strconv"
	"strings"
	"time"

	"github.com/redline-bench/redline/internal/refserver/tempo"
	"github.com/redline-bench/redline/internal/tensor"
)

const vocabulary = 32000

// tokenize gives one id for each word of a text.
func tokenize(j *Job) {
	query, length := j.Input("QUERY"), j.Input("REQUEST_OUTPUT_LEN")
	var rows [][]uint32
	width := 0
	for rest := query.Data; len(rest) > 0; {
		var text string
		text, rest = nextString(rest)
		rows = append(rows, wordIDs(text))
		width = max(width, len(rows[len(rows)-1]))
	}
	ids, lens := make([]byte, 0, 4*width*len(rows)), make([]byte, 0, 4*len(rows))
	for _, row := range rows {
		for k := range width {
			var id uint32
			if k < len(row) {
				id = row[k]
			}
			ids = binary.LittleEndian.AppendUint32(ids, id)
		}
		lens = binary.LittleEndian.AppendUint32(lens, uint32(len(row)))
	}
	j.Send(shaped(j.Request, "INPUT_ID", tensor.Int32, ids, int64(width)),
		shaped(j.Request, "REQUEST_INPUT_LEN", tensor.Int32, lens, 1),
		tensor.Tensor{Name: "REQUEST_OUTPUT_LEN", Type: tensor.Int32, Shape: length.Shape, Data: length.Data})
}

func wordIDs(text string) []uint32 {
	var ids []uint32
	for word := range strings.FieldsSeq(text) {
		ids = append(ids, crc32.ChecksumIEEE([]byte(word))%vocabulary)
	}
	if len(ids) == 0 {
		ids = []uint32{1}
	}
	return ids
}

// detokenize gives the text of each row of ids.
func detokenize(j *Job) {
	in := j.Input("TOKENS_BATCH")
	rows := max(j.Batch, 1)
	width := len(in.Data) / 4 / rows
	var out []byte
	for r := range rows {
		var text strings.Builder
		for k := range width {
			text.WriteString(" tok")
			text.WriteString(strconv.FormatUint(uint64(binary.LittleEndian.Uint32(in.Data[4*(r*width+k):])), 10))
		}
		out = tensor.AppendElement(out, text.String())
	}
	j.Send(shaped(j.Request, "OUTPUT", tensor.Bytes, out, 1))
}

// mockLLM makes tokens at a pace: the first after first_token_ms (and prefill_ms_per_token for each token of the prompt),
// each further token per_token_ms later. All requests run at once; slowdown_per_request lengthens the times by this share for
// each other request in flight, or for each beyond slowdown_above. first_token_stddev_ms and per_token_stddev_ms vary the
// times. The prompt is not repeated, unless exclude_input_in_output is given and false.
type mockLLM struct {
	env  Env
	pace *tempo.Pacer
}

func newMockLLM(par params, env Env) (*mockLLM, error) {
	t := env.Pace
	for name, to := range map[string]*time.Duration{
		"first_token_ms": &t.First, "per_token_ms": &t.Each, "prefill_ms_per_token": &t.Prefill,
		"first_token_stddev_ms": &t.FirstDev, "per_token_stddev_ms": &t.EachDev,
	} {
		*to = par.millis(name, *to)
	}
	t.Distribution = par.text("token_distribution", t.Distribution)
	t.Free = par.integer("slowdown_above", t.Free)
	if text := par.text("slowdown_per_request", ""); text != "" {
		var err error
		if t.Slowdown, err = strconv.ParseFloat(text, 64); err != nil || t.Slowdown < 0 {
			return nil, fmt.Errorf("slowdown_per_request is a share, as 0.1, not %q", text)
		}
	}
	pace, err := tempo.New(t, env.Seed, uint64(par.integer("delay_seed", 1)))
	return &mockLLM{env: env, pace: pace}, err
}

func (m *mockLLM) Execute(ctx context.Context, jobs []*Job) {
	for _, j := range jobs {
		end := m.pace.Begin()
		go func() {
			defer end()
			m.generate(ctx, j)
		}()
	}
}

// generate sends the tokens of one request. Each token is the sum of the prompt's ids plus its position, so that equal prompts
// give equal responses.
func (m *mockLLM) generate(ctx context.Context, j *Job) {
	rows := max(j.Batch, 1)
	base, longest := promptSums(j, rows)
	count := max(1, int(firstUint32(j.Input("request_output_len"), 1)))
	streaming := flag(j.Input("streaming"))
	var all []byte
	if echo := j.Input("exclude_input_in_output"); echo != nil && !flag(echo) && rows == 1 {
		prompt := j.Input("input_ids").Data
		if streaming {
			m.send(j, prompt, rows, 0)
		} else {
			all = append(all, prompt...)
		}
	}
	due := j.Received
	if due.IsZero() {
		due = time.Now()
	}
	for k := range count {
		due = due.Add(m.pace.Step(k, longest))
		if m.env.Clock.Until(ctx, due) != nil || j.Done() {
			break
		}
		token := make([]byte, 0, 4*rows)
		for _, sum := range base {
			token = binary.LittleEndian.AppendUint32(token, (sum+uint32(k))%vocabulary)
		}
		if streaming {
			m.send(j, token, rows, k+1)
		} else {
			all = append(all, token...)
		}
	}
	if !streaming {
		m.send(j, transpose(all, rows), rows, len(all)/4/rows)
	}
	j.End()
}

// send answers with the tokens of each row; length is how many each row has so far.
func (m *mockLLM) send(j *Job, ids []byte, rows, length int) {
	var lengths []byte
	for range rows {
		lengths = binary.LittleEndian.AppendUint32(lengths, uint32(length))
	}
	j.Send(shaped(j.Request, "output_ids", tensor.Int32, ids, int64(len(ids)/4/rows)), shaped(j.Request, "sequence_length", tensor.Int32, lengths, 1))
}

// promptSums adds up each row of input_ids and finds the longest prompt.
func promptSums(j *Job, rows int) (sums []uint32, longest int) {
	ids, lens := j.Input("input_ids"), j.Input("input_lengths")
	width := len(ids.Data) / 4 / rows
	for r := range rows {
		n := width
		if lens != nil && 4*r+4 <= len(lens.Data) {
			n = min(width, int(binary.LittleEndian.Uint32(lens.Data[4*r:])))
		}
		longest = max(longest, n)
		var sum uint32
		for k := range max(n, 0) {
			sum += binary.LittleEndian.Uint32(ids.Data[4*(r*width+k):])
		}
		sums = append(sums, sum)
	}
	return sums, longest
}

// transpose turns tokens in order of time into rows.
func transpose(tokens []byte, rows int) []byte {
	count := len(tokens) / 4 / rows
	out := make([]byte, len(tokens))
	for r := range rows {
		for k := range count {
			copy(out[4*(r*count+k):], tokens[4*(k*rows+r):4*(k*rows+r)+4])
		}
	}
	return out
}

func firstUint32(t *tensor.Tensor, or uint32) uint32 {
	if t == nil || len(t.Data) < 4 {
		return or
	}
	return binary.LittleEndian.Uint32(t.Data)
}

func flag(t *tensor.Tensor) bool { return t != nil && len(t.Data) > 0 && t.Data[0] != 0 }
