package dataset

import (
	"bytes"
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/redline-bench/redline/internal/llm"
)

// fileSource reads one file.
type fileSource struct {
	o    *Options
	m    *maker
	path string
	l    layout
	rd   reader
	f    *os.File
	scan scanner
	pos  int // conversations given since the start of the file

	n     int           // conversations
	zero  time.Duration // the time in the file at which the run starts
	times bool
	talks bool // some conversation has several turns
	limit bool // some turn states an output length
	media []llm.MediaKind
	scope string // seed of the generated texts of this file
	ix    *index // nil: records are read in the file's order
}

// openFile detects the format of a file, and reads all of it once.
func openFile(ctx context.Context, o *Options, m *maker, sum hash.Hash) (origin, error) {
	info, err := os.Stat(o.Path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("the file of prompts %s does not exist: check the path", o.Path)
	case err != nil:
		return nil, fmt.Errorf("open the prompts: %w", err)
	case info.IsDir():
		return openFolder(ctx, o, m, sum)
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is not a regular file, and prompts are read several times: write them to a file first", o.Path)
	case info.Size() == 0:
		return nil, fmt.Errorf("the file of prompts %s is empty", o.Path)
	}
	l, err := sniff(o.Path, o.Format, o.Key)
	if err != nil {
		return nil, err
	}
	if l.format == Pool {
		return openPools(ctx, o, m, []string{o.Path}, sum)
	}
	if l.format == SageMaker {
		return openCaptures(ctx, o, m, []string{o.Path}, sum)
	}
	s := newFile(o, m, o.Path, l)
	if err := s.survey(ctx, sum); err != nil {
		return nil, err
	}
	return s, s.rewind()
}

func newFile(o *Options, m *maker, path string, l layout) *fileSource {
	return &fileSource{o: o, m: m, path: path, l: l, rd: reader{format: l.format, key: o.Key, dir: filepath.Dir(path)}}
}

// broken is the message for a record that cannot be used.
func (s *fileSource) broken(r rec, err error) error {
	if r.line < 0 {
		r.line = lineAt(s.path, r.off)
	}
	return fmt.Errorf("%s: line %d: %w (read as %s; --custom-dataset-type names another form)", s.path, r.line, err, s.l.format)
}

// each calls fn with every record of the file, and adds the file's bytes to sum.
func (s *fileSource) each(ctx context.Context, sum io.Writer, fn func(rec, item) error) error {
	f, err := os.Open(s.path)
	if err != nil {
		return fmt.Errorf("open the prompts: %w", err)
	}
	defer f.Close()
	scan := s.l.box.open(io.TeeReader(f, sum), nil)
	for n := 0; ; n++ {
		if n%1024 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		r, err := scan.scan()
		if errors.Is(err, io.EOF) {
			_, err = io.Copy(sum, f) // the rest after the document
			return err
		}
		if err != nil {
			return s.broken(r, err)
		}
		it, err := s.rd.read(r.raw)
		if err == nil && it.blocks != nil {
			err = it.blocks.fits(s.block())
		}
		if err == nil {
			err = s.o.suits(&it)
		}
		if err != nil {
			return s.broken(r, err)
		}
		if !s.keep(&it) {
			continue
		}
		if err := fn(r, it); err != nil {
			return s.broken(r, err)
		}
	}
}

func (s *fileSource) block() int {
	if s.l.format == Bailian {
		return cmp.Or(s.o.Trace.Block, 16)
	}
	return cmp.Or(s.o.Trace.Block, 512)
}

// keep applies the bounds of the trace.
func (s *fileSource) keep(it *item) bool {
	t := &s.o.Trace
	if t.MaxInput > 0 && (it.tokens > t.MaxInput || it.blocks != nil && it.blocks.tokens > t.MaxInput) {
		return false
	}
	kept := it.turns[:0]
	for _, turn := range it.turns {
		if turn.Timed && (turn.At < t.Start || t.End > 0 && turn.At > t.End) {
			continue
		}
		if t.MaxOutput > 0 {
			turn.MaxTokens = min(turn.MaxTokens, t.MaxOutput)
		}
		if t.IgnoreTimes {
			turn.Timed, turn.At = false, 0
		}
		if t.IgnoreDelays {
			turn.Delay = 0
		}
		kept = append(kept, turn)
	}
	it.turns = kept
	return len(kept) > 0
}

// grouped reports whether records of one session are one conversation.
func (f Format) grouped() bool {
	return f == Single || f == Mooncake || f == Bailian || f == GAPayload || f == PAInputs
}

// survey reads the whole file: it checks and counts the records, and finds out whether they can be used in the file's order.
func (s *fileSource) survey(ctx context.Context, sum hash.Hash) error {
	v := surveyor{grouped: s.l.format.grouped(), seen: map[string]struct{}{}}
	if err := s.each(ctx, sum, v.add); err != nil {
		return err
	}
	s.scope = hex.EncodeToString(sum.Sum(nil)[:8])
	if v.n == 0 {
		return fmt.Errorf("the file of prompts %s %w%s", s.path, errNoPrompt, s.why())
	}
	s.n, s.times, s.talks, s.limit, s.media = v.n, v.timed > 0, v.talks, v.limit, v.media
	switch {
	case s.o.Trace.AutoOffset:
		s.zero = v.first
	case s.times:
		s.zero = s.o.Trace.Start
	}
	if v.sessions || s.times && !v.ordered || s.o.Sampling != Sequential && !s.times {
		ix, err := s.buildIndex(ctx)
		if err != nil {
			return err
		}
		s.ix, s.n = ix, ix.size()
	} else if s.times && v.timed < v.n {
		return s.broken(v.untimed, errUntimed)
	}
	if s.o.Entries > 0 {
		s.n = min(s.n, s.o.Entries)
	}
	return nil
}

func (s *fileSource) why() string {
	if s.o.Trace.Start > 0 || s.o.Trace.End > 0 || s.o.Trace.MaxInput > 0 {
		return " within the bounds of the trace; widen the offsets, or the largest input length"
	}
	return ""
}

var errNoPrompt = errors.New("has no prompt")

var errUntimed = errors.New("it has no timestamp, but other requests have; give every conversation one, or none")

// surveyor keeps the findings of the first pass.
type surveyor struct {
	grouped  bool
	sessions bool // several records form a session
	ordered  bool // records are in the order of their times
	talks    bool // some record has several turns
	limit    bool // some turn states an output length
	media    []llm.MediaKind
	n, timed int
	first    time.Duration
	last     time.Duration
	untimed  rec // one without a time
	seen     map[string]struct{}
}

func (v *surveyor) add(r rec, it item) error {
	if v.n == 0 {
		v.ordered = true
	}
	v.n++
	v.talks = v.talks || !it.alone && len(it.turns) > 1
	for k := range it.turns {
		v.limit = v.limit || it.turns[k].MaxTokens > 0
		for _, m := range it.turns[k].Media {
			if !slices.Contains(v.media, m.Kind) {
				v.media = append(v.media, m.Kind)
			}
		}
	}
	switch {
	case it.session == "":
	case v.grouped:
		v.sessions = true
	default:
		if _, twice := v.seen[it.session]; twice {
			return fmt.Errorf("the session %q occurs twice", it.session)
		}
		v.seen[it.session] = struct{}{}
	}
	t := &it.turns[0]
	if !t.Timed {
		v.untimed = rec{off: r.off, line: r.line}
		return nil
	}
	if v.timed == 0 || t.At < v.first {
		v.first = t.At
	}
	v.ordered = v.ordered && t.At >= v.last
	v.last = t.At
	v.timed++
	return nil
}

func (s *fileSource) size() int   { return s.n }
func (s *fileSource) timed() bool { return s.times }

func (s *fileSource) rewind() error {
	s.pos = 0
	s.rd.real = true
	if s.f == nil {
		f, err := os.Open(s.path)
		if err != nil {
			return fmt.Errorf("open the prompts again: %w", err)
		}
		s.f = f
	}
	if _, err := s.f.Seek(0, io.SeekStart); err != nil {
		return fmt.Errorf("read the prompts again: %w", err)
	}
	s.scan = s.l.box.open(s.f, nil)
	return nil
}

func (s *fileSource) Close() error {
	if s.f == nil {
		return nil
	}
	return s.f.Close()
}

func (s *fileSource) next() (*llm.Conversation, error) {
	if s.pos >= s.n {
		return nil, io.EOF
	}
	if s.ix != nil {
		s.pos++
		return s.at(s.pos - 1)
	}
	it, err := s.record()
	if err != nil {
		return nil, err
	}
	s.pos++
	return s.settled(s.conversation(s.pos-1, it)), nil
}

func (s *fileSource) skip() error {
	if s.pos >= s.n {
		return io.EOF
	}
	if s.ix == nil {
		if _, err := s.record(); err != nil {
			return err
		}
	}
	s.pos++
	return nil
}

// record reads the next record that the bounds of the trace keep.
func (s *fileSource) record() (item, error) {
	for {
		r, err := s.scan.scan()
		if errors.Is(err, io.EOF) {
			return item{}, s.changed()
		}
		var it item
		if err == nil {
			it, err = s.rd.read(r.raw)
		}
		if err != nil {
			return item{}, s.broken(r, err)
		}
		if s.keep(&it) {
			return it, nil
		}
	}
}

func (s *fileSource) changed() error {
	return fmt.Errorf("the prompts %s changed while they were in use", s.path)
}

// at reads the records of conversation i.
func (s *fileSource) at(i int) (*llm.Conversation, error) {
	var all item
	var c *llm.Conversation
	for _, sp := range s.ix.spans(i) {
		b := make([]byte, sp.size)
		if _, err := s.f.ReadAt(b, sp.off); err != nil && !errors.Is(err, io.EOF) {
			return nil, fmt.Errorf("read the prompts again: %w", err)
		}
		raw, err := s.l.box.alone(bytes.TrimRight(b, "\x00"), s.l.head)
		if err == nil {
			all, err = s.rd.read(raw)
		}
		if err != nil {
			return nil, s.broken(rec{off: sp.off, line: -1}, err)
		}
		if !s.keep(&all) {
			return nil, s.changed()
		}
		part := s.conversation(i, all)
		if c == nil {
			c = part
			continue
		}
		c.Turns = append(c.Turns, part.Turns...)
	}
	return s.settled(c), nil
}

// settled completes a conversation whose records are all there. GenAI-Perf's files state the delay after a turn, all others the
// delay before it. A session whose first record is a system message has that as its system prompt.
func (s *fileSource) settled(c *llm.Conversation) *llm.Conversation {
	if s.l.format == GAPayload {
		for k := len(c.Turns) - 1; k > 0; k-- {
			c.Turns[k].Delay = c.Turns[k-1].Delay
		}
		c.Turns[0].Delay = 0
	}
	if t := &c.Turns[0]; c.System == "" && strings.EqualFold(t.Role, "system") && len(c.Turns) > 1 && len(t.Media) == 0 && t.Raw == nil && t.Messages == nil {
		c.System, c.Turns = strings.Join(t.Texts, " "), c.Turns[1:]
	}
	return c
}

// conversation is number i of the file, out of a record.
func (s *fileSource) conversation(i int, it item) *llm.Conversation {
	c := &llm.Conversation{ID: it.session, System: it.system, Turns: it.turns, Alone: it.alone}
	if c.ID == "" {
		c.ID = fmt.Sprintf("session_%06d", i)
	}
	if it.blocks != nil {
		t := &c.Turns[0]
		text, n := s.m.realize(it.blocks, s.scope, s.block(), uint64(i))
		t.Texts, t.InputTokens = []string{text}, n
	}
	speed := s.o.Trace.Speedup
	for k := range c.Turns {
		t := &c.Turns[k]
		if t.Timed {
			t.At -= s.zero
		}
		if speed > 0 {
			t.At = time.Duration(float64(t.At) / speed)
			t.Delay = time.Duration(float64(t.Delay) / speed)
		}
	}
	return c
}

func (s *fileSource) describe(i *Info) {
	i.Source, i.Format, i.Talks, i.Limited, i.Media = s.path, s.l.format, s.talks && !s.o.FirstTurn, s.limit, s.media
}
