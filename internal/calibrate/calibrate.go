// Package calibrate knows what this client costs by itself on this machine: the latency and the CPU time of a
// request to a server that does nothing. A report that knows this floor can state how far its numbers may be off.
//
// The floors are kept in one small JSON file. Each belongs to a Traffic: a protocol, a way of calling, a load and the
// sizes of request and answer. Lookup finds the floor of the very traffic where it was calibrated, else the nearest.
package calibrate

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/redline-bench/redline/internal/pending"
)

// schema is the version of the file's form. Files of another one count as none.
const schema = 2

// Floor is what one kind of request costs when the server does nothing.
type Floor struct {
	Traffic
	// P50Ns and P99Ns are latencies: the client's own time, the network's, and the little that the server needs.
	P50Ns int64 `json:"p50_ns"`
	P99Ns int64 `json:"p99_ns"`
	CPUNs int64 `json:"cpu_ns"` // CPU time of the client a request
	// Tokens are set where tokens streamed: the two times above are then how much later than they left they are said to have
	// come.
	Tokens *Tokens `json:"tokens,omitempty"`
	// Server is what answered, where that was not the null server: its own time is in the floor then.
	Server string    `json:"server,omitempty"`
	When   time.Time `json:"when"`
}

// Tokens is the error of token times against the server's own log: of single tokens, and of the mean time to the first
// token and between tokens.
type Tokens struct {
	P50Ns  int64 `json:"p50_ns"`
	P99Ns  int64 `json:"p99_ns"`
	TTFTNs int64 `json:"ttft_ns"`
	ITLNs  int64 `json:"itl_ns"`
}

// Machine tells machines apart, so that floors of another one are not used.
type Machine struct {
	Hostname string `json:"hostname"`
	CPUs     int    `json:"cpus"`
	Version  string `json:"version"` // of this program
}

// Table is all floors of one machine.
type Table struct {
	Schema  int     `json:"schema"`
	Machine Machine `json:"machine"`
	Floors  []Floor `json:"floors"`
}

// New is a table without floors.
func New(m Machine) *Table { return &Table{Schema: schema, Machine: m} }

// Load reads a table. It returns nil without an error where there is none, or where it is of another machine, another
// version of this program or another form.
func Load(path string, m Machine) (*Table, error) {
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the calibration: %w", err)
	}
	t := &Table{}
	if err := json.Unmarshal(b, t); err != nil {
		return nil, fmt.Errorf("read the calibration %s: %w: run 'redline calibrate' again", path, err)
	}
	if t.Machine != m || t.Schema != schema {
		return nil, nil
	}
	return t, nil
}

// Save writes the table as a whole.
func (t *Table) Save(out *pending.Output, path string) error {
	b, err := json.MarshalIndent(t, "", " ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return fmt.Errorf("keep the calibration: %w", err)
	}
	if err := out.WriteFile(path, append(b, '\n')); err != nil {
		return fmt.Errorf("keep the calibration: %w", err)
	}
	return nil
}

// Put adds floors. One of the same traffic takes the place of the older one.
func (t *Table) Put(floors ...Floor) {
	for _, f := range floors {
		t.Floors = slices.DeleteFunc(t.Floors, func(old Floor) bool { return old.Same(f.Traffic) })
		t.Floors = append(t.Floors, f)
	}
}

// Lookup finds the floor of this traffic: exact where it was calibrated, else that of the nearest of the protocol.
func (t *Table) Lookup(q Traffic) (best Floor, exact, ok bool) {
	if t == nil {
		return best, false, false
	}
	nearest := math.Inf(1)
	for _, f := range t.Floors {
		if f.Same(q) {
			return f, true, true
		}
		if d := f.distance(q); d < nearest {
			best, nearest = f, d
		}
	}
	return best, false, !math.IsInf(nearest, 1)
}
