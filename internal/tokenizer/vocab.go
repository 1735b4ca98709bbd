package tokenizer

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/redline-bench/redline/internal/tensor/jsonscan"
	"github.com/redline-bench/redline/internal/tokenizer/model"
)

// Vocabularies and merges are nearly all of a tokenizer.json: megabytes, which encoding/json reads slowly. They are read
// in place.

// readExcept reads a JSON object into v, except its large members, which it stores as they stand. They are fields of v too.
func readExcept(text []byte, v any, large map[string]*json.RawMessage) error {
	object, err := jsonscan.Parse(text)
	if err != nil || object.Kind() != jsonscan.Object {
		return json.Unmarshal(text, v) // says what is wrong
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

// parseKind reads a value of a kind.
func parseKind(text []byte, k jsonscan.Kind, otherwise string) (jsonscan.Value, error) {
	v, err := jsonscan.Parse(text)
	if err == nil && v.Kind() != k {
		err = errors.New(otherwise)
	}
	return v, err
}

// readVocab reads an object of tokens and ids.
func readVocab(text []byte) (map[string]int, error) {
	object, err := parseKind(text, jsonscan.Object, "vocab: not an object of tokens and ids")
	if err != nil {
		return nil, err
	}
	vocab := make(map[string]int, len(text)/20)
	var token []byte
	for name, value := range object.Members() {
		id, ok := value.Int64()
		if !ok {
			return nil, fmt.Errorf("vocab: the id of %s is %s, not a whole number", name, value)
		}
		token = name.AppendText(token[:0])
		vocab[string(token)] = int(id)
	}
	return vocab, nil
}

// readMerges reads an array of pairs, as arrays or as two words in a string.
func readMerges(text []byte) ([][2]string, error) {
	if isNull(text) {
		return nil, nil
	}
	array, err := parseKind(text, jsonscan.Array, "merges: not an array")
	if err != nil {
		return nil, err
	}
	merges := make([][2]string, 0, len(text)/16)
	var words []string
	var buf []byte
	for merge := range array.Elements() {
		words = words[:0]
		for word := range merge.Elements() {
			buf = word.AppendText(buf[:0])
			words = append(words, string(buf))
		}
		if merge.Kind() == jsonscan.String {
			buf = merge.AppendText(buf[:0])
			words = append(words, strings.Split(string(buf), " ")...)
		}
		if len(words) > 0 && strings.HasPrefix(words[0], "#version") {
			continue
		}
		if len(words) != 2 {
			return nil, fmt.Errorf("merge %d, %s, is not two words", len(merges)+1, merge)
		}
		merges = append(merges, [2]string(words))
	}
	return merges, nil
}

// readScores reads an array of pairs of a token and its score.
func readScores(text []byte) ([]model.Scored, error) {
	array, err := parseKind(text, jsonscan.Array, "vocab: not an array of tokens and scores")
	if err != nil {
		return nil, err
	}
	entries := make([]model.Scored, 0, len(text)/24)
	for row := range array.Elements() {
		var pair []jsonscan.Value
		for v := range row.Elements() {
			pair = append(pair, v)
		}
		if len(pair) != 2 || pair[0].Kind() != jsonscan.String || pair[1].Kind() != jsonscan.Number {
			return nil, fmt.Errorf("vocab: entry %d, %s, is not a token and a score", len(entries), row)
		}
		entries = append(entries, model.Scored{Token: string(pair[0].AppendText(nil)), Score: parseScore(string(pair[1]))})
	}
	return entries, nil
}

// parseScore reads a number as the package does: the digits as one integer, divided by a power of ten. The result may be
// off by one in the last place, and ties between scores are decided by that.
func parseScore(s string) float64 {
	exact, _ := strconv.ParseFloat(s, 64) // too large is infinite
	mantissa, exponent, _ := strings.Cut(strings.ToLower(s), "e")
	whole, fraction, _ := strings.Cut(strings.TrimPrefix(mantissa, "-"), ".")
	shift := 0
	if exponent != "" {
		n, err := strconv.Atoi(exponent)
		if err != nil {
			return exact
		}
		shift = n
	}
	digits, err := strconv.ParseUint(whole, 10, 64)
	if err != nil {
		return exact
	}
	for _, c := range []byte(fraction) {
		d := uint64(c - '0')
		if digits > (math.MaxUint64-d)/10 {
			break
		}
		digits = digits*10 + d
		shift--
	}
	f := float64(digits)
	switch {
	case shift < -308 || shift > 308:
		return exact
	case shift < 0:
		f /= math.Pow10(-shift)
	default:
		f *= math.Pow10(shift)
	}
	return math.Copysign(f, exact)
}
