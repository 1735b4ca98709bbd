package tokenizer

import (
	"encoding/json"
	"strings"

	"github.com/redline-bench/redline/internal/tensor/jsonscan"
)

// Vocabularies and merges are nearly all of a tokenizer.json: megabytes that encoding/json reads slowly. The functions below read them
// in place. What they do not understand is left to encoding/json, which also says what is wrong with a file.

// readExcept reads a JSON object into v, except its large members, which it stores as they stand. They are fields of v too.
func readExcept(text []byte, v any, large map[string]*json.RawMessage) error {
	object, err := jsonscan.Parse(text)
	if err != nil || object.Kind() != jsonscan.Object {
		return json.Unmarshal(text, v)
	}
	rest := []byte{'{'}
	for name, value := range object.Members() {
		if to := large[string(name.AppendText(nil))]; to != nil {
			*to = json.RawMessage(value)
			continue
		}
		if len(rest) > 1 {
			rest = append(rest, ',')
		}
		rest = append(append(append(rest, name...), ':'), value...)
	}
	return json.Unmarshal(append(rest, '}'), v)
}

// quickVocab reads an object of tokens and ids.
func quickVocab(text []byte) (map[string]int, bool) {
	object, err := jsonscan.Parse(text)
	if err != nil || object.Kind() != jsonscan.Object {
		return nil, false
	}
	vocab := make(map[string]int, len(text)/20)
	var token []byte
	for name, value := range object.Members() {
		id, ok := value.Int64()
		if !ok {
			return nil, false
		}
		token = name.AppendText(token[:0])
		vocab[string(token)] = int(id)
	}
	return vocab, true
}

// quickMerges reads an array of pairs, as arrays or as two words in a string.
func quickMerges(text []byte) ([][2]string, bool) {
	array, err := jsonscan.Parse(text)
	if err != nil || array.Kind() != jsonscan.Array {
		return nil, false
	}
	merges := make([][2]string, 0, len(text)/16)
	var words []string
	var buf []byte
	for merge := range array.Elements() {
		words = words[:0]
		for word := range merge.Elements() {
			if word.Kind() != jsonscan.String {
				return nil, false
			}
			buf = word.AppendText(buf[:0])
			words = append(words, string(buf))
		}
		if merge.Kind() == jsonscan.String {
			buf = merge.AppendText(buf[:0])
			words = append(words, strings.Split(string(buf), " ")...)
		}
		if len(words) != 2 || strings.HasPrefix(words[0], "#version") {
			return nil, false
		}
		merges = append(merges, [2]string(words))
	}
	return merges, true
}
