package peers

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// InstallNATS builds nats-server, in the version of the module that is embedded, into the user's cache folder and returns its path. It
// has the build settings of the Makefile: after `make build`, nearly all of it is in the build cache. So prefetch does not build it.
func InstallNATS(ctx context.Context) (string, error) {
	const module = "github.com/nats-io/nats-server/v2"
	out, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Version}}", module).Output()
	if err != nil {
		return "", fmt.Errorf("version of %s: %w", module, err)
	}
	version := strings.TrimSpace(string(out))
	cache, err := CacheDir()
	if err != nil {
		return "", err
	}
	folder := filepath.Join(cache, "nats-server-"+version)
	program := filepath.Join(folder, "nats-server")
	if _, err := os.Stat(program); err == nil {
		return program, nil
	}
	cmd := exec.CommandContext(ctx, "go", "build", "-o", program, module)
	cmd.Env = append(os.Environ(), "GOFLAGS=-trimpath -tags=grpcnotrace,netgo,osusergo", "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build %s: %w\n%s", module, err, out)
	}
	return program, nil
}
