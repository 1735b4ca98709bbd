// Package prefix describes and changes how the requests of a trace share prefixes.
//
// A trace in Mooncake's format names the blocks of each prompt by ids: requests with equal ids at the start have equal tokens there,
// which a server's prefix cache can reuse. All prompts of a trace together form a tree: a node is a block after a certain path of
// blocks, and it is shared if more than one request passes through it. Analyze counts what is shared. Synthesize writes the trace
// with longer or shorter shared prefixes, with longer or shorter rests, with more trees, or with other times.
//
// Both read the file record by record, so that memory grows with the tree only.
package prefix

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
)

// BlockSize is the usual number of tokens of a block.
const BlockSize = 512

// record is one request of a trace: the fields that are used, and all as they stand.
type record struct {
	line   int
	input  int // tokens; 0 if the record has a text instead
	output int // tokens; 0 if it is not given
	ids    []int64
	fields map[string]json.RawMessage
}

// each calls fn with every request of a file.
func each(ctx context.Context, path string, block int, fn func(*record) error) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	r := bufio.NewReaderSize(f, 1<<20)
	for line := 1; ; line++ {
		if line%1024 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		text, err := r.ReadBytes('\n')
		end := errors.Is(err, io.EOF)
		if err != nil && !end {
			return err
		}
		if text = bytes.TrimSpace(text); len(text) > 0 {
			rec, bad := parse(text, block)
			if bad == nil {
				rec.line = line
				bad = fn(rec)
			}
			if bad != nil {
				return fmt.Errorf("%s: line %d: %w", path, line, bad)
			}
		}
		if end {
			return nil
		}
	}
}

func parse(text []byte, block int) (*record, error) {
	r := &record{}
	if err := json.Unmarshal(text, &r.fields); err != nil {
		return nil, fmt.Errorf("expected a JSON object with input_length and hash_ids: %w", err)
	}
	for name, to := range map[string]any{"input_length": &r.input, "output_length": &r.output, "hash_ids": &r.ids} {
		if raw := r.fields[name]; len(raw) > 0 {
			if err := json.Unmarshal(raw, to); err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
		}
	}
	switch n := len(r.ids); {
	case r.input < 0 || r.output < 0:
		return nil, errors.New("input_length and output_length must not be negative")
	case n > 0 && (n-1)*block >= r.input:
		return nil, fmt.Errorf("%d hash_ids of %d tokens do not fit an input_length of %d; set the block size with --block-size", n, block, r.input)
	}
	return r, nil
}

// tree holds the blocks of all requests. Node 0 is the root.
type tree struct {
	nodes map[edge]int
	count []int // requests that pass through a node
}

// edge leads from a node to the next block.
type edge struct {
	from int
	id   int64
}

func newTree() *tree { return &tree{nodes: map[edge]int{}, count: make([]int, 1)} }

// add adds a request and returns how many of its first blocks earlier requests had.
func (t *tree) add(ids []int64) (seen int) {
	at := 0
	for i, id := range ids {
		next, ok := t.nodes[edge{at, id}]
		if !ok {
			next = len(t.count)
			t.nodes[edge{at, id}] = next
			t.count = append(t.count, 0)
		} else if seen == i {
			seen++
		}
		t.count[next]++
		at = next
	}
	return seen
}

// shared returns the nodes at the start of a request that other requests share.
func (t *tree) shared(ids []int64) []int {
	var path []int
	at := 0
	for _, id := range ids {
		at = t.nodes[edge{at, id}]
		if t.count[at] < 2 {
			break
		}
		path = append(path, at)
	}
	return path
}
