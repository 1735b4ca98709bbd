// Package calibrate knows how far this client's times are off on this machine: the client's latency of a request minus
// the time that a reference server logged for the same request. A report that knows this states its measurement error.
//
// The errors are kept in one small JSON file. Each belongs to a Traffic: a protocol, a way of calling, a load, a pace and
// the sizes of request and answer. Find finds the error of the very traffic where it was calibrated, else the nearest.
package calibrate

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/redline-bench/redline/internal/pending"
)

// schema is the version of the file's form. Load ignores files of another version.
const schema = 3

// Floor is the measurement error of one kind of traffic.
type Floor struct {
	Traffic
	// P50Ns and P99Ns are percentiles of the error, the client's time minus the server's. A positive error means that the
	// client states more than the server took. Where Tokens is set they are errors of the times at which tokens came.
	P50Ns int64 `json:"p50_ns"`
	P99Ns int64 `json:"p99_ns"`
	// AtLeast: too few requests were compared for p99; P99Ns is the largest error that was seen.
	AtLeast  bool    `json:"p99_at_least,omitempty"`
	Requests int     `json:"requests"` // how many were compared
	CPUNs    int64   `json:"cpu_ns"`   // CPU time of the client a request
	Busy     float64 `json:"busy"`     // share of the machine's CPU time that was used meanwhile, by all programs
	// Foreign is how many cores other programs than the client and the server used meanwhile.
	Foreign float64 `json:"foreign_cores"`
	// Tokens is set where tokens streamed.
	Tokens *Tokens   `json:"tokens,omitempty"`
	When   time.Time `json:"when"`
}

// Tokens is the error of the mean time to the first token and of the mean time between tokens.
type Tokens struct {
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

// Put adds floors. A floor replaces an older one of the same traffic and pace.
func (t *Table) Put(floors ...Floor) {
	for _, f := range floors {
		t.Floors = slices.DeleteFunc(t.Floors, func(old Floor) bool { return old.Same(f.Traffic) })
		t.Floors = append(t.Floors, f)
	}
}
