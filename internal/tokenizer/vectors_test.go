package tokenizer

import (
	"compress/gzip"
	"encoding/json"
	"os"
	"slices"
	"testing"
)

// vector is a tokenizer and what the package makes of some texts and ids; testdata/gen.py writes them.
type vector struct {
	Name       string
	Tokenizer  json.RawMessage
	Texts      []string
	IDs, Plain [][]int
	Seqs       [][]int
	Whole      []string
	Skip       []string
}

func vectors(tb testing.TB) []vector {
	tb.Helper()
	f, err := os.Open("testdata/vectors.json.gz")
	if err != nil {
		tb.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		tb.Fatal(err)
	}
	var list []vector
	if err := json.NewDecoder(z).Decode(&list); err != nil {
		tb.Fatal(err)
	}
	return list
}

func TestSameAsPackage(t *testing.T) {
	for _, v := range vectors(t) {
		t.Run(v.Name, func(t *testing.T) {
			tok, err := Parse(v.Tokenizer)
			if err != nil {
				t.Fatal(err)
			}
			for i, text := range v.Texts {
				if got := tok.Encode(text, true); !slices.Equal(got, v.IDs[i]) {
					t.Errorf("%q: %v, the package says %v", text, got, v.IDs[i])
				}
				if got := tok.Encode(text, false); !slices.Equal(got, v.Plain[i]) {
					t.Errorf("%q without special tokens: %v, the package says %v", text, got, v.Plain[i])
				}
				if got := tok.Count(text, true); got != len(v.IDs[i]) {
					t.Errorf("%q: count %d, not %d", text, got, len(v.IDs[i]))
				}
			}
			for i, ids := range v.Seqs {
				if got := tok.Decode(ids, false); got != v.Whole[i] {
					t.Errorf("%v: %q, the package says %q", ids, got, v.Whole[i])
				}
				if got := tok.Decode(ids, true); got != v.Skip[i] {
					t.Errorf("%v without special tokens: %q, the package says %q", ids, got, v.Skip[i])
				}
			}
		})
	}
}
