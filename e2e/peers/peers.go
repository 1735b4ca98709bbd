// Package peers brings the real programs that Redline is compared with onto this machine and starts them: a
// Triton server with the project's own models, and perf_analyzer.
//
// They are installed once into the user's cache folder by install.sh. Where that cannot be done (no Python, no
// network), Install returns an error and the tests that need them are skipped, saying so.
package peers

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/redline-bench/redline/e2e/binary"
)

// Versions names what install.sh installs; it is part of the key of recorded outcomes.
const Versions = "tritonserver-2.51 perf_analyzer-2.60.0"

// Peers is an installation.
type Peers struct{ Dir string }

// CacheDir is the folder that holds everything the tests install or record.
func CacheDir() (string, error) {
	base, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	return filepath.Join(base, "redline"), nil
}

// Install makes sure that the peers are there.
func Install(ctx context.Context) (*Peers, error) {
	cache, err := CacheDir()
	if err != nil {
		return nil, err
	}
	dir := filepath.Join(cache, "peers")
	script := filepath.Join(binary.Root(), "e2e", "peers", "install.sh")
	if out, err := exec.CommandContext(ctx, "bash", script, dir).CombinedOutput(); err != nil {
		return nil, fmt.Errorf("install the real peers: %w\n%s", err, out)
	}
	return &Peers{Dir: dir}, nil
}

// PerfAnalyzer is the path of the real perf_analyzer.
func (p *Peers) PerfAnalyzer() string { return filepath.Join(p.Dir, "perf_analyzer") }
