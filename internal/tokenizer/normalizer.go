package tokenizer

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"fmt"

	"golang.org/x/text/unicode/norm"

	"github.com/redline-bench/redline/internal/tokenizer/chars"
	"github.com/redline-bench/redline/internal/tokenizer/normal"
)

// setNormalizer reads the normalizers of a file.
func (t *Tokenizer) setNormalizer(raw json.RawMessage) error {
	var seq normal.Sequence
	err := parts("normalizer", raw, func(p *part) error {
		n, err := p.normalizer(t.guard)
		if n != nil {
			seq = append(seq, n)
		}
		return err
	})
	if len(seq) > 0 {
		t.normalize = seq
	}
	return err
}

// normalizer makes a normalizer; nil if it would do nothing.
func (p *part) normalizer(g *chars.Guard) (normal.Normalizer, error) {
	switch p.Type {
	case "NFC":
		return normal.Unicode(norm.NFC), nil
	case "NFD":
		return normal.Unicode(norm.NFD), nil
	case "NFKC":
		return normal.Unicode(norm.NFKC), nil
	case "NFKD":
		return normal.Unicode(norm.NFKD), nil
	case "Lowercase":
		return normal.Lowercase{}, nil
	case "Strip":
		return normal.Strip{Left: yes(p.StripLeft), Right: yes(p.StripRight)}, nil
	case "StripAccents":
		return normal.Drop(chars.Accent), nil
	case "Replace":
		m, err := p.Pattern.matcher(g)
		return normal.Replace{Find: m, With: p.Content}, err
	case "Prepend":
		return normal.Prepend(p.Prepend), nil
	case "BertNormalizer":
		accents := cmp.Or(p.Accents, p.Lower)
		return normal.Bert{Clean: yes(p.Clean), Chinese: yes(p.Chinese), Accents: yes(accents), Lower: yes(p.Lower)}, nil
	case "Nmt":
		return normal.Nmt{}, nil
	case "ByteLevel":
		return normal.ByteLevel{}, nil
	case "Precompiled":
		if p.Charsmap == "" {
			return nil, nil
		}
		data, err := base64.StdEncoding.DecodeString(p.Charsmap)
		if err != nil {
			return nil, fmt.Errorf("precompiled charsmap: %w", err)
		}
		return normal.NewCharsmap(data)
	}
	return nil, p.unknown()
}
