package dataset

import (
	"context"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/redline-bench/redline/internal/llm"
)

// openFolder reads a folder of .jsonl files: pools, conversations of request bodies, or captured requests, whose files are in
// nested folders.
func openFolder(ctx context.Context, o *Options, m *maker, sum hash.Hash) (origin, error) {
	files, err := filepath.Glob(filepath.Join(escape(o.Path), "*.jsonl"))
	if err == nil && (len(files) == 0 || o.Format == SageMaker) {
		files, err = below(o.Path)
	}
	if err != nil {
		return nil, fmt.Errorf("read the folder of prompts: %w", err)
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("the folder of prompts %s has no .jsonl file", o.Path)
	}
	slices.Sort(files)
	format := o.Format
	if format == "" {
		l, err := sniff(files[0], "", "")
		if err != nil {
			return nil, err
		}
		format = Pool
		if l.format == RawBody || l.format == Messages {
			format = RawBody
		}
		if l.format == SageMaker {
			if files, err = below(o.Path); err != nil {
				return nil, fmt.Errorf("read the folder of prompts: %w", err)
			}
			format = SageMaker
		}
	}
	if format == SageMaker {
		return openCaptures(ctx, o, m, files, sum)
	}
	if format == Pool {
		return openPools(ctx, o, m, files, sum)
	}
	if format == RawBody {
		return openBodies(ctx, o, m, files, sum)
	}
	return nil, fmt.Errorf("%s is a folder, and a folder holds %s, %s or %s files; name the file for %s", o.Path, Pool, RawBody, SageMaker, format)
}

// escape escapes pattern characters in a folder's name.
func escape(dir string) string {
	return strings.NewReplacer("*", `\*`, "?", `\?`, "[", `\[`, `\`, `\\`).Replace(dir)
}

// below are all .jsonl files under a folder.
func below(dir string) ([]string, error) {
	var files []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && filepath.Ext(path) == ".jsonl" {
			files = append(files, path)
		}
		return err
	})
	return files, err
}

// numbered yields n conversations by their numbers.
type numbered struct {
	n, pos int // n is -1 if there is no end
	pick   func(i int) (*llm.Conversation, error)
	source string
	format Format
}

var _ origin = (*numbered)(nil)

func (s *numbered) size() int                           { return s.n }
func (s *numbered) timed() bool                         { return false }
func (s *numbered) at(i int) (*llm.Conversation, error) { return s.pick(i) }
func (s *numbered) Close() error                        { return nil }

func (s *numbered) next() (*llm.Conversation, error) {
	if err := s.skip(); err != nil {
		return nil, err
	}
	return s.pick(s.pos - 1)
}

func (s *numbered) skip() error {
	if s.n >= 0 && s.pos >= s.n {
		return io.EOF
	}
	s.pos++
	return nil
}

func (s *numbered) describe(i *Info) { i.Source, i.Format = s.source, s.format }

func (s *numbered) rewind() error {
	s.pos = 0
	return nil
}

// pools draws one record of each file for every conversation.
type pools struct {
	numbered
	o     *Options
	files []*fileSource
}

func openPools(ctx context.Context, o *Options, m *maker, paths []string, sum hash.Hash) (origin, error) {
	p := &pools{numbered: numbered{source: o.Path, format: Pool}, o: o}
	p.pick = p.draw
	for _, path := range paths {
		f, err := openPool(ctx, o, m, path, sum)
		if err != nil {
			return nil, errors.Join(err, p.Close())
		}
		p.files = append(p.files, f)
		p.n = max(p.n, f.n)
	}
	if o.Entries > 0 {
		p.n = o.Entries
	}
	return p, nil
}

func openPool(ctx context.Context, o *Options, m *maker, path string, sum hash.Hash) (*fileSource, error) {
	l, err := sniff(path, Pool, "")
	if err != nil {
		return nil, err
	}
	f := newFile(o, m, path, l)
	v := surveyor{seen: map[string]struct{}{}}
	if err := f.each(ctx, sum, v.add); err != nil {
		return nil, err
	}
	if f.ix, err = f.buildIndex(ctx); err != nil {
		return nil, err
	}
	if f.n = f.ix.size(); f.n == 0 {
		return nil, fmt.Errorf("the pool %s is empty", path)
	}
	f.media = v.media
	return f, f.rewind()
}

// draw draws one record of each pool and joins them to conversation i. The name of a pool's file identifies queries and passages.
func (p *pools) draw(i int) (*llm.Conversation, error) {
	r := seeded(p.o.Seed, "pool", uint64(i))
	c := &llm.Conversation{ID: fmt.Sprintf("session_%06d", i), Turns: make([]llm.Turn, 1), Alone: true}
	all := &c.Turns[0]
	for _, f := range p.files {
		one, err := f.at(r.IntN(f.n))
		if err != nil {
			return nil, err
		}
		t := &one.Turns[0]
		if len(p.files) > 1 {
			name := strings.TrimSuffix(filepath.Base(f.path), filepath.Ext(f.path))
			switch name {
			case "query", "queries":
				t.Query, t.Texts = t.Query+strings.Join(t.Texts, ""), nil
			case "passage", "passages":
				t.Passages, t.Texts = append(t.Passages, t.Texts...), nil
			}
		}
		all.Texts = append(all.Texts, t.Texts...)
		all.Query += t.Query
		all.Passages = append(all.Passages, t.Passages...)
		all.Media = append(all.Media, t.Media...)
		all.MaxTokens = max(all.MaxTokens, t.MaxTokens)
	}
	return c, nil
}

func (p *pools) describe(i *Info) {
	p.numbered.describe(i)
	for _, f := range p.files {
		i.Media = append(i.Media, f.media...)
	}
}

func (p *pools) Close() error { return closeAll(p.files) }

// bodies makes one conversation of each file, whose lines are the bodies of its turns.
type bodies struct {
	numbered
	o     *Options
	m     *maker
	files []string
}

func openBodies(ctx context.Context, o *Options, m *maker, files []string, sum hash.Hash) (origin, error) {
	b := &bodies{numbered: numbered{source: o.Path, format: RawBody}, o: o, m: m, files: files}
	b.n, b.pick = len(files), b.read
	for _, path := range files {
		v := surveyor{}
		if err := newFile(o, m, path, layout{format: RawBody}).each(ctx, sum, v.add); err != nil {
			return nil, err
		}
		if v.n == 0 {
			return nil, fmt.Errorf("the file of request bodies %s is empty", path)
		}
	}
	if o.Entries > 0 {
		b.n = min(b.n, o.Entries)
	}
	return b, nil
}

// read reads the file of conversation i.
func (b *bodies) read(i int) (*llm.Conversation, error) {
	name := filepath.Base(b.files[i])
	c := &llm.Conversation{ID: strings.TrimSuffix(name, filepath.Ext(name)), Alone: true}
	err := newFile(b.o, b.m, b.files[i], layout{format: RawBody}).each(context.Background(), io.Discard, func(_ rec, it item) error {
		c.Turns = append(c.Turns, it.turns...)
		return nil
	})
	if err == nil && len(c.Turns) == 0 {
		err = fmt.Errorf("the prompts %s changed while they were in use", b.files[i])
	}
	if errors.Is(err, os.ErrNotExist) {
		err = fmt.Errorf("the prompts changed while they were in use: %w", err)
	}
	return c, err
}

// captures are files of captured requests, taken together in the order of their times.
type captures struct {
	o     *Options
	files []*fileSource
	heads []*llm.Conversation // the next of each file; nil after its last
	n     int
	pos   int
}

func openCaptures(ctx context.Context, o *Options, m *maker, paths []string, sum hash.Hash) (origin, error) {
	c := &captures{o: o}
	all := *o
	all.Trace = Trace{} // the first request is found without the bounds
	first := time.Duration(math.MaxInt64)
	for _, path := range paths {
		l, err := sniff(path, SageMaker, "")
		if err != nil {
			return nil, err
		}
		err = newFile(&all, m, path, l).each(ctx, io.Discard, func(_ rec, it item) error {
			first = min(first, it.turns[0].At)
			return nil
		})
		if err != nil {
			return nil, err
		}
		c.files = append(c.files, newFile(o, m, path, l))
	}
	return c, c.survey(ctx, first, sum)
}

// survey reads all files, with times since the first request. It omits files without a request within the bounds.
func (c *captures) survey(ctx context.Context, first time.Duration, sum hash.Hash) error {
	zero := time.Duration(math.MaxInt64)
	var kept []*fileSource
	for _, f := range c.files {
		f.rd.base = first
		err := f.survey(ctx, sum)
		if errors.Is(err, errNoPrompt) && len(c.files) > 1 {
			continue
		}
		if err != nil {
			return err
		}
		kept = append(kept, f)
		c.n += f.n
		zero = min(zero, f.zero)
	}
	if c.files = kept; len(kept) == 0 {
		return fmt.Errorf("the folder of prompts %s %w within the bounds of the trace", c.o.Path, errNoPrompt)
	}
	for _, f := range kept {
		f.zero = zero
	}
	if c.o.Entries > 0 {
		c.n = min(c.n, c.o.Entries)
	}
	return c.rewind()
}

func (c *captures) size() int   { return c.n }
func (c *captures) timed() bool { return c.files[0].times }

func (c *captures) rewind() error {
	c.pos, c.heads = 0, make([]*llm.Conversation, len(c.files))
	for i, f := range c.files {
		err := f.rewind()
		if err == nil {
			c.heads[i], err = f.next()
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (c *captures) skip() error {
	_, err := c.next()
	return err
}

// next returns the earliest of the files' next requests.
func (c *captures) next() (*llm.Conversation, error) {
	best := -1
	for i, head := range c.heads {
		if head != nil && (best < 0 || head.Turns[0].At < c.heads[best].Turns[0].At) {
			best = i
		}
	}
	if best < 0 || c.pos >= c.n {
		return nil, io.EOF
	}
	out := c.heads[best]
	head, err := c.files[best].next()
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	c.heads[best] = head
	return c.named(out), nil
}

// named numbers a conversation among all files.
func (c *captures) named(conv *llm.Conversation) *llm.Conversation {
	conv.ID = fmt.Sprintf("session_%06d", c.pos)
	c.pos++
	return conv
}

func (c *captures) at(i int) (*llm.Conversation, error) {
	for _, f := range c.files {
		if i < f.n {
			conv, err := f.at(i)
			if err == nil {
				conv = c.named(conv)
			}
			return conv, err
		}
		i -= f.n
	}
	return nil, io.EOF
}

func (c *captures) describe(i *Info) { i.Source, i.Format = c.o.Path, SageMaker }

func (c *captures) Close() error { return closeAll(c.files) }

func closeAll(files []*fileSource) error {
	var err error
	for _, f := range files {
		err = errors.Join(err, f.Close())
	}
	return err
}
