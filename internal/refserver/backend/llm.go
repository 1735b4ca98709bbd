package backend

import (
	"context"
	"hash/crc32"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redline-bench/redline/internal/proto/kserve"
	"github.com/redline-bench/redline/internal/refserver/pause"
	"github.com/redline-bench/redline/internal/tensor"
)

const vocabulary = 32000

// tokenize gives one id for each word of a text.
func tokenize(j *Job) {
	var rows [][]tensor.Num
	var lengths []tensor.Num
	width := 0
	for _, text := range texts(j.Input("QUERY")) {
		var ids []tensor.Num
		for word := range strings.FieldsSeq(text) {
			ids = append(ids, tensor.Num{Whole: int64(crc32.ChecksumIEEE([]byte(word)) % vocabulary)})
		}
		if ids == nil {
			ids = []tensor.Num{{Whole: 1}}
		}
		rows, lengths, width = append(rows, ids), append(lengths, tensor.Num{Whole: int64(len(ids))}), max(width, len(ids))
	}
	var all []tensor.Num
	for _, ids := range rows {
		all = append(append(all, ids...), make([]tensor.Num, width-len(ids))...)
	}
	j.Send(j.ids("INPUT_ID", all, width), j.ids("REQUEST_INPUT_LEN", lengths, 1), *j.Input("REQUEST_OUTPUT_LEN"))
}

// ids is an output of whole numbers.
func (j *Job) ids(name string, list []tensor.Num, width int) tensor.Tensor {
	return shaped(j.Request, name, tensor.Int32, packed(tensor.Int32, list), int64(width))
}

// detokenize gives the text of each row of ids.
func detokenize(j *Job) {
	ids, rows := numbersOf(j, "TOKENS_BATCH"), max(j.Batch, 1)
	var out []byte
	for width := len(ids) / rows; rows > 0; rows-- {
		var text strings.Builder
		for _, id := range ids[:width] {
			text.WriteString(" tok" + strconv.FormatInt(id.Whole, 10))
		}
		out, ids = tensor.AppendElement(out, text.String()), ids[width:]
	}
	j.Send(shaped(j.Request, "OUTPUT", tensor.Bytes, out, 1))
}

// mockLLM makes tokens at a pace: the first after first_token_ms (and prefill_ms_per_token for each token of the prompt),
// each further token per_token_ms later. All requests run at once; slowdown_per_request lengthens the times by this share for
// each other request in flight, or for each beyond slowdown_above. first_token_stddev_ms and per_token_stddev_ms vary the
// times. The prompt is not repeated, unless exclude_input_in_output is given and false.
type mockLLM struct {
	env  Env
	pace *pause.Pacer
}

func newMockLLM(_ *kserve.ModelConfig, par params, env Env) (Instance, error) {
	t := env.Pace
	for name, to := range map[string]*time.Duration{
		"first_token_ms": &t.First, "per_token_ms": &t.Each, "prefill_ms_per_token": &t.Prefill,
		"first_token_stddev_ms": &t.FirstDev, "per_token_stddev_ms": &t.EachDev,
	} {
		*to = par.millis(name, *to)
	}
	t.Distribution = par.text("token_distribution", t.Distribution)
	t.Free = par.integer("slowdown_above", t.Free)
	t.Slowdown = par.number("slowdown_per_request", t.Slowdown)
	pace, err := pause.NewPacer(t, env.Seed, uint64(par.integer("delay_seed", 1)))
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
	rows := prompts(j)
	count := 1
	if n := numbersOf(j, "request_output_len"); len(n) > 0 {
		count = max(1, int(n[0].Whole))
	}
	said := make([][]tensor.Num, len(rows)) // of each row, and not sent
	length := 0
	send := func() {
		var all, lengths []tensor.Num
		for r := range said {
			all, lengths = append(all, said[r]...), append(lengths, tensor.Num{Whole: int64(length)})
		}
		j.Send(j.ids("output_ids", all, len(said[0])), j.ids("sequence_length", lengths, 1))
		clear(said)
	}
	streaming := flag(j, "streaming")
	if j.Input("exclude_input_in_output") != nil && !flag(j, "exclude_input_in_output") && len(rows) == 1 {
		if said[0] = slices.Clone(rows[0]); streaming {
			send()
		}
	}
	longest := 0
	sums := make([]int64, len(rows))
	for r, ids := range rows {
		longest = max(longest, len(ids))
		for _, id := range ids {
			sums[r] += id.Whole
		}
	}
	due := j.Received
	for k := range count {
		if due = due.Add(m.pace.Step(k, longest, m.pace.First, m.pace.Each)); m.env.Clock.Until(ctx, due) != nil || j.Done() {
			break
		}
		for r, sum := range sums {
			said[r] = append(said[r], tensor.Num{Whole: int64(uint32(sum+int64(k)) % vocabulary)})
		}
		if length = k + 1; streaming {
			send()
		}
	}
	if !streaming {
		send()
	}
	j.End()
}

// prompts are the ids of each row of input_ids, without what fills it up.
func prompts(j *Job) [][]tensor.Num {
	ids, lengths := numbersOf(j, "input_ids"), numbersOf(j, "input_lengths")
	rows := make([][]tensor.Num, max(j.Batch, 1))
	width := len(ids) / len(rows)
	for r := range rows {
		rows[r] = ids[r*width : (r+1)*width]
		if r < len(lengths) {
			rows[r] = rows[r][:max(0, min(width, int(lengths[r].Whole)))]
		}
	}
	return rows
}

// flag is the first element of a BOOL input.
func flag(j *Job, name string) bool {
	list := numbersOf(j, name)
	return len(list) > 0 && list[0].Whole != 0
}
