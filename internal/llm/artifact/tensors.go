package artifact

import (
	"strings"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/redline-bench/redline/internal/llm/endpoint"
	"github.com/redline-bench/redline/internal/tensor"
)

// kserve tells that answers are messages of KServe, not texts.
func (c *Config) kserve() bool { return strings.HasPrefix(c.EndpointType, "kserve") }

// appendTensors adds the outputs of a KServe answer by name, their contents as text, as perf_analyzer exports
// them. A response without outputs, as the last of a stream, has an empty text.
func appendTensors(b, message []byte) []byte {
	var names, contents [][]byte
	endpoint.Fields(message, func(field protowire.Number, value []byte) {
		switch field {
		case endpoint.FieldOutputs:
			name := []byte{}
			endpoint.Fields(value, func(field protowire.Number, value []byte) {
				if field == 1 {
					name = value
				}
			})
			names = append(names, name)
		case endpoint.FieldRaw:
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
