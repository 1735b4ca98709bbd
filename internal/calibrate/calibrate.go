// Package calibrate knows what this client costs by itself on this machine: the latency and the CPU time of a
// request to a server that does nothing. A report that knows this floor can state how far its numbers may be off.
//
// The floors are kept in one small JSON file. Each belongs to a protocol, a number of requests in flight and a
// size of request and answer together; Lookup finds the one that fits best.
package calibrate

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"time"
)

// Floor is what one kind of request costs when the server does nothing.
type Floor struct {
	Protocol string `json:"protocol"`
	InFlight int    `json:"in_flight"`
	Bytes    uint64 `json:"bytes"` // payload of request and answer together
	// P50Ns and P99Ns are latencies: the client's own time, the network's, and the little that the server needs.
	P50Ns int64 `json:"p50_ns"`
	P99Ns int64 `json:"p99_ns"`
	CPUNs int64 `json:"cpu_ns"` // CPU time of the client a request
}

// Machine tells machines apart, so that floors of another one are not used.
type Machine struct {
	Hostname string `json:"hostname"`
	CPUs     int    `json:"cpus"`
	Version  string `json:"version"` // of this program
}

// Table is all floors of one machine.
type Table struct {
	Machine Machine   `json:"machine"`
	When    time.Time `json:"when"`
	Floors  []Floor   `json:"floors"`
}

// Load reads a table. It returns nil without an error where there is none, or where it is of another machine.
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
	if t.Machine != m {
		return nil, nil
	}
	return t, nil
}

// Save writes the table as a whole.
func (t *Table) Save(path string) error {
	b, err := json.MarshalIndent(t, "", " ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("keep the calibration: %w", err)
	}
	temp := path + ".tmp"
	if err := os.WriteFile(temp, append(b, '\n'), 0o644); err != nil {
		return fmt.Errorf("keep the calibration: %w", err)
	}
	return os.Rename(temp, path)
}

// Lookup finds the floor of the protocol that is nearest in size and in number in flight: distances are ratios,
// so 1 and 8 are as far apart as 8 and 64.
func (t *Table) Lookup(protocol string, inFlight float64, bytes uint64) (Floor, bool) {
	var best Floor
	nearest := math.Inf(1)
	if t == nil {
		return best, false
	}
	for _, f := range t.Floors {
		if f.Protocol != protocol {
			continue
		}
		d := ratio(float64(f.InFlight), inFlight) + ratio(float64(f.Bytes), float64(bytes))
		if d < nearest {
			best, nearest = f, d
		}
	}
	return best, !math.IsInf(nearest, 1)
}

func ratio(a, b float64) float64 { return math.Abs(math.Log(max(a, 1)) - math.Log(max(b, 1))) }
