package artifact

import (
	"encoding/binary"
	"strings"

	"github.com/redline-bench/redline/internal/tensor"
)

// kserve tells that answers are messages of KServe, not texts.
func (c *Config) kserve() bool { return strings.HasPrefix(c.EndpointType, "kserve") }

// Field numbers of KServe's ModelInferResponse.
const (
	fieldOutputs = 5 // of which 1 is the name
	fieldRaw     = 6
)

// appendTensors adds the outputs of a KServe answer by name, their contents as text, as perf_analyzer exports
// them. A response without outputs, as the last of a stream, has an empty text.
func appendTensors(b, message []byte) []byte {
	var names, contents [][]byte
	fields(message, func(field uint64, value []byte) {
		switch field {
		case fieldOutputs:
			name := []byte{}
			fields(value, func(field uint64, value []byte) {
				if field == 1 {
					name = value
				}
			})
			names = append(names, name)
		case fieldRaw:
			contents = append(contents, value)
		}
	})
	if len(names) == 0 {
		return append(b, `{"text_output":""}`...)
	}
	b = append(b, '{')
	for i, name := range names {
		if i > 0 {
			b = append(b, ',')
		}
		b = tensor.AppendQuoted(b, name)
		b = append(b, ':')
		var text []byte
		if i < len(contents) {
			// A text stands behind its length.
			text = contents[i][min(4, len(contents[i])):]
		}
		b = tensor.AppendQuoted(b, text)
	}
	return append(b, '}')
}

// fields calls fn with every field of a message that has bytes. It ends at the first thing that is not a message.
func fields(b []byte, fn func(field uint64, value []byte)) {
	for len(b) > 0 {
		tag, n := binary.Uvarint(b)
		if n <= 0 {
			return
		}
		b = b[n:]
		var size uint64
		switch tag & 7 {
		case 0:
			if _, n = binary.Uvarint(b); n <= 0 {
				return
			}
			b = b[n:]
			continue
		case 1:
			size = 8
		case 5:
			size = 4
		case 2:
			if size, n = binary.Uvarint(b); n <= 0 {
				return
			}
			b = b[n:]
		default:
			return
		}
		if size > uint64(len(b)) {
			return
		}
		if tag&7 == 2 {
			fn(tag>>3, b[:size])
		}
		b = b[size:]
	}
}
