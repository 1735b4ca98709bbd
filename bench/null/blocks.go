package null

import (
	"bytes"

	"golang.org/x/net/http2/hpack"
)

// blocks decodes header blocks. When both sides have the headers in their tables, clients send the same few bytes for every call.
// Such a block, which changes no table, is decoded once and then recognized by its bytes.
type blocks struct {
	decoder *hpack.Decoder
	found   string // the :path
	known   []block
}

type block struct {
	bytes []byte
	path  string
}

// maxKnown bounds the blocks that are compared before decoding.
const maxKnown = 4

// path finds the :path of a block.
func (b *blocks) path(in []byte) (string, error) {
	for i := range b.known {
		if bytes.Equal(b.known[i].bytes, in) {
			return b.known[i].path, nil
		}
	}
	if b.decoder == nil {
		b.decoder = hpack.NewDecoder(4096, func(f hpack.HeaderField) {
			if f.Name == ":path" {
				b.found = f.Value
			}
		})
	}
	b.found = ""
	if _, err := b.decoder.Write(in); err != nil {
		return "", err
	}
	if err := b.decoder.Close(); err != nil {
		return "", err
	}
	if changesTable(in) {
		b.known = b.known[:0] // indices mean other fields now
	} else if len(b.known) < maxKnown {
		b.known = append(b.known, block{bytes: bytes.Clone(in), path: b.found})
	}
	return b.found, nil
}

// changesTable reports whether decoding the block may change the table.
func changesTable(in []byte) bool {
	for len(in) > 0 {
		switch first := in[0]; {
		case first >= 0x80: // an indexed field
			if first == 0xff {
				return true // an index of several bytes: rare
			}
			in = in[1:]
		case first < 0x20: // a literal that is not added to the table
			var ok bool
			if in, ok = skipLiteral(in); !ok {
				return true
			}
		default: // a literal that is added, or a new size
			return true
		}
	}
	return false
}

func skipLiteral(in []byte) ([]byte, bool) {
	index := in[0] & 15
	in = in[1:]
	if index == 15 {
		if len(in) == 0 || in[0] >= 0x80 {
			return nil, false
		}
		in = in[1:]
	}
	strings := 1
	if index == 0 {
		strings = 2
	}
	for range strings {
		if len(in) == 0 || in[0]&0x7f == 0x7f || int(in[0]&0x7f) >= len(in)+1 {
			return nil, false
		}
		n := int(in[0]&0x7f) + 1
		if n > len(in) {
			return nil, false
		}
		in = in[n:]
	}
	return in, true
}
