// Package peers brings the real programs that Redline is compared with onto this machine and starts them: a
// Triton server with the project's own models, and perf_analyzer.
//
// Everything is installed once into the user's cache folder, by name from the registries that pip, npm and apt are set
// up for; the program prefetch beside this file installs all of it at once. Where that cannot be done (no Python, no
// network), the functions named Install return an error and tests end with outcome.NotTested.
package peers

import (
	"context"
	"path/filepath"
)

// Versions names what install.sh installs; it is part of the key of recorded outcomes.
const Versions = "tritonserver-2.51 perf_analyzer-2.60.0"

// Peers is an installation.
type Peers struct{ Dir string }

// Install makes sure that the peers are there.
func Install(ctx context.Context) (*Peers, error) {
	dir, err := Fill(ctx, "peers", "ready-7", "e2e/peers/install.sh")
	if err != nil {
		return nil, err
	}
	return &Peers{Dir: dir}, nil
}

// PerfAnalyzer is the path of the real perf_analyzer.
func (p *Peers) PerfAnalyzer() string { return filepath.Join(p.Dir, "perf_analyzer") }
