package dataset

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/redline-bench/redline/internal/llm"
	"github.com/redline-bench/redline/internal/llm/dataset/prose"
)

// maker generates conversations. Each depends only on the seed and its own number.
type maker struct {
	numbered
	o       *Options
	prose   *prose.Writer
	pairs   []pair
	shared  string // the system prompt of all
	frame   *frame // nil without a chat template
	pool    []string
	media   mediaMaker
	inexact int
}

func newMaker(o *Options, tok Tokenizer) (*maker, error) {
	m := &maker{numbered: numbered{n: cmp.Or(o.Entries, -1), source: "made"}, o: o}
	m.pick = m.conversation
	if tok != nil {
		m.prose = prose.New(tok)
	} else {
		m.prose = prose.New(nil)
		m.prose.PerWord = o.Estimate.PerWord
	}
	m.media = mediaMaker{m: &o.Media}
	var err error
	if o.Pairs != "" {
		if m.pairs, err = parsePairs(o.Pairs); err != nil {
			return nil, err
		}
	}
	if o.Path == "" && !o.Input.Set() && m.pairs == nil && !o.Rankings.Passages.Set() && !o.Media.any() {
		return nil, errors.New("no prompts: name a file with --input-file, or a length with --synthetic-input-tokens-mean")
	}
	if err := m.media.load(); err != nil {
		return nil, err
	}
	if o.Prefix.SharedSystem > 0 {
		m.shared = m.text(m.rand("system", 0), o.Prefix.SharedSystem, "")
	}
	for i := range o.Prefix.Pool {
		m.pool = append(m.pool, m.text(m.rand("prefix", uint64(i)), o.Prefix.Length, ""))
	}
	if o.ChatTokens != nil {
		if m.frame, err = m.newFrame(); err == nil {
			err = m.checkLengths()
		}
	}
	return m, err
}

// rand is a generator for one purpose.
func (m *maker) rand(what string, i uint64) *rand.Rand { return seeded(m.o.Seed, what, i) }

func seeded(seed uint64, what string, i uint64) *rand.Rand {
	b := binary.LittleEndian.AppendUint64(nil, seed)
	b = binary.LittleEndian.AppendUint64(b, i)
	sum := sha256.Sum256(append(b, what...))
	return rand.New(rand.NewPCG(binary.LittleEndian.Uint64(sum[:]), binary.LittleEndian.Uint64(sum[8:])))
}

// text makes one text and counts those that are not exact.
func (m *maker) text(r *rand.Rand, n int, lead string) string {
	text, exact := m.prose.Text(r, n, lead)
	if !exact {
		m.inexact++
	}
	return text
}

// conversation makes conversation i.
func (m *maker) conversation(i int) (*llm.Conversation, error) {
	r := m.rand("conversation", uint64(i))
	c := &llm.Conversation{ID: fmt.Sprintf("session_%06d", i)}
	turns := 1
	if m.o.Turns.Set() {
		turns = m.o.Turns.Draw(r)
	}
	c.Turns = make([]llm.Turn, turns)
	for k := range c.Turns {
		t := &c.Turns[k]
		if k > 0 && m.o.Delay.Set() {
			t.Delay = time.Duration(m.o.Delay.Draw(r)) * time.Millisecond
		}
		if m.o.Rankings.Passages.Set() {
			m.ranking(t, r)
		} else {
			m.prompt(t, r, m.lead(k, i, r), m.frame.overhead(k == 0))
		}
		var err error
		if t.Media, err = m.media.make(r, i); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// prompt makes the texts of a turn. lead precedes the first text and adds to the requested length, except for a marker. The
// template's own tokens count within the length.
func (m *maker) prompt(t *llm.Turn, r *rand.Rand, lead string, template int) {
	in, out := m.o.Input, m.o.Output
	if m.pairs != nil {
		p := drawPair(m.pairs, r)
		in, out = p.in, p.out
	}
	if out.Set() {
		t.MaxTokens = out.Draw(r)
	}
	if !in.Set() {
		return
	}
	for range max(m.o.Batch, 1) {
		n, before := in.Draw(r), m.prose.Tokens(lead)
		t.Texts = append(t.Texts, m.text(r, max(1, n-template)+before, lead))
		if m.prose.Exact() {
			t.InputTokens += n + before
		}
		lead, template = "", 0
	}
}

// lead returns the text before the prompt of a conversation's turn k.
func (m *maker) lead(k, i int, r *rand.Rand) string {
	switch {
	case k > 0:
		return ""
	case len(m.pool) > 0:
		return m.pool[r.IntN(len(m.pool))]
	case m.o.Prefix.UserContext > 0:
		return m.text(m.rand("context", uint64(i)), m.o.Prefix.UserContext, "")
	}
	return ""
}

// ranking makes a query and its passages.
func (m *maker) ranking(t *llm.Turn, r *rand.Rand) {
	query, passage := m.o.Rankings.QueryTokens, m.o.Rankings.PassageTokens
	if !query.Set() {
		query = Fixed(64)
	}
	if !passage.Set() {
		passage = Fixed(256)
	}
	n := query.Draw(r)
	t.Query = m.text(r, n, "")
	total := n
	for range m.o.Rankings.Passages.Draw(r) {
		n := passage.Draw(r)
		t.Passages = append(t.Passages, m.text(r, n, ""))
		total += n
	}
	if m.prose.Exact() {
		t.InputTokens = total
	}
}

func (m *maker) describe(i *Info) {
	m.numbered.describe(i)
	i.Talks = !m.o.FirstTurn && (m.o.Turns.Mean > 1 || m.o.Turns.Max > 1 || m.o.Turns.Std > 0)
	i.Media = m.o.Media.kinds()
}

// completer adds to conversations of every origin what the options require.
type completer struct {
	o *Options
	m *maker
}

// complete adds the system prompt, output lengths, delays and the marker. n is the number of the conversation in the run.
func (d *completer) complete(c *llm.Conversation, n int) error {
	o := d.o
	if o.FirstTurn {
		c.Turns, c.System = c.Turns[:1], ""
	}
	switch {
	case o.System != "":
		c.System = o.System
	case d.m.shared != "":
		c.System = d.m.shared
	}
	model := d.model(n)
	for i := range c.Turns {
		t := &c.Turns[i]
		if t.Model == "" {
			t.Model = model
		}
		if t.MaxTokens == 0 && o.Output.Set() && o.Path != "" && t.Raw == nil {
			t.MaxTokens = o.Output.Draw(d.m.rand("output", uint64(n)<<16+uint64(i)))
		}
		if o.DelayRatio != nil {
			t.Delay = time.Duration(float64(t.Delay) * *o.DelayRatio)
		}
		if o.DelayCap > 0 {
			t.Delay = min(t.Delay, o.DelayCap)
		}
	}
	head, tail := "", "" // of the first turn's text
	switch mark := d.marker(n); o.Bust {
	case SystemPrefix:
		c.System = join(mark, c.System)
	case SystemSuffix:
		c.System = join(c.System, mark)
	case FirstTurnPrefix:
		head = mark + " "
	case FirstTurnSuffix:
		tail = " " + mark
	case NoBust:
	}
	for i := range c.Turns {
		if err := d.fit(c, i, head, tail); err != nil {
			return err
		}
		head, tail = "", ""
	}
	return nil
}

// model returns the model of conversation n, if there are several.
func (d *completer) model(n int) string {
	switch list := d.o.Models; {
	case len(list) < 2:
		return ""
	case d.o.DrawnModels:
		return list[d.m.rand("model", uint64(n)).IntN(len(list))]
	default:
		return list[n%len(list)]
	}
}

// marker is a text that is unique to a conversation; all markers have the same length.
func (d *completer) marker(n int) string {
	b := binary.LittleEndian.AppendUint64([]byte(d.o.RunID), d.o.Seed)
	sum := sha256.Sum256(binary.LittleEndian.AppendUint64(b, uint64(n)))
	return "[" + hex.EncodeToString(sum[:6]) + "]"
}

// suits returns an error if the options cannot be applied to a record: nothing can be added to a request that is sent unchanged,
// and no system prompt to a chat.
func (o *Options) suits(it *item) error {
	if len(it.turns) == 0 {
		return nil
	}
	t := &it.turns[0]
	system := o.System != "" || o.Prefix.SharedSystem > 0
	switch {
	case t.Raw != nil && o.Bust != NoBust:
		return errors.New("--cache-bust cannot change request bodies that are sent unchanged; put a marker into the file, or omit the option")
	case t.Raw != nil && system:
		return errors.New("a system prompt cannot be added to request bodies that are sent unchanged; put it into the file, or omit it")
	case t.Messages != nil && system:
		return errors.New("a system prompt cannot be added to whole chats; put it into their messages, or omit it")
	case t.Messages != nil && (o.Bust == SystemPrefix || o.Bust == SystemSuffix):
		return errors.New("--cache-bust cannot change the system prompt of whole chats; choose first_turn_prefix or first_turn_suffix")
	}
	return nil
}

func join(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + " " + b
}

// fit puts head and tail around the text of turn i. A generated text keeps its length; with a chat template it gets the requested
// length as the model sees it.
func (d *completer) fit(c *llm.Conversation, i int, head, tail string) error {
	t := &c.Turns[i]
	var text *string
	switch {
	case head+tail == "" && (d.m.frame == nil || t.InputTokens == 0):
		return nil
	case t.Messages != nil:
		return bustMessages(t, head, tail)
	case t.Query != "":
		text = &t.Query
	case len(t.Texts) > 0:
		t.Texts = slices.Clone(t.Texts) // they may be shared with other conversations
		text = &t.Texts[0]
	default:
		return nil
	}
	body, exact, err := *text, true, error(nil)
	if t.InputTokens > 0 {
		count, want := d.m.prose.Tokens, d.m.prose.Tokens(body)
		if d.m.frame != nil {
			count, want = d.m.frame.counter(c, i, text, &err)
		}
		body, exact = d.m.prose.Fit(d.m.rand("mark", 0), body, want, func(s string) int { return count(head + s + tail) })
	}
	*text = head + body + tail
	if !exact {
		d.m.inexact++
		t.InputTokens = 0 // must be counted again
	}
	return err
}

// bustMessages changes the first user message of a chat.
func bustMessages(t *llm.Turn, head, tail string) error {
	var list []map[string]json.RawMessage
	if err := json.Unmarshal(t.Messages, &list); err != nil {
		return fmt.Errorf("put the cache-bust marker into the messages: %w", err)
	}
	for _, m := range list {
		var role, content string
		if json.Unmarshal(m["role"], &role) != nil || role != "user" || json.Unmarshal(m["content"], &content) != nil {
			continue
		}
		text, err := json.Marshal(head + content + tail)
		if err != nil {
			return err
		}
		m["content"] = text
		if t.Messages, err = json.Marshal(list); err != nil {
			return err
		}
		return nil
	}
	return errors.New("--cache-bust found a conversation without a user message with text; omit the option")
}
