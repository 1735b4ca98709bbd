package tokenizer

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/redline-bench/redline/internal/tokenizer/chars"
	"github.com/redline-bench/redline/internal/tokenizer/model"
	"github.com/redline-bench/redline/internal/tokenizer/normal"
)

// The kinds of pieces of a SentencePiece model.
const (
	pieceNormal = iota + 1
	pieceUnknown
	pieceControl
	pieceUser
	pieceUnused
	pieceByte
)

type spPiece struct {
	text  string
	score float32
	kind  uint64
}

// spModel is the part of a SentencePiece model file that encoding needs.
type spModel struct {
	pieces       []spPiece
	bpe          bool
	byteFallback bool
	charsmap     []byte
	dummy, extra bool // put a space in front; take superfluous ones off
}

// fields calls f for every field of a protocol buffer message, with its number, or its bytes.
func fields(b []byte, f func(num int, v uint64, data []byte) error) error {
	for len(b) > 0 {
		num, kind, n := protowire.ConsumeTag(b)
		if n < 0 {
			return errBroken
		}
		b = b[n:]
		var v uint64
		var data []byte
		switch kind {
		case protowire.VarintType:
			v, n = protowire.ConsumeVarint(b)
		case protowire.Fixed32Type:
			var bits uint32
			bits, n = protowire.ConsumeFixed32(b)
			v = uint64(bits)
		case protowire.BytesType:
			data, n = protowire.ConsumeBytes(b)
		default:
			n = protowire.ConsumeFieldValue(num, kind, b)
		}
		if n < 0 {
			return errBroken
		}
		b = b[n:]
		if err := f(int(num), v, data); err != nil {
			return err
		}
	}
	return nil
}

var errBroken = errors.New("it is neither a SentencePiece model nor a file of ranks")

func (m *spModel) read(data []byte) error {
	return fields(data, func(num int, _ uint64, sub []byte) error {
		switch num {
		case 1:
			p := spPiece{kind: pieceNormal}
			err := fields(sub, func(num int, v uint64, text []byte) error {
				switch num {
				case 1:
					p.text = string(text)
				case 2:
					p.score = math.Float32frombits(uint32(v))
				case 3:
					p.kind = v
				}
				return nil
			})
			m.pieces = append(m.pieces, p)
			return err
		case 2:
			return fields(sub, m.trainer)
		case 3:
			return fields(sub, m.normalization)
		}
		return nil
	})
}

// trainer reads a field of how the model was trained.
func (m *spModel) trainer(num int, v uint64, _ []byte) error {
	switch num {
	case 3:
		m.bpe = v == 2
		if v > 2 {
			return errors.New("SentencePiece models of words or characters are not supported")
		}
	case 24:
		if v != 0 {
			return errors.New("a SentencePiece model that has spaces behind words is not supported")
		}
	case 35:
		m.byteFallback = v != 0
	}
	return nil
}

// normalization reads a field of how texts are normalized.
func (m *spModel) normalization(num int, v uint64, data []byte) error {
	switch num {
	case 2:
		m.charsmap = slices.Clone(data)
	case 3:
		m.dummy = v != 0
	case 4:
		m.extra = v != 0
	}
	return nil
}

// parsePiece reads a SentencePiece model.
func parsePiece(data []byte) (*Tokenizer, error) {
	m := &spModel{dummy: true, extra: true}
	if err := m.read(data); err != nil {
		return nil, err
	}
	if len(m.pieces) == 0 {
		return nil, errBroken
	}
	t := newTokenizer()
	var err error
	if t.normalize, err = m.normalizer(); err != nil {
		return nil, err
	}
	if t.model, err = m.model(); err != nil {
		return nil, err
	}
	var tokens []addedToken
	for _, p := range m.pieces {
		if p.kind == pieceUser {
			tokens = append(tokens, addedToken{Content: p.text, Normalized: false})
		}
	}
	t.added = newAdded(tokens, t.model, nil, t.guard)
	for id, p := range m.pieces {
		switch p.kind {
		case pieceControl:
			t.added.special[p.text] = true
		case pieceUnknown:
			t.added.texts[id] = " \u2047 "
		}
	}
	mark, spaces := chars.Literal(spaceMark), 0 // spaces are taken off the front
	if m.dummy {
		spaces = 1
	}
	if m.dummy && m.extra {
		spaces = math.MaxInt
	}
	t.decoder = decoder{
		replaceEach(normal.Replace{Find: mark, With: " "}, t.guard),
		decodeFallback,
		func(tokens []string) []string { return []string{strip(strings.Join(tokens, ""), " ", spaces, 0)} },
	}
	return t, nil
}

func (m *spModel) normalizer() (normal.Normalizer, error) {
	var seq normal.Sequence
	if len(m.charsmap) > 0 {
		c, err := normal.NewCharsmap(m.charsmap)
		if err != nil {
			return nil, err
		}
		seq = append(seq, normal.Prefixes{Map: c})
	}
	if m.extra {
		seq = append(seq, normal.Squeeze{})
	}
	if m.dummy {
		seq = append(seq, normal.Prepend(" "))
	}
	seq = append(seq, normal.Replace{Find: chars.Literal(" "), With: spaceMark})
	if m.extra {
		seq = append(seq, normal.TrimEnd(spaceMark))
	}
	return seq, nil
}

func (m *spModel) model() (model.Model, error) {
	unk := slices.IndexFunc(m.pieces, func(p spPiece) bool { return p.kind == pieceUnknown })
	if !m.bpe {
		entries := make([]model.Scored, len(m.pieces))
		for i, p := range m.pieces {
			entries[i] = model.Scored{Token: p.text, Score: float64(p.score), Skip: p.kind != pieceNormal && p.kind != pieceUser}
		}
		u, err := model.NewUnigram(entries, unk, m.byteFallback)
		if err != nil {
			return nil, err
		}
		return u.Narrow(), nil
	}
	vocab, order := make(map[string]int, len(m.pieces)), make(map[string]uint32, len(m.pieces))
	ranked := make([]int, 0, len(m.pieces))
	for i, p := range m.pieces {
		vocab[p.text] = i
		if p.kind == pieceNormal {
			ranked = append(ranked, i)
		}
	}
	slices.SortStableFunc(ranked, func(a, b int) int { return cmp.Compare(m.pieces[b].score, m.pieces[a].score) })
	rank := uint32(0)
	for i, id := range ranked {
		if i > 0 && m.pieces[id].score < m.pieces[ranked[i-1]].score {
			rank++
		}
		order[m.pieces[id].text] = rank
	}
	c := model.BPEConfig{Vocab: vocab, Order: order, FuseUnk: true, ByteFallback: m.byteFallback, SpaceMark: spaceMark, NoPreTokenize: true}
	if unk >= 0 {
		c.Unk, c.HasUnk = m.pieces[unk].text, true
	}
	b, err := model.NewBPE(c)
	if err != nil {
		return nil, fmt.Errorf("SentencePiece: %w", err)
	}
	return b, nil
}
