package artifact

import (
	"strings"

	"google.golang.org/protobuf/encoding/protowire"

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
	fields(message, func(field protowire.Number, value []byte) {
		switch field {
		case fieldOutputs:
			name := []byte{}
			fields(value, func(field protowire.Number, value []byte) {
				if field == 1 {
					name = value
				}
			})
			names = append(names, name)
		case fieldRaw:
			contents = append(contents, value)
		default:
		}
	})
	if len(names) == 0 {
		return append(b, `{"text_output":""}`...)
	}
	b = append(b, '{')
	for i, name := range names {
		b = append(tensor.AppendQuoted(appendComma(b), name), ':')
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
func fields(b []byte, fn func(field protowire.Number, value []byte)) {
	for len(b) > 0 {
		field, kind, n := protowire.ConsumeTag(b)
		if n < 0 {
			return
		}
		b = b[n:]
		size := protowire.ConsumeFieldValue(field, kind, b)
		if size < 0 {
			return
		}
		if kind == protowire.BytesType {
			value, _ := protowire.ConsumeBytes(b)
			fn(field, value)
		}
		b = b[size:]
	}
}
